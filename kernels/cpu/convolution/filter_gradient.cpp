#include "kernels/cpu/convolution/filter_gradient.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/filter_gradient.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Short loops that the compiler turns into vector code of the target.
template <class T>
HWY_INLINE void copy_cell(const T* HWY_RESTRICT from, std::int64_t count, float* HWY_RESTRICT to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = value_of(from[i]);
}

template <class T>
void pack_cells(const T* line, const LinePacking& p, std::int64_t begin, std::int64_t end, float* to) {
    const T* from = line + (p.first + begin * p.step) * p.cell_stride;
    const std::int64_t distance = p.step * p.cell_stride, width = p.width, channels = p.channels;
    to += begin * width;
    const std::int64_t cells = end - begin;
    if (p.channel_stride == 1 || channels == 1) {
        if (distance == width && channels == width) return copy_cell(from, cells * width, to);
        for (std::int64_t j = 0; j < cells; ++j, from += distance, to += width) {
            copy_cell(from, channels, to);
            for (std::int64_t c = channels; c < width; ++c) to[c] = 0;
        }
        return;
    }
    for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t j = 0; j < cells; ++j)
            to[j * width + c] = value_of(from[c * p.channel_stride + j * distance]);
    for (std::int64_t c = channels; c < width; ++c)
        for (std::int64_t j = 0; j < cells; ++j) to[j * width + c] = 0;
}

void pack_line_impl(ElementType type, const void* data, std::int64_t offset, const LinePacking& p,
                    float* to) {
    // Positions [begin, end) are inside.
    const std::int64_t begin = p.first >= 0 ? 0 : std::min(p.positions, (p.step - 1 - p.first) / p.step);
    const std::int64_t room = p.length - p.first;
    const std::int64_t end = std::clamp((room + p.step - 1) / p.step, begin, p.positions);
    std::fill_n(to, begin * p.width, 0.0f);
    std::fill_n(to + end * p.width, (p.positions - end) * p.width, 0.0f);
    if (begin == end) return;
    if (type == ElementType::f16)
        pack_cells(static_cast<const Half*>(data) + offset, p, begin, end, to);
    else if (type == ElementType::bf16)
        pack_cells(static_cast<const BFloat16*>(data) + offset, p, begin, end, to);
    else
        pack_cells(static_cast<const float*>(data) + offset, p, begin, end, to);
}

struct Scaling {
    float alpha, beta;
    float operator()(float sum, float before) const { return alpha * sum + beta * before; }
    float operator()(float sum) const { return alpha * sum; }
};

#if HWY_TARGET != HWY_SCALAR
using Four = hn::CappedTag<float, 4>;
constexpr std::int64_t run_floats = 16;
constexpr std::int64_t most_lanes = 16;

// Column j of four rows becomes four floats at to + j * run_floats.
HWY_INLINE void transpose_four(const float* const* rows, std::int64_t column, float* to) {
    const D d;
    const Four four;
    const hn::Repartition<double, D> wide;
    const auto n = static_cast<std::int64_t>(hn::Lanes(d));
    const V r0 = hn::LoadU(d, rows[0] + column), r1 = hn::LoadU(d, rows[1] + column);
    const V r2 = hn::LoadU(d, rows[2] + column), r3 = hn::LoadU(d, rows[3] + column);
    const auto low01 = hn::BitCast(wide, hn::InterleaveLower(d, r0, r1));
    const auto low23 = hn::BitCast(wide, hn::InterleaveLower(d, r2, r3));
    const auto high01 = hn::BitCast(wide, hn::InterleaveUpper(d, r0, r1));
    const auto high23 = hn::BitCast(wide, hn::InterleaveUpper(d, r2, r3));
    HWY_ALIGN float columns[4 * most_lanes];
    hn::Store(hn::BitCast(d, hn::InterleaveLower(wide, low01, low23)), d, columns);
    hn::Store(hn::BitCast(d, hn::InterleaveUpper(wide, low01, low23)), d, columns + n);
    hn::Store(hn::BitCast(d, hn::InterleaveLower(wide, high01, high23)), d, columns + 2 * n);
    hn::Store(hn::BitCast(d, hn::InterleaveUpper(wide, high01, high23)), d, columns + 3 * n);
    for (std::int64_t j = 0; j < n; ++j)
        hn::Store(hn::Load(four, columns + j % 4 * n + j / 4 * 4), four, to + j * run_floats);
}

HWY_INLINE void store_run(const Scaling& scale, const float* from, std::int64_t count, float* to) {
    const D d;
    const auto n = static_cast<std::int64_t>(hn::Lanes(d));
    if (count < run_floats) {
        for (std::int64_t i = 0; i < count; ++i)
            to[i] = scale.beta == 0 ? scale(from[i]) : scale(from[i], to[i]);
        return;
    }
    for (std::int64_t i = 0; i < run_floats; i += n) {
        V x = hn::Mul(hn::Set(d, scale.alpha), hn::Load(d, from + i));
        if (scale.beta != 0) x = hn::MulAdd(hn::Set(d, scale.beta), hn::LoadU(d, to + i), x);
        hn::StoreU(x, d, to + i);
    }
}

// dw's channels and taps lie in order and side by side: a run of channels * taps floats for each output.
// Whole lines of the cache are written at a time.
void store_runs(const FilterGradient& f, const FilterBlock& b, float* dw) {
    const std::int64_t taps = f.geometry.taps(), length = b.channels * taps;
    const auto n = static_cast<std::int64_t>(hn::Lanes(D()));
    const Scaling scale{f.alpha, f.beta};
    HWY_ALIGN float runs[most_lanes * run_floats];
    for (std::int64_t k = 0; k < b.outputs; k += n) {
        const std::int64_t outputs = std::min(n, b.outputs - k);
        std::int64_t c = 0, tap = 0;
        for (std::int64_t at = 0; at < length; at += run_floats) {
            const float* rows[run_floats];
            const std::int64_t count = std::min(run_floats, length - at);
            for (std::int64_t i = 0; i < run_floats; ++i) {
                rows[i] = i < count
                              ? b.sums + ((f.geometry.flipped ? taps - 1 - tap : tap) * b.row_channels + c) *
                                             b.width
                              : rows[0];
                if (++tap == taps) {
                    tap = 0;
                    ++c;
                }
            }
            for (std::int64_t i = 0; i < run_floats; i += 4) transpose_four(rows + i, k, runs + i);
            for (std::int64_t j = 0; j < outputs; ++j)
                store_run(scale, runs + j * run_floats, count, dw + (k + j) * f.filter[0] + at);
        }
    }
}
#endif

template <class T>
void store_any(const FilterGradient& f, const FilterBlock& b, T* dw) {
    const ConvolutionGeometry& g = f.geometry;
    const Strides5& s = f.filter;
    const Scaling scale{f.alpha, f.beta};
    const std::int64_t taps = g.taps();
    for (std::int64_t c = 0; c < b.channels; ++c)
        for (std::int64_t tap = 0; tap < taps; ++tap) {
            const std::int64_t to_tap = g.flipped ? taps - 1 - tap : tap;
            const std::int64_t x = to_tap % g.window[2], y = to_tap / g.window[2] % g.window[1];
            const std::int64_t z = to_tap / (g.window[2] * g.window[1]);
            T* to = dw + c * s[1] + z * s[2] + y * s[3] + x * s[4];
            const float* from = b.sums + (tap * b.row_channels + c) * b.width;
            for (std::int64_t k = 0; k < b.outputs; ++k) {
                T& element = to[k * s[0]];
                element = convert<T>(f.beta == 0 ? scale(from[k])
                                                 : scale(from[k], static_cast<float>(value_of(element))));
            }
        }
}

void store_filter_block_impl(const FilterGradient& f, const FilterBlock& b, void* dw) {
    if (f.filter_type == ElementType::f16) return store_any(f, b, static_cast<Half*>(dw) + b.offset);
    if (f.filter_type == ElementType::bf16) return store_any(f, b, static_cast<BFloat16*>(dw) + b.offset);
    float* floats = static_cast<float*>(dw) + b.offset;
#if HWY_TARGET != HWY_SCALAR
    const ConvolutionGeometry& g = f.geometry;
    const Strides5& s = f.filter;
    const bool runs = (g.window[2] == 1 || s[4] == 1) && (g.window[1] == 1 || s[3] == g.window[2]) &&
                      (g.window[0] == 1 || s[2] == g.window[2] * g.window[1]) &&
                      (b.channels == 1 || s[1] == g.taps());
    const bool whole = b.width % static_cast<std::int64_t>(hn::Lanes(D())) == 0;
    if (runs && whole && s[0] != 1) return store_runs(f, b, floats);
#endif
    store_any(f, b, floats);
}

void add_floats_impl(const float* HWY_RESTRICT b, std::int64_t count, float* HWY_RESTRICT a) {
    for (std::int64_t i = 0; i < count; ++i) a[i] += b[i];
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convlens::cpu {
namespace {

HWY_EXPORT(pack_line_impl);
HWY_EXPORT(store_filter_block_impl);
HWY_EXPORT(add_floats_impl);

}  // namespace

double filter_gradient_operations(const ConvolutionGeometry& g) {
    return 2.0 * static_cast<double>(g.batch) * static_cast<double>(g.dst_cells()) *
           static_cast<double>(g.outputs) * static_cast<double>(g.channels / g.groups) *
           static_cast<double>(g.taps());
}

void pack_line(ElementType type, const void* data, std::int64_t offset, const LinePacking& packing,
               float* to) {
    HWY_DYNAMIC_DISPATCH(pack_line_impl)(type, data, offset, packing, to);
}

void store_filter_block(const FilterGradient& gradient, const FilterBlock& block, void* dw) {
    HWY_DYNAMIC_DISPATCH(store_filter_block_impl)(gradient, block, dw);
}

void add_floats(const float* b, std::int64_t count, float* a) {
    HWY_DYNAMIC_DISPATCH(add_floats_impl)(b, count, a);
}

}  // namespace convlens::cpu
#endif

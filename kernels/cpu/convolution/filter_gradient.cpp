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

// The same operations for one float as for a vector, so that a result's bits don't depend on its place.
struct Scaling {
    float alpha, beta;
    template <class Tag>
    hn::Vec<Tag> operator()(Tag d, hn::Vec<Tag> sum, const float* before) const {
        const auto scaled = hn::Mul(hn::Set(d, alpha), sum);
        return beta == 0 ? scaled : hn::MulAdd(hn::Set(d, beta), hn::LoadU(d, before), scaled);
    }
    float operator()(float sum, const float* before) const {
        const hn::CappedTag<float, 1> one;
        return hn::GetLane((*this)(one, hn::Set(one, sum), before));
    }
};

// body(offset in dw of the first output, sums of the outputs) for each channel and tap.
template <class Body>
HWY_INLINE void for_each_row(const BwdFilterParams& f, const FilterBlock& b, const Body& body) {
    const ConvolutionGeometry& g = f.geometry;
    const Strides5& s = f.filter_strides;
    const std::int64_t taps = g.taps();
    for (std::int64_t c = 0; c < b.channels; ++c)
        for (std::int64_t tap = 0; tap < taps; ++tap) {
            const std::int64_t to_tap = g.flipped ? taps - 1 - tap : tap;
            const std::int64_t x = to_tap % g.window[2], y = to_tap / g.window[2] % g.window[1];
            const std::int64_t z = to_tap / (g.window[2] * g.window[1]);
            body(c * s[1] + z * s[2] + y * s[3] + x * s[4], b.sums + (tap * b.row_channels + c) * b.width);
        }
}

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
        for (std::int64_t i = 0; i < count; ++i) to[i] = scale(from[i], to + i);
        return;
    }
    for (std::int64_t i = 0; i < run_floats; i += n)
        hn::StoreU(scale(d, hn::Load(d, from + i), to + i), d, to + i);
}

// Outputs lie side by side in dw.
void store_outputs(const BwdFilterParams& f, const FilterBlock& b, float* dw) {
    const D d;
    const auto n = static_cast<std::int64_t>(hn::Lanes(d));
    const Scaling scale{f.alpha, f.beta};
    for_each_row(f, b, [&](std::int64_t offset, const float* from) HWY_ATTR {
        float* to = dw + offset;
        std::int64_t k = 0;
        for (; k + n <= b.outputs; k += n) hn::StoreU(scale(d, hn::LoadU(d, from + k), to + k), d, to + k);
        for (; k < b.outputs; ++k) to[k] = scale(from[k], to + k);
    });
}

// dw's channels and taps lie in order and side by side: a run of channels * taps floats for each output.
// Whole lines of the cache are written at a time.
void store_runs(const BwdFilterParams& f, const FilterBlock& b, float* dw) {
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
                store_run(scale, runs + j * run_floats, count, dw + (k + j) * f.filter_strides[0] + at);
        }
    }
}
#endif

template <class T>
void store_any(const BwdFilterParams& f, const FilterBlock& b, T* dw) {
    const Scaling scale{f.alpha, f.beta};
    for_each_row(f, b, [&](std::int64_t offset, const float* from) HWY_ATTR {
        for (std::int64_t k = 0; k < b.outputs; ++k) {
            T& element = dw[offset + k * f.filter_strides[0]];
            const float before = f.beta == 0 ? 0.0f : value_of(element);
            element = convert<T>(scale(from[k], &before));
        }
    });
}

void store_filter_block_impl(const BwdFilterParams& f, const FilterBlock& b, void* dw) {
    const std::int64_t offset = f.dst_offset + b.offset;
    if (f.dst_type == ElementType::f16) return store_any(f, b, static_cast<Half*>(dw) + offset);
    if (f.dst_type == ElementType::bf16) return store_any(f, b, static_cast<BFloat16*>(dw) + offset);
    float* floats = static_cast<float*>(dw) + offset;
#if HWY_TARGET != HWY_SCALAR
    const ConvolutionGeometry& g = f.geometry;
    const Strides5& s = f.filter_strides;
    const bool runs = (g.window[2] == 1 || s[4] == 1) && (g.window[1] == 1 || s[3] == g.window[2]) &&
                      (g.window[0] == 1 || s[2] == g.window[2] * g.window[1]) &&
                      (b.channels == 1 || s[1] == g.taps());
    const bool whole = b.width % static_cast<std::int64_t>(hn::Lanes(D())) == 0;
    if (s[0] == 1) return store_outputs(f, b, floats);
    if (runs && whole) return store_runs(f, b, floats);
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

void store_filter_block(const BwdFilterParams& gradient, const FilterBlock& block, void* dw) {
    HWY_DYNAMIC_DISPATCH(store_filter_block_impl)(gradient, block, dw);
}

void add_floats(const float* b, std::int64_t count, float* a) {
    HWY_DYNAMIC_DISPATCH(add_floats_impl)(b, count, a);
}

}  // namespace convlens::cpu
#endif

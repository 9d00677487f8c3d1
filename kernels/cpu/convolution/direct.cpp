#include "kernels/cpu/convolution/direct.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/activation/activation.h"
#include "kernels/cpu/convolution/direct_block.h"
#include "kernels/cpu/element.h"

namespace convlens::cpu {
namespace {

// One output cell of `Width` outputs. src is the group's first channel of the image, at its first cell.
template <std::int64_t Width>
DirectLanes<Width> sum_cell(const ConvolutionGeometry& g, const float* src, const float* filter,
                            const Axes& at, const TapRange& ds, const TapRange& hs, const TapRange& ws) {
    DirectLanes<Width> sums;
    const std::int64_t step = g.dilations[2] * g.src_strides[4];
    for (std::int64_t c = 0; c < g.channels / g.groups; ++c)
        for (std::int64_t d = ds.first; d < ds.end; ++d)
            for (std::int64_t h = hs.first; h < hs.end; ++h) {
                const float* taps = filter + ((c * g.window[0] + d) * g.window[1] + h) * g.window[2] * Width;
                const float* row = src + c * g.src_strides[1] +
                                   (at[0] + d * g.dilations[0]) * g.src_strides[2] +
                                   (at[1] + h * g.dilations[1]) * g.src_strides[3] + at[2] * g.src_strides[4];
                for (std::int64_t w = ws.first; w < ws.end; ++w) sums.add(row[w * step], taps + w * Width);
            }
    return sums;
}

struct Epilogue {
    const float* bias;
    const float* residual;
    const Activation& activation;
    float* dst;
};

// All outputs of one row of cells.
template <std::int64_t Width>
void row(const ConvolutionGeometry& g, const float* src, const float* packed, const Epilogue& e,
         std::int64_t n, std::int64_t d, std::int64_t h) {
    const std::int64_t outputs = g.outputs / g.groups;
    const TapRange ds = valid_taps(g, 0, d), hs = valid_taps(g, 1, h);
    for (std::int64_t block = 0; block < g.groups * direct_blocks(g); ++block) {
        const std::int64_t group = block / direct_blocks(g), first = block % direct_blocks(g) * Width;
        const std::int64_t count = std::min(Width, outputs - first);
        const float* image = src + n * g.src_strides[0] + group * (g.channels / g.groups) * g.src_strides[1];
        for (std::int64_t w = 0; w < g.dst[2]; ++w) {
            const Axes at = {d * g.strides[0] - g.pads[0], h * g.strides[1] - g.pads[1],
                             w * g.strides[2] - g.pads[2]};
            const DirectLanes<Width> lanes = sum_cell<Width>(g, image, packed + block * direct_block_size(g),
                                                             at, ds, hs, valid_taps(g, 2, w));
            float sums[Width];
            std::memcpy(sums, lanes.lane, sizeof(sums));
            for (std::int64_t j = 0; j < count; ++j) {
                const std::int64_t k = group * outputs + first + j;
                const Strides5& s = g.dst_strides;
                const std::int64_t offset = n * s[0] + k * s[1] + d * s[2] + h * s[3] + w * s[4];
                float value = sums[j];
                if (e.bias) value += e.bias[k];
                if (e.residual) value += e.residual[offset];
                e.dst[offset] = activate(e.activation, value);
            }
        }
    }
}

// One output cell of filter k of a typed convolution; at: the cell of src that tap 0 reads.
template <class T, class Sum>
Sum typed_sum(const ConvolutionDirect& p, std::int64_t n, std::int64_t k, const Axes& at, const TapRange& ds,
              const TapRange& hs, const TapRange& ws) {
    const ConvolutionGeometry& g = p.geometry;
    const std::int64_t channels = g.channels / g.groups, taps = g.taps();
    const T* image = static_cast<const T*>(p.src) + p.src_offset + n * g.src_strides[0] +
                     k / (g.outputs / g.groups) * channels * g.src_strides[1];
    const T* filter = static_cast<const T*>(p.weights) + k * channels * taps;
    Sum sum = 0;
    for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t d = ds.first; d < ds.end; ++d)
            for (std::int64_t h = hs.first; h < hs.end; ++h)
                for (std::int64_t w = ws.first; w < ws.end; ++w) {
                    const std::int64_t tap = (d * g.window[1] + h) * g.window[2] + w;
                    const T x = image[c * g.src_strides[1] + (at[0] + d * g.dilations[0]) * g.src_strides[2] +
                                      (at[1] + h * g.dilations[1]) * g.src_strides[3] +
                                      (at[2] + w * g.dilations[2]) * g.src_strides[4]];
                    sum += value_of(x) * value_of(filter[c * taps + (g.flipped ? taps - 1 - tap : tap)]);
                }
    return sum;
}

template <class T, class Sum>
T finished(const Activation& activation, Sum sum) {
    if constexpr (std::is_same_v<Sum, double>)
        return activate_in_double(activation, sum);
    else
        return convert<T>(activate(activation, sum));
}

template <class T>
void typed_row(const ConvolutionDirect& p, std::int64_t n, std::int64_t d, std::int64_t h) {
    using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const ConvolutionGeometry& g = p.geometry;
    const Strides5& s = g.dst_strides;
    for (std::int64_t k = 0; k < g.outputs; ++k)
        for (std::int64_t w = 0; w < g.dst[2]; ++w) {
            const Axes at = {d * g.strides[0] - g.pads[0], h * g.strides[1] - g.pads[1],
                             w * g.strides[2] - g.pads[2]};
            Sum sum =
                typed_sum<T, Sum>(p, n, k, at, valid_taps(g, 0, d), valid_taps(g, 1, h), valid_taps(g, 2, w));
            const std::int64_t offset = p.dst_offset + n * s[0] + k * s[1] + d * s[2] + h * s[3] + w * s[4];
            sum *= static_cast<Sum>(p.alpha);
            if (p.bias) sum += value_of(static_cast<const T*>(p.bias)[k]);
            if (p.residual)
                sum += static_cast<Sum>(p.beta) * value_of(static_cast<const T*>(p.residual)[offset]);
            static_cast<T*>(p.dst)[offset] = finished<T>(p.activation, sum);
        }
}

}  // namespace

void convolution_direct(const ConvolutionDirect& p, ThreadPool& pool) {
    const ConvolutionGeometry& g = p.geometry;
    const std::int64_t rows = g.batch * g.dst[0] * g.dst[1];
    const double operations = static_cast<double>(rows) * static_cast<double>(g.dst[2]) *
                              static_cast<double>(g.outputs) * static_cast<double>(g.channels / g.groups) *
                              static_cast<double>(g.taps());
    const std::int64_t tasks = task_count(pool, operations, rows, 2e5);
    with_type(p.type, [&]<class T>(T) {
        if constexpr (is_float_like<T>)
            pool.parallel_for(tasks, [&](std::int64_t task, int) {
                for (std::int64_t i = rows * task / tasks; i < rows * (task + 1) / tasks; ++i)
                    typed_row<T>(p, i / (g.dst[1] * g.dst[0]), i / g.dst[1] % g.dst[0], i % g.dst[1]);
            });
    });
}

std::size_t convolution_direct_packed_size(const ConvolutionGeometry& g) {
    return static_cast<std::size_t>(g.groups * direct_blocks(g) * direct_block_size(g));
}

void convolution_direct_pack(const ConvolutionGeometry& g, const float* weights, float* packed) {
    const std::int64_t outputs = g.outputs / g.groups, width = direct_block_width(g);
    const std::int64_t taps = g.taps(), depth = g.channels / g.groups * taps;
    std::fill_n(packed, convolution_direct_packed_size(g), 0.0f);
    for (std::int64_t k = 0; k < g.outputs; ++k) {
        const std::int64_t within = k % outputs;
        float* block = packed + (k / outputs * direct_blocks(g) + within / width) * direct_block_size(g) +
                       within % width;
        for (std::int64_t i = 0; i < depth; ++i) {
            const std::int64_t tap = i % taps;
            const std::int64_t from = i - tap + (g.flipped ? taps - 1 - tap : tap);
            block[i * width] = weights[k * depth + from];
        }
    }
}

void convolution_direct(const ConvolutionGeometry& g, const float* src, const float* packed,
                        const float* bias, const float* residual, const Activation& activation, float* dst,
                        ThreadPool& pool) {
    const std::int64_t rows = g.batch * g.dst[0] * g.dst[1];
    const double operations = static_cast<double>(rows) * static_cast<double>(g.dst[2]) *
                              static_cast<double>(g.outputs) * static_cast<double>(g.channels / g.groups) *
                              static_cast<double>(g.taps());
    const Epilogue epilogue{bias, residual, activation, dst};
    const std::int64_t tasks = task_count(pool, operations, rows, 2e5);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        for (std::int64_t i = rows * task / tasks; i < rows * (task + 1) / tasks; ++i) {
            const std::int64_t h = i % g.dst[1], d = i / g.dst[1] % g.dst[0], n = i / (g.dst[1] * g.dst[0]);
            switch (direct_block_width(g)) {
                case 16:
                    row<16>(g, src, packed, epilogue, n, d, h);
                    break;
                case 4:
                    row<4>(g, src, packed, epilogue, n, d, h);
                    break;
                default:
                    row<1>(g, src, packed, epilogue, n, d, h);
            }
        }
    });
}

}  // namespace convlens::cpu

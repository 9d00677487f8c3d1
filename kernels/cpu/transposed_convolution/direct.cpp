#include "kernels/cpu/transposed_convolution/direct.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/convolution/direct_block.h"
#include "kernels/cpu/transposed_convolution/hits.h"

namespace convlens::cpu {
namespace {

// One output cell of `Width` outputs. src is the group's first channel of the image, at its first cell.
template <std::int64_t Width>
DirectLanes<Width> sum_cell(const ConvolutionGeometry& g, const float* src, const float* filter,
                            const TapHits& ds, const TapHits& hs, const TapHits& ws) {
    DirectLanes<Width> sums;
    const Strides5& step = g.src_strides;
    for (std::int64_t c = 0; c < g.channels / g.groups; ++c)
        for (std::int64_t i = 0; i < ds.count; ++i)
            for (std::int64_t j = 0; j < hs.count; ++j) {
                const std::int64_t d = ds.tap + i * ds.tap_step, h = hs.tap + j * hs.tap_step;
                const float* taps =
                    filter + (((c * g.window[0] + d) * g.window[1] + h) * g.window[2] + ws.tap) * Width;
                const float* cell = src + c * step[1] + (ds.index - i * ds.index_step) * step[2] +
                                    (hs.index - j * hs.index_step) * step[3] + ws.index * step[4];
                for (std::int64_t l = 0; l < ws.count; ++l)
                    sums.add(cell[-l * ws.index_step * step[4]], taps + l * ws.tap_step * Width);
            }
    return sums;
}

// All outputs of one row of cells.
template <std::int64_t Width>
void row(const ConvolutionGeometry& g, const float* image, const float* packed, const float* bias,
         const Activation& activation, std::int64_t d, std::int64_t h, float* dst) {
    const std::int64_t outputs = g.outputs / g.groups;
    const TapHits ds = tap_hits(g, 0, d), hs = tap_hits(g, 1, h);
    for (std::int64_t block = 0; block < g.groups * direct_blocks(g); ++block) {
        const std::int64_t group = block / direct_blocks(g), first = block % direct_blocks(g) * Width;
        const float* src = image + group * (g.channels / g.groups) * g.src_strides[1];
        for (std::int64_t w = 0; w < g.dst[2]; ++w) {
            const DirectLanes<Width> lanes =
                sum_cell<Width>(g, src, packed + block * direct_block_size(g), ds, hs, tap_hits(g, 2, w));
            float sums[Width];
            std::memcpy(sums, lanes.lane, sizeof(sums));
            for (std::int64_t j = 0; j < std::min(Width, outputs - first); ++j) {
                const std::int64_t k = group * outputs + first + j;
                dst[k * g.dst_strides[1] + d * g.dst_strides[2] + h * g.dst_strides[3] +
                    w * g.dst_strides[4]] = activate(activation, bias ? sums[j] + bias[k] : sums[j]);
            }
        }
    }
}

}  // namespace

std::size_t transposed_convolution_direct_packed_size(const ConvolutionGeometry& g) {
    return static_cast<std::size_t>(g.groups * direct_blocks(g) * direct_block_size(g));
}

void transposed_convolution_direct_pack(const ConvolutionGeometry& g, const float* weights, float* packed) {
    const std::int64_t outputs = g.outputs / g.groups, width = direct_block_width(g), taps = g.taps();
    const std::int64_t channels = g.channels / g.groups;
    std::fill_n(packed, transposed_convolution_direct_packed_size(g), 0.0f);
    for (std::int64_t c = 0; c < g.channels; ++c)
        for (std::int64_t k = 0; k < outputs; ++k) {
            float* to = packed + (c / channels * direct_blocks(g) + k / width) * direct_block_size(g) +
                        c % channels * taps * width + k % width;
            for (std::int64_t tap = 0; tap < taps; ++tap)
                to[tap * width] = weights[(c * outputs + k) * taps + tap];
        }
}

void transposed_convolution_direct(const ConvolutionGeometry& g, const float* src, const float* packed,
                                   const float* bias, const Activation& activation, float* dst,
                                   ThreadPool& pool) {
    const std::int64_t rows = g.batch * g.dst[0] * g.dst[1];
    const double operations = static_cast<double>(g.batch * g.src[0] * g.src[1] * g.src[2]) *
                              static_cast<double>(g.outputs) * static_cast<double>(g.channels / g.groups) *
                              static_cast<double>(g.taps());
    const std::int64_t tasks = task_count(pool, operations, rows, 2e5);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        for (std::int64_t i = rows * task / tasks; i < rows * (task + 1) / tasks; ++i) {
            const std::int64_t h = i % g.dst[1], d = i / g.dst[1] % g.dst[0], n = i / (g.dst[1] * g.dst[0]);
            const float* image = src + n * g.src_strides[0];
            float* to = dst + n * g.dst_strides[0];
            switch (direct_block_width(g)) {
                case 16:
                    row<16>(g, image, packed, bias, activation, d, h, to);
                    break;
                case 4:
                    row<4>(g, image, packed, bias, activation, d, h, to);
                    break;
                default:
                    row<1>(g, image, packed, bias, activation, d, h, to);
            }
        }
    });
}

}  // namespace convlens::cpu

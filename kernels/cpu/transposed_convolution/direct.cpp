#include "kernels/cpu/transposed_convolution/direct.h"

#include <algorithm>

namespace convlens::cpu {
namespace {

// The source index that tap `tap` carries to output `out`, or -1 when none does.
std::int64_t source_index(const ConvolutionGeometry& g, std::size_t axis, std::int64_t out,
                          std::int64_t tap) {
    const std::int64_t reached = out + g.pads[axis] - tap * g.dilations[axis];
    if (reached < 0 || reached % g.strides[axis] != 0) return -1;
    const std::int64_t index = reached / g.strides[axis];
    return index < g.src[axis] ? index : -1;
}

float gather(const ConvolutionGeometry& g, const float* src, const float* weights, std::int64_t k,
             const Axes& out) {
    const std::int64_t group_channels = g.channels / g.groups;
    const std::int64_t group_outputs = g.outputs / g.groups;
    const std::int64_t first = k / group_outputs * group_channels;
    const std::int64_t taps = g.taps();
    float sum = 0.0f;
    for (std::int64_t c = first; c < first + group_channels; ++c) {
        const float* plane = src + c * g.src_strides[1];
        const float* filter = weights + (c * group_outputs + k % group_outputs) * taps;
        for (std::int64_t t = 0; t < g.window[0]; ++t) {
            const std::int64_t d = source_index(g, 0, out[0], t);
            if (d < 0) continue;
            for (std::int64_t r = 0; r < g.window[1]; ++r) {
                const std::int64_t h = source_index(g, 1, out[1], r);
                if (h < 0) continue;
                for (std::int64_t s = 0; s < g.window[2]; ++s) {
                    const std::int64_t w = source_index(g, 2, out[2], s);
                    if (w < 0) continue;
                    sum += plane[d * g.src_strides[2] + h * g.src_strides[3] + w * g.src_strides[4]] *
                           filter[(t * g.window[1] + r) * g.window[2] + s];
                }
            }
        }
    }
    return sum;
}

}  // namespace

void transposed_convolution_direct(const ConvolutionGeometry& g, const float* src, const float* weights,
                                   const float* bias, const Activation& activation, float* dst,
                                   ThreadPool& pool) {
    const std::int64_t rows = g.batch * g.outputs * g.dst[0] * g.dst[1];
    const double operations = static_cast<double>(rows) * static_cast<double>(g.dst[2]) *
                              static_cast<double>(g.channels / g.groups) * static_cast<double>(g.taps());
    const std::int64_t tasks = task_count(pool, operations, rows);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        for (std::int64_t row = rows * task / tasks; row < rows * (task + 1) / tasks; ++row) {
            const std::int64_t h = row % g.dst[1];
            const std::int64_t d = row / g.dst[1] % g.dst[0];
            const std::int64_t k = row / (g.dst[1] * g.dst[0]) % g.outputs;
            const std::int64_t n = row / (g.dst[1] * g.dst[0] * g.outputs);
            float* out = dst + n * g.dst_strides[0] + k * g.dst_strides[1] + d * g.dst_strides[2] +
                         h * g.dst_strides[3];
            for (std::int64_t w = 0; w < g.dst[2]; ++w) {
                const float sum = gather(g, src + n * g.src_strides[0], weights, k, {d, h, w});
                out[w * g.dst_strides[4]] = activate(activation, bias ? sum + bias[k] : sum);
            }
        }
    });
}

}  // namespace convlens::cpu

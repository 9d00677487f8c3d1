#include "kernels/cuda/transposed_convolution/direct.h"

#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/transposed_convolution/hits.cuh"

namespace convlens::cuda {
namespace {

constexpr int block_threads = 128;

__global__ void __launch_bounds__(block_threads)
    direct_kernel(ConvolutionGeometry g, HitAxis<std::int64_t> d_axis, HitAxis<std::int64_t> h_axis,
                  HitAxis<std::int64_t> w_axis, const float* src, const float* weights, const float* bias,
                  Activation activation, float* dst) {
    const std::int64_t position = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
    if (position >= g.batch * g.outputs * g.dst_cells()) return;
    std::int64_t rest = position;
    const std::int64_t w = rest % g.dst[2];
    rest /= g.dst[2];
    const std::int64_t h = rest % g.dst[1];
    rest /= g.dst[1];
    const std::int64_t d = rest % g.dst[0];
    rest /= g.dst[0];
    const std::int64_t k = rest % g.outputs, n = rest / g.outputs;
    const std::int64_t channels = g.channels / g.groups, outputs = g.outputs / g.groups;
    const std::int64_t group = k / outputs, taps = g.taps();
    const auto ds = tap_hits(d_axis, d), hs = tap_hits(h_axis, h), ws = tap_hits(w_axis, w);
    const Strides5& step = g.src_strides;
    float sum = 0.0f;
    for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t channel = group * channels + c;
        const float* image = src + n * step[0] + channel * step[1];
        const float* filter = weights + (channel * outputs + k % outputs) * taps;
        for (std::int64_t i = 0; i < ds.count; ++i)
            for (std::int64_t j = 0; j < hs.count; ++j) {
                const float* row = image + (ds.index - i * d_axis.index_step) * step[2] +
                                   (hs.index - j * h_axis.index_step) * step[3] + ws.index * step[4];
                const float* tap =
                    filter +
                    ((ds.tap + i * d_axis.tap_step) * g.window[1] + hs.tap + j * h_axis.tap_step) *
                        g.window[2] +
                    ws.tap;
                for (std::int64_t l = 0; l < ws.count; ++l)
                    sum = __fadd_rn(
                        sum, __fmul_rn(row[-l * w_axis.index_step * step[4]], tap[l * w_axis.tap_step]));
            }
    }
    if (bias) sum = __fadd_rn(sum, bias[k]);
    dst[n * g.dst_strides[0] + k * g.dst_strides[1] + d * g.dst_strides[2] + h * g.dst_strides[3] +
        w * g.dst_strides[4]] = activate(activation, sum);
}

}  // namespace

void transposed_convolution_direct(const ConvolutionGeometry& g, const float* src, const float* weights,
                                   const float* bias, const Activation& activation, float* dst,
                                   Stream stream) {
    const std::int64_t total = g.batch * g.outputs * g.dst_cells();
    if (total == 0) return;
    direct_kernel<<<static_cast<unsigned>((total + block_threads - 1) / block_threads), block_threads, 0,
                    stream>>>(g, hit_axis<std::int64_t>(g, 0), hit_axis<std::int64_t>(g, 1),
                              hit_axis<std::int64_t>(g, 2), src, weights, bias, activation, dst);
}

}  // namespace convlens::cuda

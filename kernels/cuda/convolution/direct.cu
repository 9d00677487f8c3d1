#include "kernels/cuda/convolution/direct.h"

#include <algorithm>

#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/float_element.cuh"

namespace convlens::cuda {
namespace {

constexpr int block_threads = 128;
constexpr std::int64_t most_blocks = 1 << 20;

template <class T>
__global__ void __launch_bounds__(block_threads) direct_kernel(const ConvolutionDirect p) {
    using Sum = ArithmeticOf<T>;
    const ConvolutionGeometry& g = p.geometry;
    const std::int64_t outputs = g.outputs / g.groups, channels = g.channels / g.groups;
    const std::int64_t count = g.batch * g.outputs * g.dst_cells();
    for (std::int64_t i = blockIdx.x * std::int64_t{block_threads} + threadIdx.x; i < count;
         i += gridDim.x * std::int64_t{block_threads}) {
        // Outputs follow each other as they lie: along W of packed tensors, along K of channels-last ones.
        const bool channels_first = g.dst_strides[1] != 1;
        std::int64_t rest = i, k = 0;
        const auto take = [&](std::int64_t length) {
            const std::int64_t index = rest % length;
            rest /= length;
            return index;
        };
        if (!channels_first) k = take(g.outputs);
        const std::int64_t w = take(g.dst[2]), h = take(g.dst[1]), d = take(g.dst[0]);
        if (channels_first) k = take(g.outputs);
        const std::int64_t n = rest;
        const TapRange ds = valid_taps(g, 0, d), hs = valid_taps(g, 1, h), ws = valid_taps(g, 2, w);
        const T* image = static_cast<const T*>(p.src) + p.src_offset + n * g.src_strides[0] +
                         k / outputs * channels * g.src_strides[1] +
                         (d * g.strides[0] - g.pads[0]) * g.src_strides[2] +
                         (h * g.strides[1] - g.pads[1]) * g.src_strides[3] +
                         (w * g.strides[2] - g.pads[2]) * g.src_strides[4];
        const std::int64_t taps = g.taps();
        const T* filter = static_cast<const T*>(p.weights) + k * channels * taps;
        Sum sum = 0;
        for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t t = ds.first; t < ds.end; ++t)
                for (std::int64_t r = hs.first; r < hs.end; ++r)
                    for (std::int64_t s = ws.first; s < ws.end; ++s) {
                        const std::int64_t tap = (t * g.window[1] + r) * g.window[2] + s;
                        const T x = image[c * g.src_strides[1] + t * g.dilations[0] * g.src_strides[2] +
                                          r * g.dilations[1] * g.src_strides[3] +
                                          s * g.dilations[2] * g.src_strides[4]];
                        sum +=
                            load_float(x) * load_float(filter[c * taps + (g.flipped ? taps - 1 - tap : tap)]);
                    }
        const std::int64_t at = p.dst_offset + n * g.dst_strides[0] + k * g.dst_strides[1] +
                                d * g.dst_strides[2] + h * g.dst_strides[3] + w * g.dst_strides[4];
        sum *= static_cast<Sum>(p.alpha);
        if (p.bias) sum += load_float(static_cast<const T*>(p.bias)[k]);
        if (p.residual) sum += static_cast<Sum>(p.beta) * load_float(static_cast<const T*>(p.residual)[at]);
        static_cast<T*>(p.dst)[at] = store_float<T>(activate(p.activation, sum));
    }
}

template <class T>
void run(const ConvolutionDirect& p, Stream stream) {
    const ConvolutionGeometry& g = p.geometry;
    const std::int64_t count = g.batch * g.outputs * g.dst_cells();
    if (count == 0) return;
    const std::int64_t blocks = std::min((count + block_threads - 1) / block_threads, most_blocks);
    direct_kernel<T><<<static_cast<unsigned>(blocks), block_threads, 0, stream>>>(p);
}

}  // namespace

void convolution_direct(const ConvolutionDirect& p, Stream stream) {
    switch (p.type) {
        case ElementType::f64:
            return run<double>(p, stream);
        case ElementType::f16:
            return run<__half>(p, stream);
        case ElementType::bf16:
            return run<__nv_bfloat16>(p, stream);
        default:
            return run<float>(p, stream);
    }
}

}  // namespace convlens::cuda

#include "kernels/cuda/convolution/bwd_filter_direct.h"

#include <algorithm>

#include "kernels/cuda/float_element.cuh"

namespace convlens::cuda {
namespace {

constexpr int block_threads = 128;
constexpr std::int64_t most_blocks = 1 << 20;

// The sum of all threads' values, in thread 0.
template <class Sum>
__device__ Sum block_sum(Sum value) {
    __shared__ Sum partial[block_threads / 32];
    for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
    __syncthreads();
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    Sum sum = 0;
    for (int i = 0; i < block_threads / 32; ++i) sum += partial[i];
    return sum;
}

template <class To, class Sum>
__device__ void store(Sum sum, float alpha, float beta, To* at) {
    using Wide = ArithmeticOf<To>;
    Wide value = static_cast<Wide>(alpha) * static_cast<Wide>(sum);
    if (beta != 0) value += static_cast<Wide>(beta) * load_float(*at);
    *at = store_float<To>(value);
}

template <class T, class To>
__global__ void __launch_bounds__(block_threads)
    filter_kernel(const BwdFilterParams p, const T* src, const T* diff, To* dst) {
    using Sum = ArithmeticOf<T>;
    const ConvolutionGeometry& g = p.geometry;
    const std::int64_t channels = g.channels / g.groups, taps = g.taps();
    const std::int64_t elements = g.outputs * channels * taps;
    for (std::int64_t i = blockIdx.x; i < elements; i += gridDim.x) {
        const std::int64_t tap = i % taps, c = i / taps % channels, k = i / (taps * channels);
        const std::int64_t s = tap % g.window[2], r = tap / g.window[2] % g.window[1],
                           t = tap / (g.window[2] * g.window[1]);
        const OutputRange ds = valid_outputs(g, 0, t), hs = valid_outputs(g, 1, r),
                          ws = valid_outputs(g, 2, s);
        const std::int64_t depth = std::max<std::int64_t>(ds.end - ds.first, 0),
                           height = std::max<std::int64_t>(hs.end - hs.first, 0),
                           width = std::max<std::int64_t>(ws.end - ws.first, 0);
        const std::int64_t group = k / (g.outputs / g.groups);
        const T* x = src + p.src_offset + (group * channels + c) * g.src_strides[1] +
                     (t * g.dilations[0] - g.pads[0]) * g.src_strides[2] +
                     (r * g.dilations[1] - g.pads[1]) * g.src_strides[3] +
                     (s * g.dilations[2] - g.pads[2]) * g.src_strides[4];
        const T* dy = diff + p.diff_offset + k * g.dst_strides[1];
        const std::int64_t cells = g.batch * depth * height * width;
        Sum sum = 0;
        for (std::int64_t j = threadIdx.x; j < cells; j += block_threads) {
            std::int64_t rest = j;
            const std::int64_t w = ws.first + rest % width;
            rest /= width;
            const std::int64_t h = hs.first + rest % height;
            rest /= height;
            const std::int64_t d = ds.first + rest % depth, n = rest / depth;
            sum += load_float(x[n * g.src_strides[0] + d * g.strides[0] * g.src_strides[2] +
                                h * g.strides[1] * g.src_strides[3] + w * g.strides[2] * g.src_strides[4]]) *
                   load_float(dy[n * g.dst_strides[0] + d * g.dst_strides[2] + h * g.dst_strides[3] +
                                 w * g.dst_strides[4]]);
        }
        sum = block_sum(sum);
        if (threadIdx.x != 0) continue;
        const std::int64_t ft = g.flipped ? g.window[0] - 1 - t : t, fr = g.flipped ? g.window[1] - 1 - r : r,
                           fs = g.flipped ? g.window[2] - 1 - s : s;
        const Strides5& f = p.filter_strides;
        store(sum, p.alpha, p.beta,
              dst + p.dst_offset + k * f[0] + c * f[1] + ft * f[2] + fr * f[3] + fs * f[4]);
    }
}

template <class T, class To>
__global__ void __launch_bounds__(block_threads) bias_kernel(const BwdBiasParams p, const T* src, To* dst) {
    using Sum = ArithmeticOf<T>;
    const std::int64_t cells = p.batch * p.cells[0] * p.cells[1] * p.cells[2];
    for (std::int64_t k = blockIdx.x; k < p.channels; k += gridDim.x) {
        Sum sum = 0;
        for (std::int64_t j = threadIdx.x; j < cells; j += block_threads) {
            std::int64_t rest = j;
            const std::int64_t w = rest % p.cells[2];
            rest /= p.cells[2];
            const std::int64_t h = rest % p.cells[1];
            rest /= p.cells[1];
            const std::int64_t d = rest % p.cells[0], n = rest / p.cells[0];
            sum += load_float(src[p.src_offset + n * p.strides[0] + k * p.strides[1] + d * p.strides[2] +
                                  h * p.strides[3] + w * p.strides[4]]);
        }
        sum = block_sum(sum);
        if (threadIdx.x == 0) store(sum, p.alpha, p.beta, dst + p.dst_offset + k * p.dst_stride);
    }
}

// body(T{}, To{}) for the types of the data and of the gradient.
template <class Body>
void with_types(ElementType type, ElementType dst_type, const Body& body) {
    const auto with_dst = [&](auto t) { dst_type == type ? body(t, t) : body(t, float{}); };
    switch (type) {
        case ElementType::f64:
            return body(double{}, double{});
        case ElementType::f16:
            return with_dst(__half{});
        case ElementType::bf16:
            return with_dst(__nv_bfloat16{});
        default:
            return body(float{}, float{});
    }
}

unsigned blocks_of(std::int64_t elements) {
    return static_cast<unsigned>(std::clamp<std::int64_t>(elements, 1, most_blocks));
}

}  // namespace

void convolution_bwd_filter_direct(const BwdFilterParams& p, const void* src, const void* diff, void* dst,
                                   Stream stream) {
    const ConvolutionGeometry& g = p.geometry;
    const unsigned blocks = blocks_of(g.outputs * (g.channels / g.groups) * g.taps());
    with_types(p.type, p.dst_type, [&]<class T, class To>(T, To) {
        filter_kernel<T, To><<<blocks, block_threads, 0, stream>>>(
            p, static_cast<const T*>(src), static_cast<const T*>(diff), static_cast<To*>(dst));
    });
}

void convolution_bwd_bias_direct(const BwdBiasParams& p, const void* src, void* dst, Stream stream) {
    with_types(p.type, p.dst_type, [&]<class T, class To>(T, To) {
        bias_kernel<T, To><<<blocks_of(p.channels), block_threads, 0, stream>>>(p, static_cast<const T*>(src),
                                                                                static_cast<To*>(dst));
    });
}

}  // namespace convlens::cuda

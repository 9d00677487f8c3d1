// Kernels before and after the products of bwd_filter.h: the table of cells, the sum of the parts of t in
// their order, the scaling of dst.
#include <algorithm>

#include "kernels/cuda/convolution/bwd_filter_kernel.cuh"
#include "kernels/cuda/convolution/bwd_filter_scale.cuh"
#include "kernels/cuda/dependent_launch.cuh"

namespace convlens::cuda::filter_gradient {
namespace {

__global__ void __launch_bounds__(256) make_table(const __grid_constant__ Args a, Cell* table) {
    const std::uint32_t count = a.image.divisor();
    for (std::uint32_t t = blockIdx.x * 256 + threadIdx.x; t < count; t += gridDim.x * 256)
        table[t] = cell_of(a, t);
}

template <class T>
__device__ __forceinline__ void finish_one(const Finish& f, std::int64_t at, float sum) {
    T* to = static_cast<T*>(f.dst) + at;
    float value = f.alpha * sum;
    if (f.beta != 0.0f) value += f.beta * load_float(*to);
    *to = store_float<T>(value);
}

// An element of dst within a group's output.
struct Element {
    std::int32_t c, d, h, w;
};

// Its row of the products.
__device__ __forceinline__ std::int64_t row_of(const Finish& f, Element e) {
    if (f.flipped) e.d = f.window[0] - 1 - e.d, e.h = f.window[1] - 1 - e.h, e.w = f.window[2] - 1 - e.w;
    std::int64_t tap = static_cast<std::int64_t>(e.d) * f.window[1] + e.h;
    if (f.folded) return tap * f.channels.divisor() + e.w * static_cast<std::int64_t>(f.fold.divisor()) + e.c;
    tap = tap * f.window[2] + e.w;
    return f.channels_inner ? tap * f.channels.divisor() + e.c
                            : e.c * static_cast<std::int64_t>(f.taps.divisor()) + tap;
}

// A block has 32 elements of dst beside each other, of 32 / Slices outputs; with slices, each adds every
// fourth part. Sums are read along the outputs and written along the elements, turned in shared memory.
template <class T, int Slices, bool ChannelsFastest>
__global__ void __launch_bounds__(256) finish_kernel(const __grid_constant__ Finish f) {
    wait_for_previous_kernel();
    let_next_kernel_start();
    constexpr int fours = 8 / Slices, outputs = fours * 4;
    __shared__ float shared[Slices][32][outputs + 1];
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
    const std::uint32_t taps = f.taps.divisor();
    const auto channels = static_cast<std::uint32_t>(f.folded ? f.fold.divisor() : f.real_channels);
    const std::int64_t elements = static_cast<std::int64_t>(channels) * taps;
    const auto place = [&](std::int64_t position) {
        const auto at = static_cast<std::uint32_t>(position);
        std::uint32_t tap = ChannelsFastest ? at / channels : at % taps;
        Element e;
        e.c = static_cast<std::int32_t>(ChannelsFastest ? at % channels : at / taps);
        e.w = static_cast<std::int32_t>(tap % static_cast<std::uint32_t>(f.window[2]));
        tap /= static_cast<std::uint32_t>(f.window[2]);
        e.h = static_cast<std::int32_t>(tap % static_cast<std::uint32_t>(f.window[1]));
        e.d = static_cast<std::int32_t>(tap / static_cast<std::uint32_t>(f.window[1]));
        return e;
    };
    const std::int64_t along = (elements + 31) / 32, across = (f.outputs + outputs - 1) / outputs;
    const std::int64_t blocks = along * across * f.groups;
    const std::int64_t part = f.groups * f.padded_rows * f.padded_outputs;
    for (std::int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
        const std::int64_t first_k = block % across * outputs, rest = block / across;
        const std::int64_t first = rest % along * 32, group = rest / along;
        const int four = thread % fours, row = thread / fours % 32, slice = thread / fours / 32;
        float4 sum{};
        if (first + row < elements && first_k + four * 4 < f.padded_outputs) {
            const float* from = f.parts +
                                (group * f.padded_rows + row_of(f, place(first + row))) * f.padded_outputs +
                                first_k + four * 4;
#pragma unroll 4
            for (int s = slice; s < f.splits; s += Slices) {
                const float4 v = *reinterpret_cast<const float4*>(from + s * part);
                sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
            }
        }
        shared[slice][row][four * 4] = sum.x, shared[slice][row][four * 4 + 1] = sum.y;
        shared[slice][row][four * 4 + 2] = sum.z, shared[slice][row][four * 4 + 3] = sum.w;
        __syncthreads();
        if (first + lane < elements) {
            const Element e = place(first + lane);
            const std::int64_t at = e.c * f.stride_c + e.d * f.stride_d + e.h * f.stride_h + e.w * f.stride_w;
#pragma unroll
            for (int i = thread / 32; i < outputs; i += 8) {
                const std::int64_t k = first_k + i;
                if (k >= f.outputs) break;
                float value = shared[0][lane][i];
#pragma unroll
                for (int s = 1; s < Slices; ++s) value += shared[s][lane][i];
                if (f.src_largest != nullptr) {
                    value = scaled_by(value, -scale_shift(f.src_largest[e.c]));
                    value = scaled_by(value, -scale_shift(f.diff_largest[k]));
                }
                finish_one<T>(f, at + (group * f.outputs + k) * f.stride_k, value);
            }
        }
        __syncthreads();
    }
}

template <class T>
__global__ void __launch_bounds__(256) scale_kernel(const __grid_constant__ Finish f) {
    const std::int64_t count = f.rows * f.outputs * f.groups,
                       step = static_cast<std::int64_t>(gridDim.x) * 256;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x; i < count; i += step) {
        const std::int64_t k = i % f.outputs, line = i / f.outputs;
        finish_one<T>(f, dst_offset(f, line / f.rows, static_cast<std::uint32_t>(line % f.rows), k), 0.0f);
    }
}

unsigned grid_of(std::int64_t blocks) {
    return static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, 1 << 20));
}

}  // namespace

void launch_table(const Args& a, Cell* table, Stream stream) {
    make_table<<<grid_of((a.image.divisor() + 255) / 256), 256, 0, stream>>>(a, table);
}

template <class T, int Slices>
void launch_finish_by(const Finish& f, std::int64_t elements, Stream stream) {
    constexpr int outputs = 32 / Slices;
    const dim3 grid(grid_of((elements + 31) / 32 * ((f.outputs + outputs - 1) / outputs) * f.groups));
    if (f.stride_c < f.stride_w)
        launch_dependent(f.early, finish_kernel<T, Slices, true>, grid, dim3(256), 0, stream, f);
    else
        launch_dependent(f.early, finish_kernel<T, Slices, false>, grid, dim3(256), 0, stream, f);
}

template <class T>
void launch_finish_of(const Finish& f, Stream stream) {
    const auto channels = static_cast<std::int64_t>(f.folded ? f.fold.divisor() : f.real_channels);
    const std::int64_t elements = channels * f.taps.divisor();
    // Few blocks, or long sums: more of them for each.
    if (f.splits >= 16 || elements * f.outputs * f.groups < (std::int64_t{1} << 18))
        launch_finish_by<T, 4>(f, elements, stream);
    else
        launch_finish_by<T, 1>(f, elements, stream);
}

void launch_finish(const Finish& f, Stream stream) {
    if (f.type == ElementType::f16)
        launch_finish_of<__half>(f, stream);
    else if (f.type == ElementType::bf16)
        launch_finish_of<__nv_bfloat16>(f, stream);
    else
        launch_finish_of<float>(f, stream);
}

void launch_scale(const Finish& f, Stream stream) {
    const unsigned grid = grid_of((f.rows * f.outputs * f.groups + 255) / 256);
    if (f.type == ElementType::f16)
        scale_kernel<__half><<<grid, 256, 0, stream>>>(f);
    else if (f.type == ElementType::bf16)
        scale_kernel<__nv_bfloat16><<<grid, 256, 0, stream>>>(f);
    else
        scale_kernel<float><<<grid, 256, 0, stream>>>(f);
}

}  // namespace convlens::cuda::filter_gradient

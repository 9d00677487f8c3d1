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

// Of operands that were scaled; one group.
__device__ __forceinline__ float unscaled(const Finish& f, std::uint32_t row, std::int64_t k, float value) {
    auto c = static_cast<std::uint32_t>(place_of(f, row).c);
    if (f.folded) c = f.fold.split(c);
    value = scaled_by(value, -scale_shift(f.src_largest[c]));
    return scaled_by(value, -scale_shift(f.diff_largest[k]));
}

template <class T>
__device__ __forceinline__ void finish_value(const Finish& f, std::int64_t group, std::uint32_t row,
                                             std::int64_t k, float value) {
    const std::int64_t at = dst_offset(f, group, row, k);
    if (at < 0) return;
    if (f.src_largest != nullptr) value = unscaled(f, row, k, value);
    finish_one<T>(f, at, value);
}

// A block has 256 / Slices fours of outputs; with 8 slices each of its warps adds every eighth part.
template <class T, int Slices>
__global__ void __launch_bounds__(256) finish_kernel(const __grid_constant__ Finish f) {
    wait_for_previous_kernel();
    let_next_kernel_start();
    constexpr int fours_a_block = 256 / Slices;
    __shared__ float4 shared[Slices > 1 ? Slices : 1][Slices > 1 ? fours_a_block : 1];
    const int within = static_cast<int>(threadIdx.x) % fours_a_block;
    const int slice = static_cast<int>(threadIdx.x) / fours_a_block;
    const std::int64_t matrix = f.padded_rows * f.padded_outputs / 4, part = matrix * f.groups;
    const std::int64_t fours = f.padded_outputs / 4, used = (f.outputs + 3) / 4;
    const std::int64_t count = f.rows * used * f.groups;
    const std::int64_t blocks = (count + fours_a_block - 1) / fours_a_block;
    for (std::int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
        const std::int64_t i = block * fours_a_block + within;
        const bool inside = i < count;
        const std::int64_t four = i % used, line = i / used, row = line % f.rows, group = line / f.rows;
        float4 sum{};
        if (inside) {
            const float4* from =
                reinterpret_cast<const float4*>(f.parts) + group * matrix + row * fours + four;
#pragma unroll 8
            for (int s = slice; s < f.splits; s += Slices) {
                const float4 v = from[s * part];
                sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
            }
        }
        if constexpr (Slices == 1) {
            const float values[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
            for (int j = 0; j < 4; ++j)
                if (inside && four * 4 + j < f.outputs)
                    finish_value<T>(f, group, static_cast<std::uint32_t>(row), four * 4 + j, values[j]);
        } else {
            shared[slice][within] = sum;
            __syncthreads();
            if (slice < 4 && inside && four * 4 + slice < f.outputs) {
                float value = 0;
#pragma unroll
                for (int s = 0; s < Slices; ++s)
                    value += reinterpret_cast<const float*>(&shared[s][within])[slice];
                finish_value<T>(f, group, static_cast<std::uint32_t>(row), four * 4 + slice, value);
            }
            __syncthreads();
        }
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

template <class T>
void launch_finish_of(const Finish& f, Stream stream) {
    const std::int64_t fours = f.rows * ((f.outputs + 3) / 4) * f.groups;
    if (f.splits >= 16)
        launch_dependent(f.early, finish_kernel<T, 8>, dim3(grid_of((fours + 31) / 32)), dim3(256), 0, stream,
                         f);
    else
        launch_dependent(f.early, finish_kernel<T, 1>, dim3(grid_of((fours + 255) / 256)), dim3(256), 0,
                         stream, f);
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

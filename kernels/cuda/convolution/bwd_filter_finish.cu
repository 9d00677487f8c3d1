// Kernels before and after the products of bwd_filter.h: the table of cells, the sum of the parts of t in
// their order, the scaling of dst.
#include <algorithm>

#include "kernels/cuda/convolution/bwd_filter_kernel.cuh"
#include "kernels/cuda/convolution/bwd_filter_scale.cuh"

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
    if (static_cast<std::int32_t>(c) >= f.real_channels) return 0;
    if (f.folded) c = f.fold.split(c);
    value = scaled_by(value, -scale_shift(f.src_largest[c]));
    return scaled_by(value, -scale_shift(f.diff_largest[k]));
}

// A block has 32 fours of outputs and eight warps that each add every eighth part.
constexpr int slices = 8;
template <class T>
__global__ void __launch_bounds__(32 * slices) finish_kernel(const __grid_constant__ Finish f) {
    __shared__ float4 shared[slices][32];
    const int lane = static_cast<int>(threadIdx.x) % 32, slice = static_cast<int>(threadIdx.x) / 32;
    const std::int64_t matrix = f.padded_rows * f.padded_outputs / 4, part = matrix * f.groups;
    const std::int64_t fours = f.padded_outputs / 4, used = (f.outputs + 3) / 4;
    const std::int64_t count = f.rows * used * f.groups;
    const std::int64_t blocks = (count + 31) / 32;
    for (std::int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
        const std::int64_t i = block * 32 + lane;
        const bool inside = i < count;
        const std::int64_t four = i % used, line = i / used, row = line % f.rows, group = line / f.rows;
        float4 sum{};
        if (inside) {
            const float4* from =
                reinterpret_cast<const float4*>(f.parts) + group * matrix + row * fours + four;
#pragma unroll 4
            for (int s = slice; s < f.splits; s += slices) {
                const float4 v = from[s * part];
                sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
            }
        }
        shared[slice][lane] = sum;
        __syncthreads();
        if (slice < 4 && inside && four * 4 + slice < f.outputs) {
            float value = 0;
#pragma unroll
            for (int s = 0; s < slices; ++s) value += reinterpret_cast<const float*>(&shared[s][lane])[slice];
            const std::int64_t at = dst_offset(f, group, static_cast<std::uint32_t>(row), four * 4 + slice);
            if (f.src_largest != nullptr)
                value = unscaled(f, static_cast<std::uint32_t>(row), four * 4 + slice, value);
            if (at >= 0) finish_one<T>(f, at, value);
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

void launch_finish(const Finish& f, Stream stream) {
    const unsigned grid = grid_of((f.rows * ((f.outputs + 3) / 4) * f.groups + 31) / 32);
    if (f.type == ElementType::f16)
        finish_kernel<__half><<<grid, 32 * slices, 0, stream>>>(f);
    else if (f.type == ElementType::bf16)
        finish_kernel<__nv_bfloat16><<<grid, 32 * slices, 0, stream>>>(f);
    else
        finish_kernel<float><<<grid, 32 * slices, 0, stream>>>(f);
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

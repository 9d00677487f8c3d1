// Adds the parts of k that mma_convolution.h's kernels left in the workspace, in their order, and finishes
// them.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/cuda/convolution/tensor_core_epilogue.cuh"

namespace convlens::cuda::mma {
namespace {

template <class T>
__global__ __launch_bounds__(256) void reduce(const __grid_constant__ Epilogue e, int splits) {
    const std::int64_t count = e.rows * e.outputs, step = static_cast<std::int64_t>(gridDim.x) * 256;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x; i < count; i += step) {
        float sum = e.parts[i];
        for (int s = 1; s < splits; ++s) sum += e.parts[s * count + i];
        const std::int64_t row = i / e.outputs, k = i - row * e.outputs;
        const std::int64_t at =
            dst_offset_of(e, cell_of_row(row, e.dst_d, e.dst_h, e.dst_w)) + k * e.stride_k;
        finish<T>(e, at, k, sum);
    }
}

}  // namespace

void launch_reduce(const Epilogue& epilogue, ElementType type, int splits, Stream stream) {
    const std::int64_t blocks =
        std::min<std::int64_t>((epilogue.rows * epilogue.outputs + 255) / 256, 1 << 16);
    const auto grid = static_cast<unsigned>(blocks);
    if (type == ElementType::f16)
        reduce<__half><<<grid, 256, 0, stream>>>(epilogue, splits);
    else if (type == ElementType::bf16)
        reduce<__nv_bfloat16><<<grid, 256, 0, stream>>>(epilogue, splits);
    else
        reduce<float><<<grid, 256, 0, stream>>>(epilogue, splits);
}

}  // namespace convlens::cuda::mma

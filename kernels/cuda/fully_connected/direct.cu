#include <algorithm>

#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/fully_connected/fully_connected.h"

namespace convlens::cuda {
namespace {

constexpr int block_threads = 128;
constexpr std::int64_t most_blocks = 1 << 20;

__global__ void __launch_bounds__(block_threads) direct_kernel(const __grid_constant__ FullyConnected p) {
    for (std::int64_t i = blockIdx.x * std::int64_t{block_threads} + threadIdx.x; i < p.m * p.n;
         i += gridDim.x * std::int64_t{block_threads}) {
        const std::int64_t m = i / p.n, n = i % p.n, at = m * p.dst_row + n * p.dst_column;
        float sum = 0;
        for (std::int64_t k = 0; k < p.k; ++k)
            sum += p.src[m * p.src_row + k * p.src_column] * p.weights[n * p.k + k];
        if (p.bias) sum += p.bias[n];
        if (p.residual) sum += p.residual[at];
        p.dst[at] = activate(p.activation, sum);
    }
}

}  // namespace

void fully_connected_direct(const FullyConnected& p, Stream stream) {
    const std::int64_t outputs = p.m * p.n;
    if (outputs == 0) return;
    const std::int64_t blocks = std::min((outputs + block_threads - 1) / block_threads, most_blocks);
    direct_kernel<<<static_cast<unsigned>(blocks), block_threads, 0, stream>>>(p);
}

}  // namespace convlens::cuda

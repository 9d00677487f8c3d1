// The kernels of fft_job.h for one side; instantiated in files of their own.
#pragma once

#include "kernels/cuda/activation_call.cuh"
#include "kernels/cuda/convolution/fft_start.h"
#include "kernels/cuda/convolution/fft_transform.cuh"
#include "kernels/cuda/dependent_launch.cuh"

namespace convlens::cuda::fft {

struct BlockPlace {
    std::uint32_t tile;
    int channel0;
};
// Blocks of one tile follow each other: they share the lines of a tensor whose channels lie side by side.
template <class S>
__device__ __forceinline__ BlockPlace block_place(const Tiles& tiles) {
    const auto parts = static_cast<std::uint32_t>((tiles.row_channels + S::channels - 1) / S::channels);
    const std::uint32_t tile = blockIdx.x / parts;
    return {tile, static_cast<int>(blockIdx.x - tile * parts) * S::channels};
}

template <int side>
__global__ void __launch_bounds__(block_threads(side), least_blocks(side))
    forward_kernel(const __grid_constant__ ForwardJob job) {
    using S = Shape<side>;
    extern __shared__ float shared[];
    const auto thread = static_cast<int>(threadIdx.x);
    const BlockPlace at = block_place<S>(job.tiles);
    let_next_kernel_start();
    wait_for_previous_kernel();
    read_tile<S>(job, at.tile, at.channel0, thread, shared);
    __syncthreads();
    forward_rows<S>(thread, shared);
    __syncthreads();
    forward_columns<S>(job, at.tile, at.channel0, thread, shared);
}

template <int side>
__global__ void __launch_bounds__(block_threads(side), least_blocks(side))
    inverse_kernel(const __grid_constant__ InverseJob job) {
    using S = Shape<side>;
    extern __shared__ float shared[];
    const auto thread = static_cast<int>(threadIdx.x);
    const BlockPlace at = block_place<S>(job.tiles);
    let_next_kernel_start();
    wait_for_previous_kernel();
    inverse_columns<S>(job, at.tile, at.channel0, thread, shared);
    __syncthreads();
    inverse_rows<S>(job, thread, shared);
    __syncthreads();
    write_tile<S>(
        job, at.tile, at.channel0, thread,
        shared, [&](std::int64_t to, int channel, float x) __attribute__((always_inline)) {
            x *= job.alpha;
            if (job.bias) x += job.bias[channel];
            if (job.residual) x += job.residual[to];
            if (job.beta != 0) x = fmaf(job.beta, job.dst[to], x);
            job.dst[to] = activate_or_call(job.activation, x);
        });
}

template <int side, class Job>
void start(void (*kernel)(Job), const Job& job, bool early, Stream stream) {
    constexpr int channels = block_channels(side);
    const unsigned parts = static_cast<unsigned>((job.tiles.row_channels + channels - 1) / channels);
    if (shared_bytes(side) > 48 * 1024)
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes(side));
    launch_dependent(early, kernel, dim3(job.tiles.count * parts), dim3(block_threads(side)),
                     static_cast<std::size_t>(shared_bytes(side)), stream, job);
}

template <int side>
void start_forward(const ForwardJob& job, bool early, Stream stream) {
    start<side>(forward_kernel<side>, job, early, stream);
}
template <int side>
void start_inverse(const InverseJob& job, bool early, Stream stream) {
    start<side>(inverse_kernel<side>, job, early, stream);
}

}  // namespace convlens::cuda::fft

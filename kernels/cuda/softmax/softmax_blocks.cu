#include <algorithm>
#include <limits>

#include "kernels/cuda/softmax/softmax.h"
#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {
namespace {

constexpr float lowest = -std::numeric_limits<float>::infinity();

struct Rows {
    Walk<2> walk;  // src, dst
    std::int64_t length, src_step, dst_step;
    bool logarithm;
    const float* src;
    float* dst;
};

struct Max {
    // NaN stays.
    static __device__ __forceinline__ float join(float a, float b) { return a > b || a != a ? a : b; }
    static constexpr float identity = lowest;
};
struct Sum {
    static __device__ __forceinline__ float join(float a, float b) { return a + b; }
    static constexpr float identity = 0.0f;
};

template <class Op>
__device__ __forceinline__ float join_warp(float x) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) x = Op::join(x, __shfl_xor_sync(0xffffffffu, x, step));
    return x;
}

// Every thread of the block gets the result. shared: one value a warp; free again after the next call's
// barrier.
template <class Op>
__device__ __forceinline__ float join_block(float x, float* shared) {
    x = join_warp<Op>(x);
    if (blockDim.x == 32) return x;
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
    __syncthreads();
    const unsigned lane = threadIdx.x % 32;
    return join_warp<Op>(lane < blockDim.x / 32 ? shared[lane] : Op::identity);
}

__device__ __forceinline__ float finish(bool logarithm, float shifted, float sum, float log_of_sum) {
    return logarithm ? shifted - log_of_sum : expf(shifted) / sum;
}

// A row's values in registers: `held` a thread of `threads`. join<Op>(x) joins over the row's threads.
template <int held, class JoinMax, class JoinSum>
__device__ __forceinline__ void softmax_held(const Rows& rows, const float* src, float* dst, int thread,
                                             int threads, const JoinMax& join_max, const JoinSum& join_sum) {
    const int length = static_cast<int>(rows.length);
    float x[held];
    float maximum = lowest, sum = 0.0f;
#pragma unroll
    for (int k = 0; k < held; ++k) {
        const int i = thread + k * threads;
        x[k] = i < length ? src[i * rows.src_step] : lowest;
    }
#pragma unroll
    for (int k = 0; k < held; ++k) maximum = Max::join(maximum, x[k]);
    maximum = join_max(maximum);
#pragma unroll
    for (int k = 0; k < held; ++k) {
        x[k] -= maximum;
        if (thread + k * threads < length) sum += expf(x[k]);
    }
    sum = join_sum(sum);
    const float log_of_sum = rows.logarithm ? logf(sum) : 0.0f;
#pragma unroll
    for (int k = 0; k < held; ++k) {
        const int i = thread + k * threads;
        if (i < length) dst[i * rows.dst_step] = finish(rows.logarithm, x[k], sum, log_of_sum);
    }
}

constexpr int most_held = 4;
constexpr int warps = 4;  // rows of a block where each has a warp

template <int held>
__global__ void __launch_bounds__(warps * 32) softmax_warps(const __grid_constant__ Rows rows) {
    const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
    if (row >= rows.walk.count) return;
    std::int64_t at[2] = {};
    locate(rows.walk, row, at);
    softmax_held<held>(rows, rows.src + at[0], rows.dst + at[1], threadIdx.x % 32, 32, join_warp<Max>,
                       join_warp<Sum>);
}

__global__ void __launch_bounds__(1024) softmax_block_held(const __grid_constant__ Rows rows) {
    __shared__ float shared[2][32];
    std::int64_t at[2] = {};
    locate(rows.walk, blockIdx.x, at);
    softmax_held<most_held>(
        rows, rows.src + at[0], rows.dst + at[1], threadIdx.x, blockDim.x,
        [&](float x) { return join_block<Max>(x, shared[0]); },
        [&](float x) { return join_block<Sum>(x, shared[1]); });
}

__global__ void __launch_bounds__(1024) softmax_block(const __grid_constant__ Rows rows) {
    __shared__ float shared[2][32];
    std::int64_t at[2] = {};
    locate(rows.walk, blockIdx.x, at);
    const float* src = rows.src + at[0];
    float* dst = rows.dst + at[1];
    float maximum = lowest, sum = 0.0f;
#pragma unroll 8
    for (std::int64_t i = threadIdx.x; i < rows.length; i += blockDim.x)
        maximum = Max::join(maximum, src[i * rows.src_step]);
    maximum = join_block<Max>(maximum, shared[0]);
#pragma unroll 8
    for (std::int64_t i = threadIdx.x; i < rows.length; i += blockDim.x)
        sum += expf(src[i * rows.src_step] - maximum);
    sum = join_block<Sum>(sum, shared[1]);
    const float log_of_sum = rows.logarithm ? logf(sum) : 0.0f;
#pragma unroll 8
    for (std::int64_t i = threadIdx.x; i < rows.length; i += blockDim.x)
        dst[i * rows.dst_step] = finish(rows.logarithm, src[i * rows.src_step] - maximum, sum, log_of_sum);
}

constexpr int side_by_side = 32, parts = 8;

template <class Op>
__device__ __forceinline__ float join_parts(float x, float (&shared)[parts][side_by_side], int part,
                                            int lane) {
    shared[part][lane] = x;
    __syncthreads();
    x = Op::identity;
#pragma unroll
    for (int k = 0; k < parts; ++k) x = Op::join(x, shared[k][lane]);
    return x;
}

// 32 neighbouring rows a block; the parts join through shared memory. held: values of a thread in registers,
// or 0 where they are read three times.
template <int held>
__global__ void __launch_bounds__(side_by_side* parts) softmax_across(const __grid_constant__ Rows rows) {
    __shared__ float shared[2][parts][side_by_side];
    const int lane = threadIdx.x % side_by_side, part = threadIdx.x / side_by_side;
    const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * side_by_side + lane;
    const bool real = row < rows.walk.count;
    std::int64_t at[2] = {};
    if (real) locate(rows.walk, row, at);
    const float* src = rows.src + at[0];
    float* dst = rows.dst + at[1];
    const std::int64_t length = real ? rows.length : 0;
    if constexpr (held > 0) {
        Rows own = rows;
        own.length = length;
        softmax_held<held>(
            own, src, dst, part, parts, [&](float x) { return join_parts<Max>(x, shared[0], part, lane); },
            [&](float x) { return join_parts<Sum>(x, shared[1], part, lane); });
        return;
    }
    float maximum = lowest, sum = 0.0f;
#pragma unroll 4
    for (std::int64_t i = part; i < length; i += parts) maximum = Max::join(maximum, src[i * rows.src_step]);
    maximum = join_parts<Max>(maximum, shared[0], part, lane);
#pragma unroll 4
    for (std::int64_t i = part; i < length; i += parts) sum += expf(src[i * rows.src_step] - maximum);
    sum = join_parts<Sum>(sum, shared[1], part, lane);
    const float log_of_sum = rows.logarithm ? logf(sum) : 0.0f;
#pragma unroll 4
    for (std::int64_t i = part; i < length; i += parts)
        dst[i * rows.dst_step] = finish(rows.logarithm, src[i * rows.src_step] - maximum, sum, log_of_sum);
}

}  // namespace

void softmax_blocks(const SoftmaxBlocks& params, const float* src, float* dst, Stream stream) {
    if (params.rows.elements == 0 || params.length == 0) return;
    const Rows rows{make_walk(params.rows, {0, 1}),
                    params.length,
                    params.src_step,
                    params.dst_step,
                    params.logarithm,
                    src + params.rows.offsets[0],
                    dst + params.rows.offsets[1]};
    const std::int64_t count = rows.walk.count;
    const auto blocks = static_cast<unsigned>(count);
    const unsigned warp_blocks = blocks_for(count, warps), strips = blocks_for(count, side_by_side);
    // A few rows are worth a block each whatever their steps are.
    if (params.src_step != 1 && count >= 16) {
        if (params.length <= most_held * parts)
            softmax_across<most_held><<<strips, side_by_side * parts, 0, stream>>>(rows);
        else
            softmax_across<0><<<strips, side_by_side * parts, 0, stream>>>(rows);
    } else if (params.length <= 32) {
        softmax_warps<1><<<warp_blocks, warps * 32, 0, stream>>>(rows);
    } else if (params.length <= most_held * 32) {
        softmax_warps<most_held><<<warp_blocks, warps * 32, 0, stream>>>(rows);
    } else if (params.length <= most_held * 1024) {
        const auto threads = static_cast<unsigned>(divide_up(params.length, most_held * 32) * 32);
        softmax_block_held<<<blocks, threads, 0, stream>>>(rows);
    } else {
        softmax_block<<<blocks, 1024, 0, stream>>>(rows);
    }
}

}  // namespace convlens::cuda

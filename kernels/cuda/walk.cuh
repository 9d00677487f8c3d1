// The device's half of walk.h, and launches that run over a range.
#pragma once

#include <algorithm>

#include "kernels/cuda/stream.h"
#include "kernels/cuda/walk.h"

namespace convlens::cuda {

// Adds to at[k] the address of a position in operand k.
template <int operands>
__device__ __forceinline__ void locate(const Walk<operands>& walk, std::int64_t position,
                                       std::int64_t (&at)[operands]) {
    if (walk.count < divisor_limit) {
        auto rest = static_cast<std::uint32_t>(position);
        for (int axis = walk.rank - 1; axis > 0; --axis) {
            const std::uint32_t next = walk.dims[axis].quotient(rest);
            const std::uint32_t index = rest - next * walk.dims[axis].divisor;
#pragma unroll
            for (int k = 0; k < operands; ++k) at[k] += index * walk.strides[k][axis];
            rest = next;
        }
#pragma unroll
        for (int k = 0; k < operands; ++k) at[k] += rest * walk.strides[k][0];
    } else {
        for (int axis = walk.rank - 1; axis >= 0; --axis) {
            const std::int64_t next = position / walk.lengths[axis];
            const std::int64_t index = position - next * walk.lengths[axis];
#pragma unroll
            for (int k = 0; k < operands; ++k) at[k] += index * walk.strides[k][axis];
            position = next;
        }
    }
}

__device__ __forceinline__ std::int64_t thread_number() {
    return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

inline std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
inline unsigned blocks_for(std::int64_t threads, int block) {
    return static_cast<unsigned>(divide_up(threads, block));
}

template <class Body>
__global__ void each_kernel(std::int64_t count, Body body) {
    for (std::int64_t i = thread_number(); i < count; i += static_cast<std::int64_t>(gridDim.x) * blockDim.x)
        body(i);
}

// body(i) for every i in [0, count): the references' way. Body is a plain struct with a __device__
// operator().
template <class Body>
void for_each(std::int64_t count, const Body& body, Stream stream) {
    constexpr int block = 128;
    if (count <= 0) return;
    const std::int64_t blocks = std::min<std::int64_t>(divide_up(count, block), 1 << 20);
    each_kernel<<<static_cast<unsigned>(blocks), block, 0, stream>>>(count, body);
}

}  // namespace convlens::cuda

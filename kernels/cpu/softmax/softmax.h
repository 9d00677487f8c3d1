// Softmax and log-softmax over one axis: minus the maximum first, log-softmax as x - max - log(sum).
//
// A NaN, or a maximum that is infinite, makes the whole row what the arithmetic says (NaN).
#pragma once

#include <cstdint>

#include "kernels/cpu/layout.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

struct SoftmaxParams {
    Layout src, dst;  // equal dims
    int axis = 1;
    bool logarithm = false;
};

// By definition, in double: the reference. Any element type, any strides.
void softmax_direct(const SoftmaxParams& params, const void* src, void* dst, ThreadPool& pool);

struct SoftmaxBlocks {
    JointShape rows;  // all axes but the softmax's; operands: src, dst
    std::int64_t length = 0;
    std::int64_t src_step = 0, dst_step = 0;  // along the axis
    bool logarithm = false;
};

// Rows side by side in strips of this many.
inline constexpr std::int64_t strip_floats = 256;

// f32, any strides: along the axis where it is contiguous, else many rows side by side.
void softmax_blocks(const SoftmaxBlocks& params, const float* src, float* dst, ThreadPool& pool);

}  // namespace convlens::cpu

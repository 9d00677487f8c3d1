// Softmax on the processor; what it means stands in kernels/common/softmax.h.
#pragma once

#include <cstdint>

#include "kernels/common/softmax.h"
#include "kernels/cpu/layout.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

using kernels::SoftmaxBlocks;
using kernels::SoftmaxParams;

// By definition, in double: the reference. Any element type, any strides.
void softmax_direct(const SoftmaxParams& params, const void* src, void* dst, ThreadPool& pool);

// Rows side by side in strips of this many.
inline constexpr std::int64_t strip_floats = 256;

// f32, any strides: along the axis where it is contiguous, else many rows side by side.
void softmax_blocks(const SoftmaxBlocks& params, const float* src, float* dst, ThreadPool& pool);

}  // namespace convlens::cpu

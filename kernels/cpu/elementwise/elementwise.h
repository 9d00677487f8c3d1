// Element-wise operations on the processor; what they do stands in kernels/common/elementwise.h.
#pragma once

#include "kernels/common/elementwise.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/blocks.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

using kernels::ElementwiseBlocks;
using kernels::ElementwiseOp;
using kernels::ElementwiseParams;
using kernels::is_unary;

// By definition, in double: the reference. Any element type, any strides.
void elementwise_direct(const ElementwiseParams& params, const void* a, const void* b, void* dst,
                        ThreadPool& pool);

// f32, any strides; dst may be a or b.
void elementwise_blocks(const ElementwiseBlocks& params, const float* a, const float* b, float* dst,
                        ThreadPool& pool);

}  // namespace convlens::cpu

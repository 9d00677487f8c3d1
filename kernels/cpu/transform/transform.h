// Copies on the processor; what they do stands in kernels/common/transform.h.
#pragma once

#include "kernels/common/transform.h"
#include "kernels/cpu/layout.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

using kernels::padded_index;
using kernels::Padding;
using kernels::TransformParams;

// Element by element in dst's order: the reference. Any types, any strides, any padding.
void transform_direct(const TransformParams& params, const void* src, void* dst, ThreadPool& pool);

}  // namespace convlens::cpu

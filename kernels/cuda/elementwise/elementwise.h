// Element-wise operations on the device; what they do stands in kernels/common/elementwise.h.
//
// blocks: bound by memory; four neighbours a thread where the layouts and the pointers allow it (a broadcast
// operand may repeat or share them). Operations of a few instructions with a clamp have a kernel of their
// own, so that the registers of pow, erf and sine don't burden them.
#pragma once

#include "kernels/common/elementwise.h"
#include "kernels/cuda/stream.h"

namespace convlens::cuda {

// By definition, in double: the reference. Floating-point types, any strides.
void elementwise_direct(const ElementwiseParams& params, const void* a, const void* b, void* dst,
                        Stream stream);

// f32, any strides; dst may be a or b.
void elementwise_blocks(const ElementwiseBlocks& params, const float* a, const float* b, float* dst,
                        Stream stream);

}  // namespace convlens::cuda

// Softmax on the device; what it means stands in kernels/common/softmax.h.
//
// blocks: along the axis where it is contiguous, a warp a row of up to 128 values, else a block a row, which
// holds its values in registers up to 4096 of them and reads them three times beyond. Where the axis is not
// contiguous, 32 rows side by side, whose values eight threads share. Maximum and sum are separate passes, so
// that infinities and NaN come out as the definition says.
#pragma once

#include "kernels/common/softmax.h"
#include "kernels/cuda/stream.h"

namespace convlens::cuda {

using kernels::SoftmaxBlocks;
using kernels::SoftmaxParams;

// By definition, in double: the reference. Floating-point types, any strides.
void softmax_direct(const SoftmaxParams& params, const void* src, void* dst, Stream stream);

// f32, any strides.
void softmax_blocks(const SoftmaxBlocks& params, const float* src, float* dst, Stream stream);

}  // namespace convlens::cuda

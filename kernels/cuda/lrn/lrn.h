// Local response normalisation on the device; what it means stands in kernels/common/lrn.h.
//
// blocks: a thread a value where the channels are contiguous, whose window its neighbours have in the first
// cache; else four channels of one position a thread, which share the loads of their windows. Windows are
// summed anew for each value: a running sum would keep the rounding of what has left it.
#pragma once

#include "kernels/common/lrn.h"
#include "kernels/cuda/stream.h"

namespace convlens::cuda {

using kernels::LrnBlocks;
using kernels::LrnParams;

// By definition, in double: the reference. Floating-point types, any strides.
void lrn_direct(const LrnParams& params, const void* src, void* dst, Stream stream);

// f32, any strides.
void lrn_blocks(const LrnBlocks& params, const float* src, float* dst, Stream stream);

}  // namespace convlens::cuda

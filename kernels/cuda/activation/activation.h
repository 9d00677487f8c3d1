// Activations as an operation of its own on the device; the function that epilogues share is in
// kernels/cuda/activation.cuh.
//
// blocks: bound by memory; four neighbours a thread where the layout and the pointers allow it. The smooth
// functions have a kernel of their own, so that their registers don't burden the clamps.
#pragma once

#include "kernels/common/activation_params.h"
#include "kernels/cuda/stream.h"

namespace convlens::cuda {

// By definition, in double: the reference. Floating-point types, any strides; dst may be src.
void activation_direct(const ActivationParams& params, const void* src, void* dst, Stream stream);

// f32, any strides; dst may be src.
void activation_blocks(const ActivationBlocks& params, const float* src, float* dst, Stream stream);

}  // namespace convlens::cuda

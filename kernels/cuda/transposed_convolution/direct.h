// Transposed convolution by its definition, in gather form, the reference of the list: each output is the sum
// over the source cells that reach it. One single-precision sum in the fixed order c, then the window's axes,
// without fused multiply-add; one thread an output, any strides. Weights as they come: C x K/groups x window.
#pragma once

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

// Device memory; bias (K values) may be null. src and dst don't overlap.
void transposed_convolution_direct(const ConvolutionGeometry& geometry, const float* src,
                                   const float* weights, const float* bias, const Activation& activation,
                                   float* dst, Stream stream);

}  // namespace convlens::cuda

// Transposed convolution by its definition, in gather form: each output cell is the sum over the source cells
// that reach it. One single-precision sum in the fixed order c, then the window's axes, without fused
// multiply-add.
#pragma once

#include <cstddef>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/geometry.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

// Floats of the packed filter: outputs of each group rounded up to whole blocks.
std::size_t transposed_convolution_direct_packed_size(const ConvolutionGeometry& geometry);
// From C x K/groups x window, packed.
void transposed_convolution_direct_pack(const ConvolutionGeometry& geometry, const float* weights,
                                        float* packed);

// Host memory; bias (K values) may be null. src and dst don't overlap.
void transposed_convolution_direct(const ConvolutionGeometry& geometry, const float* src, const float* packed,
                                   const float* bias, const Activation& activation, float* dst,
                                   ThreadPool& pool);

}  // namespace convlens::cpu

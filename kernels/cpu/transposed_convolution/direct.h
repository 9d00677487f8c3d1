// Transposed convolution by its definition, in gather form: each output cell is the sum over the source cells
// that reach it. The order of summation is fixed (c, then the window's axes), in single precision.
#pragma once

#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/geometry.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

// src: batch x channels x src, weights: channels x outputs/groups x window (packed, so rows of c),
// dst: batch x outputs x dst; bias: `outputs` values or null. Host memory; src and dst don't overlap.
void transposed_convolution_direct(const ConvolutionGeometry& geometry, const float* src,
                                   const float* weights, const float* bias, const Activation& activation,
                                   float* dst, ThreadPool& pool);

}  // namespace convlens::cpu

// Depthwise convolution: every output channel reads one source channel (groups == C, K a multiple of C).
//
// Channels-last tensors with K == C and up to two axes go through a path that is vectorised over channels and
// sums blocks of outputs of a row in registers; all others, planar tensors among them, through one that walks
// rows of a plane. Both sum over the window's axes in order, in single precision.
#pragma once

#include <cstddef>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/geometry.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

// Floats of the packed filter.
std::size_t convolution_depthwise_packed_size(const ConvolutionGeometry& geometry);
// From K x 1 x window, packed.
void convolution_depthwise_pack(const ConvolutionGeometry& geometry, const float* weights, float* packed);

// Host memory; bias (K values) and residual (laid out as dst) may be null. dst overlaps no source, but
// may be the residual.
void convolution_depthwise(const ConvolutionGeometry& geometry, const float* src, const float* packed,
                           const float* bias, const float* residual, const Activation& activation, float* dst,
                           ThreadPool& pool);

}  // namespace convlens::cpu

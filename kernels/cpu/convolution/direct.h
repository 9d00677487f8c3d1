// Convolution by its definition, the reference of the list: any rank, layout, stride, dilation and grouping.
//
// Each output is one single-precision sum in the fixed order c, then the window's axes, without fused
// multiply-add, so its bits depend neither on the number of threads nor on the processor. Filters are packed
// in blocks of outputs only so that a block is summed side by side; that changes no order.
#pragma once

#include <cstddef>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/geometry.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

// Floats of the packed filter: outputs of each group rounded up to whole blocks.
std::size_t convolution_direct_packed_size(const ConvolutionGeometry& geometry);
// From K x C/groups x window, packed.
void convolution_direct_pack(const ConvolutionGeometry& geometry, const float* weights, float* packed);

// Host memory; bias (K values) and residual (laid out as dst) may be null. dst overlaps no source.
void convolution_direct(const ConvolutionGeometry& geometry, const float* src, const float* packed,
                        const float* bias, const float* residual, const Activation& activation, float* dst,
                        ThreadPool& pool);

}  // namespace convlens::cpu

// Convolution by its definition, the reference of the list: any rank, layout, stride, dilation and grouping,
// every floating-point type.
//
// Each output is one single-precision sum in the fixed order c, then the window's axes, without fused
// multiply-add, so its bits depend neither on the number of threads nor on the processor. Filters are packed
// in blocks of outputs only so that a block is summed side by side; that changes no order.
#pragma once

#include <cstddef>

#include "kernels/common/element_type.h"
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

// The same for every floating-point type, in f32 for the 16-bit types and in f64 for f64, one output after
// another; weights as they come: K x C/groups x window. All tensors are of `type`.
struct ConvolutionDirect {
    ConvolutionGeometry geometry;
    Activation activation;
    kernels::ElementType type = kernels::ElementType::f32;
    const void* src = nullptr;
    const void* weights = nullptr;
    const void* bias = nullptr;      // K values, or null
    const void* residual = nullptr;  // laid out as dst, or null
    void* dst = nullptr;
    std::int64_t src_offset = 0;  // elements
    std::int64_t dst_offset = 0;  // of residual too
    float alpha = 1, beta = 1;    // of the sum and of the residual
};
void convolution_direct(const ConvolutionDirect& params, ThreadPool& pool);

}  // namespace convlens::cpu

// Convolution by its definition, the reference of the list: any rank, layout, stride, dilation and grouping,
// every floating-point type.
//
// Each output is one sum in the fixed order c, then the window's axes, without fused multiply-add (the file
// is compiled without contraction): in f32 for f32 and the 16-bit types, in f64 for f64. One thread an
// output. Weights as they come: K x C/groups x window.
#pragma once

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

struct ConvolutionDirect {
    ConvolutionGeometry geometry;
    Activation activation;
    ElementType type = ElementType::f32;  // f32, f64, f16 or bf16; of all tensors
    const void* src = nullptr;
    const void* weights = nullptr;
    const void* bias = nullptr;      // K values, or null
    const void* residual = nullptr;  // laid out as dst, or null
    void* dst = nullptr;
    std::int64_t src_offset = 0;  // elements
    std::int64_t dst_offset = 0;  // of residual too
    float alpha = 1, beta = 1;    // of the sum and of the residual
};

void convolution_direct(const ConvolutionDirect& params, Stream stream);

}  // namespace convlens::cuda

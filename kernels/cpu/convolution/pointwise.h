// Convolution with a window of one cell and no pads, any strides: a product directly on the tensors. Where
// all rows of src and of dst lie at one distance (channels-last without row padding, stride 1) even the list
// of pointers is needless; else the rows are those of implicit_gemm. Host memory, f32.
#pragma once

#include "kernels/cpu/convolution/implicit_gemm.h"

namespace convlens::cpu {

// Packed filter and params are those of implicit_gemm.
void pointwise(const ImplicitGemm& params, const ConvolutionOperands& operands, void* workspace,
               ThreadPool& pool);

}  // namespace convlens::cpu

// Rows of the CUDA convolution list that are defined in files of their own (inside the library only).
#pragma once

#include "primitives/algorithm.h"

namespace convlens::cuda_rows::convolution {

using Row = Algorithm<ConvolutionProblem>;
using BwdFilterRow = Algorithm<ConvolutionBwdFilterProblem>;

Row depthwise();
Row pointwise();
Row winograd_4x4();
Row winograd_2x2();
// Hopper's matrix instructions with bulk copies.
Row wgmma_fp16();
Row wgmma_bf16();
Row wgmma_tf32();
Row wgmma_split_tf32();
// Matrix instructions of a warp.
Row implicit_gemm_fp16();
Row implicit_gemm_bf16();
Row implicit_gemm_tf32();
Row implicit_gemm_split_tf32();
// Multiply-adds of f32.
Row implicit_precomp_gemm();
Row implicit_gemm();
Row im2col_gemm();
Row direct();

BwdFilterRow bwd_filter_direct();

}  // namespace convlens::cuda_rows::convolution

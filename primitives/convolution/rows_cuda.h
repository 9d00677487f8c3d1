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
Row fft();
Row fft_tiling();
Row winograd_2x2_5x5();
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

BwdFilterRow bwd_filter_depthwise();
BwdFilterRow bwd_filter_wgmma_fp16();
BwdFilterRow bwd_filter_wgmma_bf16();
BwdFilterRow bwd_filter_wgmma_scaled_fp16();
BwdFilterRow bwd_filter_wgmma_split_fp16();
BwdFilterRow bwd_filter_wgmma_tf32();
BwdFilterRow bwd_filter_wgmma_split_tf32();
BwdFilterRow bwd_filter_implicit_gemm_fp16();
BwdFilterRow bwd_filter_implicit_gemm_bf16();
BwdFilterRow bwd_filter_implicit_gemm_tf32();
BwdFilterRow bwd_filter_implicit_gemm_split_tf32();
BwdFilterRow bwd_filter_pointwise();
BwdFilterRow bwd_filter_implicit_precomp_gemm();
BwdFilterRow bwd_filter_implicit_gemm();
// Parts of the sum are added to dst in no order.
BwdFilterRow bwd_filter_implicit_gemm_atomic();
BwdFilterRow bwd_filter_im2col_gemm();
BwdFilterRow bwd_filter_fft();
BwdFilterRow bwd_filter_fft_tiling();
BwdFilterRow bwd_filter_direct();

}  // namespace convlens::cuda_rows::convolution

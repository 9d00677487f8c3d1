// Rows of the processor's convolution list that are defined in files of their own (inside the library only).
#pragma once

#include "primitives/algorithm.h"

namespace convlens::convolution_rows {

using Row = Algorithm<ConvolutionProblem>;
using BwdDataRow = Algorithm<ConvolutionBwdDataProblem>;
using BwdFilterRow = Algorithm<ConvolutionBwdFilterProblem>;

Row depthwise();
Row pointwise();
Row implicit_precomp_gemm();
Row implicit_gemm();
Row im2col_gemm();
Row winograd_2x2();
Row winograd_2x2_5x5();
Row winograd_4x4();
Row fft();
Row fft_tiling();
Row direct();

BwdFilterRow bwd_filter_fft();
BwdFilterRow bwd_filter_fft_tiling();
BwdDataRow bwd_data_im2col_gemm();

BwdFilterRow bwd_filter_depthwise();
BwdFilterRow bwd_filter_pointwise();
BwdFilterRow bwd_filter_implicit_precomp_gemm();
BwdFilterRow bwd_filter_implicit_gemm();
BwdFilterRow bwd_filter_im2col_gemm();
BwdFilterRow bwd_filter_winograd_4x4();
BwdFilterRow bwd_filter_winograd_2x2();
BwdFilterRow bwd_filter_winograd_2x2_5x5();
BwdFilterRow bwd_filter_direct();

}  // namespace convlens::convolution_rows

// The parameter gradients by their definition, the references of their lists: any rank, layout, stride,
// dilation and grouping, every floating-point type.
//
// A block an element of dst: its threads sum cells in turn, n and the cells of diff in rising order each, and
// a fixed tree joins them, in f32 for f32 and the 16-bit types, in f64 for f64. No workspace; deterministic.
#pragma once

#include "kernels/common/convolution_bwd.h"
#include "kernels/cuda/stream.h"

namespace convlens::cuda {

void convolution_bwd_filter_direct(const BwdFilterParams& params, const void* src, const void* diff,
                                   void* dst, Stream stream);
void convolution_bwd_bias_direct(const BwdBiasParams& params, const void* src, void* dst, Stream stream);

}  // namespace convlens::cuda

// The filter gradient by its definition, the reference of the list: any rank, layout, stride, dilation and
// grouping, every floating-point type.
//
// Each gradient is one sum in the fixed order n, then the cells of diff, without fused multiply-add: every
// row of cells is summed by itself, and the rows one after another, in f32 for f32 and the 16-bit types, in
// f64 for f64. Sixteen filters are summed side by side, which changes no order. No workspace.
#pragma once

#include "kernels/common/convolution_bwd.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

using kernels::BwdBiasParams;
using kernels::BwdFilterParams;

// Host memory. dst overlaps no source.
void convolution_bwd_filter_direct(const BwdFilterParams& params, const void* src, const void* diff,
                                   void* dst, ThreadPool& pool);

}  // namespace convlens::cpu

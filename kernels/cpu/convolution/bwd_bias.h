// The bias gradient: the sum of each channel over the batch and all cells. Any layout, every floating-point
// type.
//
// Each row of cells is summed by itself and the rows one after another, in f32 for f32 and the 16-bit types,
// in f64 for f64: the order is fixed, so the bits depend on no number of threads. No workspace.
#pragma once

#include "kernels/common/convolution_bwd.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

using kernels::BwdBiasParams;

// Host memory. dst does not overlap src.
void convolution_bwd_bias_direct(const BwdBiasParams& params, const void* src, void* dst, ThreadPool& pool);

}  // namespace convlens::cpu

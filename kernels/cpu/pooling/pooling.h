// Pooling on the processor; what the kinds mean stands in kernels/common/pooling.h.
#pragma once

#include "kernels/common/pooling.h"
#include "kernels/cpu/element.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

using kernels::PoolAxis;
using kernels::PoolingParams;
using kernels::PoolKind;

// By definition, in double: the reference. Any element type, any strides.
void pooling_direct(const PoolingParams& params, const void* src, void* dst, ThreadPool& pool);

// f32, channels contiguous in src and dst: vectors of channels.
void pooling_channels_last(const PoolingParams& params, const float* src, float* dst, ThreadPool& pool);

// f32, any strides, fast where W is contiguous: a window's rows are folded first, then its columns.
void pooling_rows(const PoolingParams& params, const float* src, float* dst, ThreadPool& pool);

// f32, one window that covers the whole of src, and either channels or W contiguous in src.
void pooling_global(const PoolingParams& params, const float* src, float* dst, ThreadPool& pool);

}  // namespace convlens::cpu

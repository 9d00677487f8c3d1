// Pooling on the device; what the kinds mean stands in kernels/common/pooling.h.
//
// channels_last and rows: one thread a result (four channels of it where the layouts and the pointers allow
// it), neighbouring threads on neighbouring channels or columns; overlapping windows meet in the first cache.
// Windows of 2 and 3 cells a side have code of their own, in which all loads are under way at once.
// global: a block a strip of channels or a map, or a warp a small map. A few strips of many cells are split
// over blocks that leave parts in the workspace, which a second launch joins in their order. Geometry beyond
// 31 bits goes to the reference.
#pragma once

#include <cstddef>

#include "kernels/common/pooling.h"
#include "kernels/cuda/stream.h"

namespace convlens::cuda {

using kernels::PoolingParams;
using kernels::PoolKind;

// By definition, in double: the reference. Floating-point types, any strides.
void pooling_direct(const PoolingParams& params, const void* src, void* dst, Stream stream);

// f32, channels contiguous in src and dst.
void pooling_channels_last(const PoolingParams& params, const float* src, float* dst, Stream stream);

// f32, any strides, fast where W is contiguous.
void pooling_rows(const PoolingParams& params, const float* src, float* dst, Stream stream);

// f32, one window that covers the whole of src, and either channels or W contiguous in src.
void pooling_global(const PoolingParams& params, const float* src, float* dst, void* workspace,
                    Stream stream);
std::size_t pooling_global_workspace_bytes(const PoolingParams& params);

}  // namespace convlens::cuda

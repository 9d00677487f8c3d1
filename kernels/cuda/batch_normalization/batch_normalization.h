// Batch normalisation on the device; what it means stands in kernels/common/batch_normalization.h.
//
// blocks: bound by memory. Each thread makes the factor of its channels anew (one reciprocal root), which is
// cheaper than a launch that prepares them.
#pragma once

#include "kernels/common/batch_normalization.h"
#include "kernels/cuda/stream.h"

namespace convlens::cuda {

using kernels::ChannelStatistics;

// By definition, in double: the reference. Floating-point types, any strides.
void batch_normalization_direct(const BatchNormalizationParams& params, const void* src,
                                const ChannelStatistics& statistics, void* dst, Stream stream);

// f32, any strides; dst may be src.
void batch_normalization_blocks(const BatchNormalizationBlocks& params, const float* src,
                                const ChannelStatistics& statistics, float* dst, Stream stream);

}  // namespace convlens::cuda

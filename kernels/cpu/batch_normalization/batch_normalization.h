// Batch normalisation on the processor; what it means stands in kernels/common/batch_normalization.h.
#pragma once

#include "kernels/common/batch_normalization.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/blocks.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

using kernels::BatchNormalizationBlocks;
using kernels::BatchNormalizationParams;
using kernels::ChannelStatistics;

// By definition, in double: the reference. Any element type, any strides.
void batch_normalization_direct(const BatchNormalizationParams& params, const void* src,
                                const ChannelStatistics& statistics, void* dst, ThreadPool& pool);

// f32, any strides; dst may be src. factors: workspace of `channels` floats.
void batch_normalization_blocks(const BatchNormalizationBlocks& params, const float* src,
                                const ChannelStatistics& statistics, float* factors, float* dst,
                                ThreadPool& pool);

}  // namespace convlens::cpu

// Batch normalisation at inference: activation((src - mean) / sqrt(variance + epsilon) * scale + bias), by
// channel (axis 1).
#pragma once

#include "kernels/cpu/activation.h"
#include "kernels/cpu/blocks.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

struct BatchNormalizationParams {
    Layout src, dst;  // equal dims
    float epsilon = 1e-5f;
    Activation activation;
};

// One value a channel, f32, packed.
struct ChannelStatistics {
    const float* scale = nullptr;
    const float* bias = nullptr;
    const float* mean = nullptr;
    const float* variance = nullptr;
};

// By definition, in double: the reference. Any element type, any strides.
void batch_normalization_direct(const BatchNormalizationParams& params, const void* src,
                                const ChannelStatistics& statistics, void* dst, ThreadPool& pool);

struct BatchNormalizationBlocks {
    JointShape shape;  // operands: src, mean, factor, bias, dst
    std::int64_t channels = 0;
    float epsilon = 1e-5f;
    Activation activation;
};

// f32, any strides; dst may be src. factors: workspace of `channels` floats.
void batch_normalization_blocks(const BatchNormalizationBlocks& params, const float* src,
                                const ChannelStatistics& statistics, float* factors, float* dst,
                                ThreadPool& pool);

}  // namespace convlens::cpu

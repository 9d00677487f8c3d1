// Batch normalisation at inference: activation((src - mean) / sqrt(variance + epsilon) * scale + bias), by
// channel (axis 1).
#pragma once

#include <cstdint>

#include "kernels/common/activation.h"
#include "kernels/common/joint_shape.h"

namespace convlens::kernels {

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

struct BatchNormalizationBlocks {
    JointShape shape;  // operands: src, mean, factor, bias, dst; the middle three have one value a channel
    std::int64_t channels = 0;
    float epsilon = 1e-5f;
    Activation activation;
};

}  // namespace convlens::kernels

// Local response normalisation over channels (axis 1): src / (k + alpha / size * sum of squares)^beta, the
// window being c - floor((size - 1) / 2) .. c + ceil((size - 1) / 2).
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/joint_shape.h"

namespace convlens::kernels {

struct LrnParams {
    Layout src, dst;  // equal dims
    std::int64_t size = 5;
    float alpha = 1e-4f;
    float beta = 0.75f;
    float k = 1.0f;
    CONVLENS_HD constexpr std::int64_t before() const { return (size - 1) / 2; }
    CONVLENS_HD constexpr std::int64_t after() const { return size - 1 - before(); }
};

struct LrnBlocks {
    JointShape positions;  // all axes but the channels; operands: src, dst
    std::int64_t channels = 0;
    std::int64_t src_step = 0, dst_step = 0;  // between channels
    std::int64_t size = 5;
    float alpha = 1e-4f;
    float beta = 0.75f;
    float k = 1.0f;
};

}  // namespace convlens::kernels

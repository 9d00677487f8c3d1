// Softmax and log-softmax over one axis: minus the maximum first, log-softmax as x - max - log(sum).
//
// A NaN, or a maximum that is infinite, makes the whole row what the arithmetic says (NaN).
#pragma once

#include <cstdint>

#include "kernels/common/joint_shape.h"

namespace convlens::kernels {

struct SoftmaxParams {
    Layout src, dst;  // equal dims
    int axis = 1;
    bool logarithm = false;
};

struct SoftmaxBlocks {
    JointShape rows;  // all axes but the softmax's; operands: src, dst
    std::int64_t length = 0;
    std::int64_t src_step = 0, dst_step = 0;  // along the axis
    bool logarithm = false;
};

}  // namespace convlens::kernels

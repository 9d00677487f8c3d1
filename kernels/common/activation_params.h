// Activations as an operation of its own.
#pragma once

#include "kernels/common/activation.h"
#include "kernels/common/joint_shape.h"

namespace convlens::kernels {

struct ActivationParams {
    Layout src, dst;  // equal dims
    Activation activation;
};

struct ActivationBlocks {
    JointShape shape;  // operands: src, dst
    Activation activation;
};

}  // namespace convlens::kernels

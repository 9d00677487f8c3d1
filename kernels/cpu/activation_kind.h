// An activation as the kernels see it. No arithmetic here: activation.h has the vector functions.
#pragma once

#include <cstdint>

namespace convlens::cpu {

// In the order of convlens::ActivationKind, where each is defined.
enum class ActivationOp : std::uint8_t {
    identity,
    relu,
    clip,
    leaky_relu,
    elu,
    sigmoid,
    tanh,
    swish,
    hard_sigmoid,
    hard_swish
};

struct Activation {
    ActivationOp op = ActivationOp::identity;
    float alpha = 0.0f;
    float beta = 0.0f;
};

}  // namespace convlens::cpu

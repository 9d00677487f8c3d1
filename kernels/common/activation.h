// Activation functions as the kernels see them.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/common/host_device.h"

namespace convlens::kernels {

// In the order of convlens::ActivationKind; the formulas stand there.
enum class ActivationKind : std::uint8_t {
    identity,
    relu,
    clip,
    leaky_relu,
    elu,
    sigmoid,
    tanh,
    swish,
    hard_sigmoid,
    hard_swish,
};

struct Activation {
    ActivationKind kind = ActivationKind::identity;
    float alpha = 0.0f;
    float beta = 0.0f;
};

// Identity, ReLU and clip are one function: clamp to [low, high], where NaN stays NaN.
CONVLENS_HD constexpr bool is_clamp(const Activation& a) { return a.kind <= ActivationKind::clip; }
CONVLENS_HD constexpr float clamp_low(const Activation& a) {
    if (a.kind == ActivationKind::relu) return 0.0f;
    return a.kind == ActivationKind::clip ? a.alpha : -std::numeric_limits<float>::infinity();
}
CONVLENS_HD constexpr float clamp_high(const Activation& a) {
    return a.kind == ActivationKind::clip ? a.beta : std::numeric_limits<float>::infinity();
}

}  // namespace convlens::kernels

// The scalar definition of the activation functions.
// The vector functions are in activation-inl.h (compiled once for each vector target).
#pragma once

#include <cmath>

#include "kernels/common/activation.h"

namespace convlens::cpu {

using kernels::Activation;
using kernels::ActivationKind;
using kernels::clamp_high;
using kernels::clamp_low;
using kernels::is_clamp;

// The definition for one value. Comparisons are written so that NaN passes through.
inline float activate(const Activation& a, float x) {
    const auto clamp = [](float v, float low, float high) {
        v = v < low ? low : v;
        return v > high ? high : v;
    };
    switch (a.kind) {
        case ActivationKind::identity:
            return x;
        case ActivationKind::relu:
        case ActivationKind::clip:
            return clamp(x, clamp_low(a), clamp_high(a));
        case ActivationKind::leaky_relu:
            return x < 0 ? a.alpha * x : x;
        case ActivationKind::elu:
            return x < 0 ? a.alpha * std::expm1(x) : x;
        case ActivationKind::sigmoid:
            return 1.0f / (1.0f + std::exp(-x));
        case ActivationKind::tanh:
            return std::tanh(x);
        case ActivationKind::swish:
            return x / (1.0f + std::exp(-a.alpha * x));
        case ActivationKind::hard_sigmoid:
            return clamp(a.alpha * x + a.beta, 0.0f, 1.0f);
        case ActivationKind::hard_swish:
            return x * clamp(x / 6.0f + 0.5f, 0.0f, 1.0f);
    }
    return x;
}

}  // namespace convlens::cpu

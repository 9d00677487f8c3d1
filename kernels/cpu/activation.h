// Activation functions as the kernels see them: the parameter struct and the scalar definition.
// The vector functions are in activation-inl.h (compiled once for each vector target).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace convlens::cpu {

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
inline bool is_clamp(const Activation& a) { return a.kind <= ActivationKind::clip; }
inline float clamp_low(const Activation& a) {
    if (a.kind == ActivationKind::relu) return 0.0f;
    return a.kind == ActivationKind::clip ? a.alpha : -std::numeric_limits<float>::infinity();
}
inline float clamp_high(const Activation& a) {
    return a.kind == ActivationKind::clip ? a.beta : std::numeric_limits<float>::infinity();
}

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

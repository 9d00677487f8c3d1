// The definition of the activation functions on the device, for epilogues and for the activation operation.
//
// NaN passes through every function: clamps are comparisons, which are false with NaN. No fast-math forms:
// the bound of an activation is 1e-6.
#pragma once

#include "kernels/common/activation.h"

namespace convlens::cuda {

using kernels::Activation;
using kernels::ActivationKind;

template <class T>
__device__ __forceinline__ T clamp_value(T x, T low, T high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

// Everything but the clamps (identity, ReLU, clip).
template <class T>
__device__ __forceinline__ T activate_smooth(const Activation& a, T x) {
    const T alpha = a.alpha, beta = a.beta;
    switch (a.kind) {
        case ActivationKind::leaky_relu:
            return x < T(0) ? alpha * x : x;
        case ActivationKind::elu:
            return x < T(0) ? alpha * expm1(x) : x;
        case ActivationKind::sigmoid:
            return T(1) / (T(1) + exp(-x));
        case ActivationKind::tanh:
            return tanh(x);
        case ActivationKind::swish:
            return x / (T(1) + exp(-alpha * x));
        case ActivationKind::hard_sigmoid:
            return clamp_value(alpha * x + beta, T(0), T(1));
        case ActivationKind::hard_swish:
            return x * clamp_value(x / T(6) + T(0.5), T(0), T(1));
        default:
            return x;
    }
}

// Identity, ReLU and clip are two comparisons; the rest is a choice by kind, the same for a whole warp. Large
// register tiles should call it in a loop that is not unrolled, or the code of the smooth functions
// multiplies.
__device__ __forceinline__ float activate(const Activation& a, float x) {
    if (is_clamp(a)) return clamp_value(x, clamp_low(a), clamp_high(a));
    return activate_smooth(a, x);
}
__device__ __forceinline__ double activate(const Activation& a, double x) {
    if (is_clamp(a)) return clamp_value<double>(x, clamp_low(a), clamp_high(a));
    return activate_smooth(a, x);
}

}  // namespace convlens::cuda

// The activation as a call for kernels that unroll over many outputs: clamps are inlined, the smooth
// functions are one function, whose code is there once.
#pragma once

#include "kernels/cuda/activation.cuh"

namespace convlens::cuda {
namespace {

__device__ __noinline__ float activate_smooth_call(ActivationKind kind, float alpha, float beta, float x) {
    return activate_smooth(Activation{kind, alpha, beta}, x);
}

__device__ __forceinline__ float activate_or_call(const Activation& a, float x) {
    if (is_clamp(a)) return clamp_value(x, clamp_low(a), clamp_high(a));
    return activate_smooth_call(a.kind, a.alpha, a.beta, x);
}

}  // namespace
}  // namespace convlens::cuda

// Activations as an operation of its own; the vector functions that epilogues share are in
// kernels/cpu/activation.h.
#pragma once

#include "kernels/common/activation_params.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/blocks.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

using kernels::ActivationBlocks;
using kernels::ActivationParams;

// One value by definition, in double; NaN stays NaN.
double activate_in_double(const Activation& activation, double x);

// By definition, in double: the reference. Any element type, any strides; dst may be src.
void activation_direct(const ActivationParams& params, const void* src, void* dst, ThreadPool& pool);

// f32, contiguous; dst may be src.
void activate_floats(const Activation& activation, const float* src, float* dst, std::int64_t n);

// f32, any strides; dst may be src.
void activation_blocks(const ActivationBlocks& params, const float* src, float* dst, ThreadPool& pool);

}  // namespace convlens::cpu

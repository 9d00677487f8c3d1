// Softmax and log-softmax over one axis: minus the maximum first, log-softmax as x - max - log(sum).
//
// A NaN, or a maximum that is infinite, makes the whole row what the arithmetic says (NaN).
#pragma once

#include <cstdint>

#include "kernels/cpu/layout.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

struct SoftmaxParams {
    Layout src, dst;  // equal dims
    int axis = 1;
    bool logarithm = false;
};

// By definition, in double: the reference. Any element type, any strides.
void softmax_direct(const SoftmaxParams& params, const void* src, void* dst, ThreadPool& pool);

}  // namespace convlens::cpu

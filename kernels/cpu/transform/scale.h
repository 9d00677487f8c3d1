// data = factor * data in place, any strides, every floating-point type; factor 0 writes zeros without
// reading.
#pragma once

#include "kernels/cpu/layout.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

void scale(const kernels::Layout& layout, float factor, void* data, ThreadPool& pool);

}  // namespace convlens::cpu

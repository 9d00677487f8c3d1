// data = factor * data in place, any strides, every floating-point type; factor 0 writes zeros without
// reading.
#pragma once

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

void scale(const Layout& layout, float factor, void* data, Stream stream);

}  // namespace convlens::cuda

// Single elements of a tensor, for the eyes of a user: out[i] = src[offsets[i]].
#pragma once

#include <cstdint>

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

// All pointers are device memory; count at most 65535 blocks of 256.
void gather_floats(const float* src, const std::int64_t* offsets, int count, float* out, Stream stream);

}  // namespace convlens::cuda

// Local response normalisation on the processor; what it means stands in kernels/common/lrn.h.
#pragma once

#include <cstdint>

#include "kernels/common/lrn.h"
#include "kernels/cpu/layout.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

using kernels::LrnBlocks;
using kernels::LrnParams;

// By definition, in double: the reference. Any element type, any strides.
void lrn_direct(const LrnParams& params, const void* src, void* dst, ThreadPool& pool);

// Positions side by side, or channels of one position at a time; the window is no longer than this.
inline constexpr std::int64_t lrn_strip = 512;

// f32, any strides: along the channels where they are contiguous, else many positions side by side.
void lrn_blocks(const LrnBlocks& params, const float* src, float* dst, ThreadPool& pool);

}  // namespace convlens::cpu

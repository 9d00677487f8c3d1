// Local response normalisation on the device; what it means stands in kernels/common/lrn.h.
//
// blocks: four channels of one position a thread. Where the channels are contiguous and aligned and the
// window has at most nine of them, a thread reads three groups of four; else it walks over the channels that
// its windows need. Windows are summed anew for each value: a running sum would keep the rounding of what has
// left it. The root of the usual exponent 3/4 is two reciprocal square roots; scales outside the middle of
// the range of f32 take the long way.
#pragma once

#include "kernels/common/lrn.h"
#include "kernels/cuda/stream.h"

namespace convlens::cuda {

using kernels::LrnBlocks;
using kernels::LrnParams;

// By definition, in double: the reference. Floating-point types, any strides.
void lrn_direct(const LrnParams& params, const void* src, void* dst, Stream stream);

// f32, any strides, at most lrn_most_channels.
inline constexpr std::int64_t lrn_most_channels = std::int64_t{1} << 30;
void lrn_blocks(const LrnBlocks& params, const float* src, float* dst, Stream stream);

}  // namespace convlens::cuda

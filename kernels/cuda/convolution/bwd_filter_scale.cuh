// The powers of two that scaled operands of bwd_filter_bulk.h are multiplied by.
#pragma once

#include <cstdint>

namespace convlens::cuda::filter_gradient {

// From the bits of the largest finite magnitude of a channel: brings it to [2^14, 2^15). 0 for a channel of
// zeros.
__device__ __forceinline__ int scale_shift(unsigned largest) {
    if (largest == 0) return 0;
    const int exponent = static_cast<int>(largest >> 23);
    // Below the smallest normal number the leading bit says it.
    return 14 - (exponent > 0 ? exponent - 127 : 31 - __clz(static_cast<int>(largest)) - 149);
}
// 2^shift, as two factors: shift may lie beyond the range of one.
__device__ __forceinline__ float power_of_two(int shift) { return __int_as_float((shift + 127) << 23); }
__device__ __forceinline__ float scaled_by(float x, int shift) {
    return x * power_of_two(shift / 2) * power_of_two(shift - shift / 2);
}

}  // namespace convlens::cuda::filter_gradient

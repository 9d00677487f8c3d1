// Division of numbers below 2^31 by a divisor that is the same for a whole launch: a multiplication and a
// shift.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"

namespace convlens::cuda {

class FastDivision {
  public:
    FastDivision() = default;
    // 1 <= divisor < 2^31
    explicit FastDivision(std::int64_t divisor) : divisor_(static_cast<std::uint32_t>(divisor)) {
        while ((std::uint64_t{1} << shift_) < divisor_) ++shift_;
        const std::uint64_t excess = (std::uint64_t{1} << shift_) - divisor_;
        multiplier_ = static_cast<std::uint32_t>((excess << 32) / divisor_ + 1);
    }
    CONVLENS_HD std::uint32_t quotient(std::uint32_t x) const {
#ifdef __CUDA_ARCH__
        return (__umulhi(x, multiplier_) + x) >> shift_;
#else
        return (static_cast<std::uint32_t>((std::uint64_t{x} * multiplier_) >> 32) + x) >> shift_;
#endif
    }
    // The remainder; x becomes the quotient.
    CONVLENS_HD std::uint32_t split(std::uint32_t& x) const {
        const std::uint32_t before = x;
        x = quotient(x);
        return before - x * divisor_;
    }
    CONVLENS_HD std::uint32_t divisor() const { return divisor_; }

  private:
    std::uint32_t divisor_ = 1, multiplier_ = 1, shift_ = 0;
};

}  // namespace convlens::cuda

// The common index space of several tensors, with as few axes as possible.
#pragma once

#include <array>
#include <initializer_list>

#include "kernels/common/layout.h"

namespace convlens::kernels {

inline constexpr int max_operands = 5;

// Axes in the order of the destination's strides, the smallest last; axes that follow each other without a
// gap in every operand are one. Rank is at least 1. The destination is the last operand.
struct JointShape {
    int operands = 0;
    int rank = 1;
    std::int64_t elements = 0;
    AxisValues dims{};
    std::array<AxisValues, max_operands> strides{};
    std::array<std::int64_t, max_operands> offsets{};

    std::int64_t inner() const { return dims[static_cast<std::size_t>(rank - 1)]; }
    std::int64_t inner_stride(int operand) const {
        return strides[static_cast<std::size_t>(operand)][static_cast<std::size_t>(rank - 1)];
    }
    // Whether the operand's elements follow each other in the joint order.
    bool is_dense(int operand) const;
    // The address in an operand of the position'th element in the joint order.
    std::int64_t address(int operand, const AxisValues& index) const;
};

// All layouts have the dims of the last one.
JointShape join(std::initializer_list<Layout> layouts);

}  // namespace convlens::kernels

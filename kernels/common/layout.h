// Where a tensor's elements lie, as the kernels see it, and walks over index spaces.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/common/element_type.h"
#include "kernels/common/host_device.h"

namespace convlens::kernels {

inline constexpr int max_axes = 8;
using AxisValues = std::array<std::int64_t, max_axes>;

// Strides in elements; `offset` is the element that index 0 ... 0 addresses, counted from the pointer.
struct Layout {
    ElementType type = ElementType::f32;
    int rank = 0;
    AxisValues dims{};
    AxisValues strides{};
    std::int64_t offset = 0;

    CONVLENS_HD constexpr std::int64_t elements() const {
        std::int64_t count = 1;
        for (int i = 0; i < rank; ++i) count *= dims[static_cast<std::size_t>(i)];
        return count;
    }
};

// The multi-index of a position in row-major order.
CONVLENS_HD constexpr AxisValues unravel(std::int64_t position, int rank, const AxisValues& dims) {
    AxisValues index{};
    for (int axis = rank - 1; axis >= 0; --axis) {
        const auto a = static_cast<std::size_t>(axis);
        index[a] = position % dims[a];
        position /= dims[a];
    }
    return index;
}

CONVLENS_HD constexpr std::int64_t address(const AxisValues& index, const Layout& layout) {
    std::int64_t at = layout.offset;
    for (int axis = 0; axis < layout.rank; ++axis)
        at += index[static_cast<std::size_t>(axis)] * layout.strides[static_cast<std::size_t>(axis)];
    return at;
}

}  // namespace convlens::kernels

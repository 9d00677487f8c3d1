// Index spaces as kernels walk them: a thread's number becomes an address in every operand by multiplications
// instead of divisions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/joint_shape.h"

namespace convlens::cuda {

using kernels::JointShape;

inline constexpr std::int64_t divisor_limit = std::int64_t{1} << 31;

// Division of numbers below 2^31 by one number below 2^31.
struct Divisor {
    std::uint32_t divisor = 1, multiplier = 0x80000001u, shift = 31;

    static Divisor of(std::int64_t divisor) {
        // With 2^(s-1) < divisor <= 2^s the multiplier fits 32 bits, and its excess over 2^(31+s) / divisor
        // is too small to reach the quotient.
        std::uint32_t s = 0;
        while ((std::int64_t{1} << s) < divisor) ++s;
        const auto d = static_cast<std::uint64_t>(divisor);
        return {static_cast<std::uint32_t>(d),
                static_cast<std::uint32_t>((std::uint64_t{1} << (31 + s)) / d + 1), 31 + s};
    }
    CONVLENS_HD std::uint32_t quotient(std::uint32_t n) const {
        return static_cast<std::uint32_t>((static_cast<std::uint64_t>(n) * multiplier) >> shift);
    }
};

// Positions 0 to count - 1 in row-major order; the last axis is the fastest. Offsets belong to the pointers.
template <int operands>
struct Walk {
    int rank = 1;
    std::int64_t count = 0;
    Divisor dims[kernels::max_axes];
    std::int64_t lengths[kernels::max_axes]{};  // for spaces that Divisor does not reach
    std::int64_t strides[operands][kernels::max_axes]{};
};

// `width` positions of the last axis are one, which must divide it unless it is the only axis (the last group
// is then short).
template <int operands>
Walk<operands> make_walk(const JointShape& shape, const int (&from)[operands], int width = 1) {
    Walk<operands> walk;
    walk.rank = shape.rank;
    walk.count = shape.elements == 0 ? 0 : 1;
    for (int axis = 0; axis < shape.rank; ++axis) {
        const bool last = axis == shape.rank - 1;
        const auto a = static_cast<std::size_t>(axis);
        walk.lengths[axis] = last ? (shape.dims[a] + width - 1) / width : shape.dims[a];
        walk.count *= walk.lengths[axis];
        for (int k = 0; k < operands; ++k)
            walk.strides[k][axis] = shape.strides[static_cast<std::size_t>(from[k])][a] * (last ? width : 1);
    }
    if (walk.count < divisor_limit)
        for (int axis = 0; axis < shape.rank && walk.count > 0; ++axis)
            walk.dims[axis] = Divisor::of(walk.lengths[axis]);
    return walk;
}

// How an operand takes part in groups of `width` neighbouring floats.
enum class GroupAccess { none, vector, repeated };

// vector: contiguous and aligned in every group; repeated: one value for all of a group.
inline GroupAccess group_access(const JointShape& shape, int operand, const void* pointer, int width,
                                std::size_t element_size = sizeof(float)) {
    const auto k = static_cast<std::size_t>(operand);
    const std::int64_t step = shape.inner_stride(operand);
    if (step == 0) return GroupAccess::repeated;
    const auto first = reinterpret_cast<std::uintptr_t>(pointer) +
                       static_cast<std::uintptr_t>(shape.offsets[k]) * element_size;
    if (step != 1 || first % (element_size * static_cast<std::size_t>(width)) != 0) return GroupAccess::none;
    for (int axis = 0; axis + 1 < shape.rank; ++axis)
        if (shape.strides[k][static_cast<std::size_t>(axis)] % width != 0) return GroupAccess::none;
    return GroupAccess::vector;
}

// Whether the last axis falls into groups of `width`.
inline bool has_whole_groups(const JointShape& shape, int width) {
    return shape.rank == 1 || shape.inner() % width == 0;
}

}  // namespace convlens::cuda

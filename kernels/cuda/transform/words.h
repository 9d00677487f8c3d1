// Copies seen as words: neighbouring elements that always move together are one.
#pragma once

#include "kernels/cuda/transform/transform.h"
#include "kernels/cuda/walk.h"

namespace convlens::cuda {

// The widest word, 16 bytes or less, that both pointers and all steps of a copy of one type allow.
inline int word_bytes(const JointShape& shape, ElementType type, const void* src, const void* dst) {
    const auto size = static_cast<int>(size_of(type));
    for (int bytes = 16; bytes > size; bytes /= 2) {
        const int width = bytes / size;
        if (shape.inner() % width == 0 &&
            group_access(shape, 0, src, width, size_of(type)) == GroupAccess::vector &&
            group_access(shape, 1, dst, width, size_of(type)) == GroupAccess::vector)
            return bytes;
    }
    return size;
}

// The axis along which src is contiguous where that is another than dst's and both are long enough for tiles,
// else -1.
inline int cross_axis(const JointShape& shape) {
    constexpr std::int64_t least = 16;
    if (shape.rank < 2 || shape.inner() < least || shape.inner_stride(1) != 1) return -1;
    if (const std::int64_t step = shape.inner_stride(0); step == 1 || step == 0) return -1;
    for (int axis = 0; axis + 1 < shape.rank; ++axis)
        if (shape.strides[0][static_cast<std::size_t>(axis)] == 1 &&
            shape.dims[static_cast<std::size_t>(axis)] >= least)
            return axis;
    return -1;
}

}  // namespace convlens::cuda

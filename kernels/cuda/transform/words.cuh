// Copies seen as words: neighbouring elements that always move together are one.
#pragma once

#include <vector_types.h>

#include <cstddef>
#include <cstdint>

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

// Calls body(Word{}) with an unsigned word of that many bytes.
template <class Body>
void with_word(int bytes, const Body& body) {
    switch (bytes) {
        case 1:
            return body(std::uint8_t{});
        case 2:
            return body(std::uint16_t{});
        case 4:
            return body(std::uint32_t{});
        case 8:
            return body(std::uint64_t{});
        default:
            return body(uint4{});
    }
}

// The first element.
inline const std::byte* first(const void* src, const StridedCopy& copy) {
    return static_cast<const std::byte*>(src) +
           copy.shape.offsets[0] * static_cast<std::int64_t>(size_of(copy.from));
}
inline std::byte* first(void* dst, const StridedCopy& copy) {
    return static_cast<std::byte*>(dst) + copy.shape.offsets[1] * static_cast<std::int64_t>(size_of(copy.to));
}

}  // namespace convlens::cuda

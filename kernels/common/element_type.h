// Element types of the kernels that take more than f32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"

namespace convlens::kernels {

// In the order of convlens::DataType.
enum class ElementType : std::uint8_t { f32, f64, f16, bf16, i8, u8, i32, i64, boolean };

CONVLENS_HD constexpr std::size_t size_of(ElementType type) {
    switch (type) {
        case ElementType::f64:
        case ElementType::i64:
            return 8;
        case ElementType::f32:
        case ElementType::i32:
            return 4;
        case ElementType::f16:
        case ElementType::bf16:
            return 2;
        default:
            return 1;
    }
}

}  // namespace convlens::kernels

// Copies between any strides and element types: layout change, transpose, slice, type conversion, padding.
//
// Float to integer truncates toward zero and saturates, NaN gives 0; to f16 and bf16 rounds to nearest even;
// integer to a narrower integer keeps the low bits; to boolean asks whether it differs from zero.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/layout.h"

namespace convlens::kernels {

enum class Padding : std::uint8_t { none, constant, edge, reflect };

struct TransformParams {
    Layout src, dst;
    Padding padding = Padding::none;
    AxisValues pads_begin{};  // dst index = src index + pads_begin; negative crops
    double pad_value = 0;
};

// The src index along an axis of `length` that padded position `i` (negative or beyond) takes its value
// from, or -1 for the pad value.
CONVLENS_HD constexpr std::int64_t padded_index(std::int64_t i, std::int64_t length, Padding padding) {
    if (i >= 0 && i < length) return i;
    switch (padding) {
        case Padding::edge:
            return i < 0 ? 0 : length - 1;
        case Padding::reflect:
            return i < 0 ? -i : 2 * (length - 1) - i;
        case Padding::none:
        case Padding::constant:
            break;
    }
    return -1;
}

}  // namespace convlens::kernels

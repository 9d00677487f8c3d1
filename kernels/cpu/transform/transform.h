// Copies between any strides and element types: layout change, transpose, slice, type conversion, padding.
//
// Float to integer truncates toward zero and saturates, NaN gives 0; to f16 and bf16 rounds to nearest even;
// integer to a narrower integer keeps the low bits; to boolean asks whether it differs from zero.
#pragma once

#include <cstdint>

#include "kernels/cpu/layout.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

enum class Padding : std::uint8_t { none, constant, edge, reflect };

struct TransformParams {
    Layout src, dst;
    Padding padding = Padding::none;
    AxisValues pads_begin{};  // dst index = src index + pads_begin; negative crops
    double pad_value = 0;
};

// Element by element in dst's order: the reference. Any types, any strides, any padding.
void transform_direct(const TransformParams& params, const void* src, void* dst, ThreadPool& pool);

// The src index along an axis of `length` that padded position `i` (negative or beyond) takes its value
// from, or -1 for the pad value.
std::int64_t padded_index(std::int64_t i, std::int64_t length, Padding padding);

}  // namespace convlens::cpu

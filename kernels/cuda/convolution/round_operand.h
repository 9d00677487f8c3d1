// How the processor rounds a weight for the tensor core (inside the tensor core kernels' packing only).
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/common/element.h"

namespace convlens::cuda {

enum class OperandKind : std::uint8_t { tf32, fp16, bf16 };

// To nearest, ties away from zero, as cvt.rna; infinities and NaN stay.
inline float round_to_tf32(float value) {
    if (!std::isfinite(value)) return value;
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x1000u) & 0xffffe000u);
}
// What TF32 leaves of a value; nothing of an infinity.
inline float low_part(float value) {
    return std::isfinite(value) && std::isfinite(round_to_tf32(value))
               ? round_to_tf32(value - round_to_tf32(value))
               : 0.0f;
}

// Writes weight `from` as element `to` of a block in the operand's type; the low part lies `low_at` bytes
// behind (0: none).
inline void pack_operand(ElementType type, OperandKind kind, std::int64_t low_at, const void* weights,
                         std::int64_t from, std::byte* block, std::int64_t to) {
    if (type != ElementType::f32) {
        std::memcpy(block + to * 2, static_cast<const std::byte*>(weights) + from * 2, 2);
        return;
    }
    float value;
    std::memcpy(&value, static_cast<const std::byte*>(weights) + from * 4, 4);
    if (kind == OperandKind::tf32) {
        const float high = round_to_tf32(value), low = low_part(value);
        std::memcpy(block + to * 4, &high, 4);
        if (low_at > 0) std::memcpy(block + low_at + to * 4, &low, 4);
        return;
    }
    const std::uint16_t bits =
        kind == OperandKind::fp16 ? kernels::half_from(value).bits : kernels::bfloat16_from(value).bits;
    std::memcpy(block + to * 2, &bits, 2);
}

}  // namespace convlens::cuda

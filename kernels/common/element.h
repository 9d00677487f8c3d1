// The C++ types of the element types, and exact conversions between them, the same on both backends.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/common/element_type.h"
#include "kernels/common/host_device.h"

namespace convlens::kernels {

// 16-bit floats and booleans as distinct types, so that a conversion is chosen by its type.
struct Half {
    std::uint16_t bits;
};
struct BFloat16 {
    std::uint16_t bits;
};
struct Boolean {
    std::uint8_t value;
};

// Calls body(T{}) with the C++ type of an element type.
#ifdef __CUDACC__
#pragma nv_exec_check_disable  // `body` decides where it may run
#endif
template <class Body>
CONVLENS_HD decltype(auto) with_type(ElementType type, Body&& body) {
    switch (type) {
        case ElementType::f64:
            return body(double{});
        case ElementType::f16:
            return body(Half{});
        case ElementType::bf16:
            return body(BFloat16{});
        case ElementType::i8:
            return body(std::int8_t{});
        case ElementType::u8:
            return body(std::uint8_t{});
        case ElementType::i32:
            return body(std::int32_t{});
        case ElementType::i64:
            return body(std::int64_t{});
        case ElementType::boolean:
            return body(Boolean{});
        case ElementType::f32:
            break;
    }
    return body(float{});
}

// Without branches, so that loops over it become vector code.
CONVLENS_HD inline float to_float(Half half) {
    const std::uint32_t magnitude = half.bits & 0x7fffu;
    const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000u) << 16;
    const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    const std::uint32_t special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
}

CONVLENS_HD inline float to_float(BFloat16 value) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

// To nearest, ties to even; NaN stays NaN, too large becomes infinite.
CONVLENS_HD inline Half half_from(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000u;
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    // Below 2^-14 a half is a multiple of 2^-24, which is what adding 0.5 rounds to.
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude < 0x38800000u ? magnitude : 0u) + 0.5f) -
        0x3f000000u;
    const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    std::uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
    result = magnitude >= 0x47800000u ? 0x7c00u : result;
    result = magnitude > 0x7f800000u ? 0x7e00u : result;
    return {static_cast<std::uint16_t>(result | sign)};
}

CONVLENS_HD inline BFloat16 bfloat16_from(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    return {static_cast<std::uint16_t>(nan ? (bits >> 16) | 0x40u : rounded)};
}

// double to float so that a second rounding to 16 bits is right: the last bit of an inexact result is set.
CONVLENS_HD inline float round_to_odd(double value) {
    const float nearest = static_cast<float>(value);
    if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
    std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
    if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
    return std::bit_cast<float>(bits | 1u);
}

template <class T>
inline constexpr bool is_float_like =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// The arithmetic value of an element: 16-bit floats as float, booleans as 0 or 1.
template <class T>
CONVLENS_HD auto value_of(T element) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        return to_float(element);
    else if constexpr (std::is_same_v<T, Boolean>)
        return static_cast<std::uint8_t>(element.value != 0);
    else
        return element;
}

// Float to integer truncates toward zero and saturates, NaN gives 0; integer to a narrower integer keeps the
// low bits; to boolean: whether it differs from zero (NaN does).
template <class To, class From>
CONVLENS_HD To convert(From from) {
    const auto value = value_of(from);
    using Value = std::remove_const_t<decltype(value)>;
    if constexpr (std::is_same_v<To, Boolean>) {
        return {static_cast<std::uint8_t>(value != Value{0})};
    } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
        float narrow = 0;
        if constexpr (std::is_same_v<Value, float>)
            narrow = value;
        else if constexpr (std::is_same_v<Value, std::int64_t>)
            // Beyond 2^53 a double rounds too; both formats round such numbers at far higher bits.
            narrow = round_to_odd(static_cast<double>(value));
        else
            narrow = round_to_odd(static_cast<double>(value));
        if constexpr (std::is_same_v<To, Half>)
            return half_from(narrow);
        else
            return bfloat16_from(narrow);
    } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<Value>) {
        // 2^digits is exact in both float types; the largest integer may not be.
        constexpr auto above =
            static_cast<Value>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
        constexpr Value below = std::is_signed_v<To> ? -above : Value{0};
        if (value >= above) return std::numeric_limits<To>::max();
        if (value <= below) return std::numeric_limits<To>::min();
        return value == value ? static_cast<To>(value) : To{0};
    } else {
        return static_cast<To>(value);
    }
}

CONVLENS_HD inline double load_element(ElementType type, const void* data, std::int64_t index) {
    return with_type(
        type, [&]<class T>(T) { return static_cast<double>(value_of(static_cast<const T*>(data)[index])); });
}

CONVLENS_HD inline void store_element(ElementType type, void* data, std::int64_t index, double value) {
    with_type(type, [&]<class T>(T) { static_cast<T*>(data)[index] = convert<T>(value); });
}

}  // namespace convlens::kernels

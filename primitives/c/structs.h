// Structs of the C interface to and from values of the C++ one (inside the library only).
#pragma once

#include <cstddef>
#include <cstring>
#include <string>

#include "primitives/c/handle.h"

namespace convlens::c {

// Larger than any struct of the interface will be: what is above was never set.
inline constexpr std::size_t largest_struct = 1 << 16;

inline void refuse_size(const char* name, std::size_t size) {
    throw Error(Status::bad_parameter, std::string(name) + ": struct_size is " + std::to_string(size) +
                                           "; start from the struct's _default() function");
}

// A caller's struct, which may be of an earlier or a later version: what an earlier one lacks comes from
// `defaults`, what a later one has beyond this library's must be zero.
template <class T>
T read_struct(const T* given, T defaults, const char* name) {
    need(given, name);
    const std::size_t size = given->struct_size;
    constexpr std::size_t first_version = sizeof(T);  // of 0.1; it stays when the struct grows
    if (size < first_version || size > largest_struct) refuse_size(name, size);
    std::memcpy(&defaults, given, size < sizeof(T) ? size : sizeof(T));
    const auto* bytes = reinterpret_cast<const unsigned char*>(given);
    for (std::size_t i = sizeof(T); i < size; ++i)
        if (bytes[i] != 0)
            throw Error(Status::not_supported,
                        std::string(name) +
                            ": it uses what a later version of the library knows; this "
                            "one is " +
                            convlens_version());
    return defaults;
}

// Fills a caller's struct as far as the caller knows it; its struct_size stays.
template <class T>
void write_struct(T* place, T values, const char* name) {
    need(place, name);
    constexpr std::size_t first_version = sizeof(T);
    const std::size_t size = place->struct_size;
    if (size < first_version || size > largest_struct) refuse_size(name, size);
    values.struct_size = size;
    std::memcpy(place, &values, size < sizeof(T) ? size : sizeof(T));
}

// Values beyond an enumeration's range become its last possible one, which no check lets through.
template <class E>
E to_enum(std::int32_t value) {
    return static_cast<E>(value < 0 || value > 255 ? 255 : value);
}

inline void check_reserved(std::int32_t value, const std::string& name) {
    if (value != 0)
        throw Error(Status::bad_parameter, name + ": reserved is " + std::to_string(value) +
                                               ", it must be 0; start from the struct's _default() function");
}

Dims to_dims(const convlens_dims& dims, const std::string& name);
convlens_dims from_dims(const Dims& dims);
TensorDesc to_tensor(const convlens_tensor& tensor, const std::string& name);
convlens_tensor from_tensor(const TensorDesc& tensor);
WindowDesc to_window(const convlens_window& window);
ActivationDesc to_activation(const convlens_activation& activation);

}  // namespace convlens::c

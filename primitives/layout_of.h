// The translation of descriptors into what kernels of any backend see (inside the library only).
#pragma once

#include <cstddef>

#include "convlens/tensor.h"
#include "kernels/common/layout.h"

namespace convlens {

static_assert(static_cast<int>(DataType::boolean) == static_cast<int>(kernels::ElementType::boolean));

inline kernels::ElementType element_type_of(DataType type) { return static_cast<kernels::ElementType>(type); }

inline kernels::Layout layout_of(const TensorDesc& desc) {
    kernels::Layout layout;
    layout.type = element_type_of(desc.type);
    layout.rank = desc.rank();
    layout.offset = desc.offset;
    for (int axis = 0; axis < desc.rank(); ++axis) {
        layout.dims[static_cast<std::size_t>(axis)] = desc.dims[axis];
        layout.strides[static_cast<std::size_t>(axis)] = desc.strides[axis];
    }
    return layout;
}

// The same tensor with one axis reduced to its first index.
inline kernels::Layout without_axis(const TensorDesc& desc, int axis) {
    kernels::Layout layout = layout_of(desc);
    layout.dims[static_cast<std::size_t>(axis)] = 1;
    return layout;
}

}  // namespace convlens

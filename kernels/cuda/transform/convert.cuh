// One element from any type to any type; the types are the same for a whole launch.
#pragma once

#include "kernels/common/element.h"
#include "kernels/cuda/stream.h"

namespace convlens::cuda {

__device__ inline void convert_element(ElementType from, const void* src, std::int64_t i, ElementType to,
                                       void* dst, std::int64_t j) {
    kernels::with_type(from, [&]<class From>(From) {
        const From value = static_cast<const From*>(src)[i];
        kernels::with_type(to, [&]<class To>(To) { static_cast<To*>(dst)[j] = kernels::convert<To>(value); });
    });
}

}  // namespace convlens::cuda

// One element from any type to any type; the types are the same for a whole launch.
#pragma once

#include "kernels/common/element.h"
#include "kernels/cuda/stream.h"

namespace convlens::cuda {

// Elements [i[k]] of src to [j[k]] of dst for k < count.
template <int most>
__device__ __forceinline__ void convert_elements(ElementType from, const void* src,
                                                 const std::int64_t (&i)[most], ElementType to, void* dst,
                                                 const std::int64_t (&j)[most], int count) {
    kernels::with_type(from, [&]<class From>(From) {
        From value[most];
#pragma unroll
        for (int k = 0; k < most; ++k)
            if (k < count) value[k] = static_cast<const From*>(src)[i[k]];
        kernels::with_type(to, [&]<class To>(To) {
#pragma unroll
            for (int k = 0; k < most; ++k)
                if (k < count) static_cast<To*>(dst)[j[k]] = kernels::convert<To>(value[k]);
        });
    });
}

__device__ __forceinline__ void convert_element(ElementType from, const void* src, std::int64_t i,
                                                ElementType to, void* dst, std::int64_t j) {
    convert_elements<1>(from, src, {i}, to, dst, {j}, 1);
}

}  // namespace convlens::cuda

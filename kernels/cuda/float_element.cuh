// The floating-point element types on the device: 16-bit types are computed in f32, f64 in f64.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

namespace convlens::cuda {

template <class T>
using ArithmeticOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

__device__ __forceinline__ float load_float(float x) { return x; }
__device__ __forceinline__ double load_float(double x) { return x; }
__device__ __forceinline__ float load_float(__half x) { return __half2float(x); }
__device__ __forceinline__ float load_float(__nv_bfloat16 x) { return __bfloat162float(x); }

// To nearest, ties to even.
template <class T>
__device__ __forceinline__ T store_float(ArithmeticOf<T> x) {
    if constexpr (std::is_same_v<T, __half>)
        return __float2half_rn(x);
    else if constexpr (std::is_same_v<T, __nv_bfloat16>)
        return __float2bfloat16_rn(x);
    else
        return x;
}

}  // namespace convlens::cuda

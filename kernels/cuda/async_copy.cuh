// Copies from global to shared memory that don't pass through registers (compute capability 8.0 and later;
// before, plain copies, which are done when the function returns).
#pragma once

#include <cstdint>

namespace convlens::cuda {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// To a shared address, or to a pointer to shared memory; the former is computed in 32 bits.
// 16 bytes between 16-byte aligned addresses; zeros where not `valid` (src is not read then).
__device__ __forceinline__ void copy_async_16(std::uint32_t shared, const void* src, bool valid = true) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared), "l"(src),
                 "r"(valid ? 16 : 0));
#else
    *static_cast<float4*>(__cvta_shared_to_generic(shared)) =
        valid ? *static_cast<const float4*>(src) : float4{0, 0, 0, 0};
#endif
}

__device__ __forceinline__ void copy_async_4(std::uint32_t shared, const void* src, bool valid = true) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\n" ::"r"(shared), "l"(src),
                 "r"(valid ? 4 : 0));
#else
    *static_cast<float*>(__cvta_shared_to_generic(shared)) = valid ? *static_cast<const float*>(src) : 0.0f;
#endif
}

__device__ __forceinline__ void copy_async_16(void* shared, const void* src, bool valid = true) {
    copy_async_16(shared_address(shared), src, valid);
}
__device__ __forceinline__ void copy_async_4(void* shared, const void* src, bool valid = true) {
    copy_async_4(shared_address(shared), src, valid);
}

// Ends a group of copies; wait_copies<n> returns when at most the last n groups are under way. What other
// threads copied is seen after a barrier only.
__device__ __forceinline__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;\n" ::);
#endif
}
template <int n>
__device__ __forceinline__ void wait_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;\n" ::"n"(n) : "memory");
#endif
}

}  // namespace convlens::cuda

// Kernels that are set up while the kernel before them in the stream still ends (compute capability 9.0 and
// later).
//
// A kernel started so must call wait_for_previous_kernel() before it touches any memory; then all that was
// handed over before is done and seen, as ever. let_next_kernel_start() allows the next kernel to be set up
// once every block has called it.
#pragma once

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

__device__ __forceinline__ void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// `early`: whether the device can do it (traits.major >= 9); otherwise a plain launch.
template <class... Args>
void launch_dependent(bool early, void (*kernel)(Args...), dim3 grid, dim3 block, std::size_t shared_bytes,
                      Stream stream, Args... args) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    cudaLaunchKernelEx(&config, kernel, args...);
}

}  // namespace convlens::cuda

// Launches that may begin before the kernel before them in the stream has ended (compute capability 9.0 and
// later; plain launches before): its last blocks then hide the cost of the launch and of what needs no
// earlier result.
//
// A kernel launched so calls wait_for_earlier() before it reads anything that an earlier kernel wrote
// (weights and bias are not), and before it writes anything. let_next_begin() after that allows the same to
// the next kernel; without it the next begins when this one ends.
#pragma once

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

__device__ __forceinline__ void wait_for_earlier() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Whether this build's code for the current device has these instructions; costs a call of the runtime.
bool has_overlap();

// `cluster`: blocks of a cluster, 1 for none.
template <class... Params, class... Args>
void launch_overlapped(void (*kernel)(Params...), bool overlap, dim3 grid, dim3 block,
                       std::size_t shared_bytes, unsigned cluster, Stream stream, const Args&... args) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    cudaLaunchAttribute attributes[2]{};
    config.attrs = attributes;
    if (overlap) {
        attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (cluster > 1) {
        attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
        attributes[config.numAttrs++].val.clusterDim = {cluster, 1, 1};
    }
    cudaLaunchKernelEx(&config, kernel, args...);
}

}  // namespace convlens::cuda

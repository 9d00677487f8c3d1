// Clusters of blocks that read each other's shared memory (compute capability 9.0 and later; empty before),
// and launches of them.
#pragma once

#include <cstdint>

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/dependent_launch.cuh"

namespace convlens::cuda {

__device__ __forceinline__ void synchronize_cluster() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n" ::
                     : "memory");
#endif
}

// What lies at `shared` in the block with that rank.
__device__ __forceinline__ float4 load_of_rank(const float* shared, int rank) {
    float4 value{0, 0, 0, 0};
#if __CUDA_ARCH__ >= 900
    std::uint32_t address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;\n" : "=r"(address) : "r"(shared_address(shared)), "r"(rank));
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];\n"
                 : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
                 : "r"(address)
                 : "memory");
#endif
    return value;
}

// As launch_dependent, in clusters of that many blocks along x (1: none).
template <class... Args>
void launch_clusters(bool early, unsigned cluster, void (*kernel)(Args...), dim3 grid, dim3 block,
                     std::size_t shared_bytes, Stream stream, Args... args) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    cudaLaunchAttribute attributes[2]{};
    config.attrs = attributes;
    if (early) {
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

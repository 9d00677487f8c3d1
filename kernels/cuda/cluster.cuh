// Clusters of blocks that read each other's shared memory (compute capability 9.0 and later; empty before).
#pragma once

#include <cstdint>

#include "kernels/cuda/async_copy.cuh"

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

}  // namespace convlens::cuda

#include "kernels/cuda/gather/gather.h"

namespace convlens::cuda {
namespace {

__global__ void gather(const float* src, const std::int64_t* offsets, int count, float* out) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) out[i] = src[offsets[i]];
}

}  // namespace

void gather_floats(const float* src, const std::int64_t* offsets, int count, float* out, Stream stream) {
    if (count <= 0) return;
    constexpr int threads = 256;
    gather<<<(count + threads - 1) / threads, threads, 0, stream>>>(src, offsets, count, out);
}

}  // namespace convlens::cuda

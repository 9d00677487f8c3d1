#include "kernels/cuda/convolution/mma_kernel.cuh"

namespace convlens::cuda::mma {

void launch_fp16(const Args& args, int tile, bool vector, unsigned grid_x, unsigned groups, Stream stream) {
    launch_math<Rounded16<false>>(args, tile, vector, grid_x, groups, stream);
}

}  // namespace convlens::cuda::mma

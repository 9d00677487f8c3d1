#include "kernels/cuda/convolution/mma_kernel.cuh"

namespace convlens::cuda::mma {

void launch_bfloat16(const Args& args, int tile, bool vector, unsigned grid_x, unsigned groups,
                     Stream stream) {
    launch_math<Own16<true>>(args, tile, vector, grid_x, groups, stream);
}

}  // namespace convlens::cuda::mma

#include "kernels/cuda/convolution/wgmma_kernel.cuh"

namespace convlens::cuda::wgmma {

void launch_bfloat16(const Args& args, const CUtensorMap& map, int tile, unsigned grid_x, Stream stream) {
    launch_math<Own16<true>>(args, map, tile, grid_x, stream);
}

}  // namespace convlens::cuda::wgmma

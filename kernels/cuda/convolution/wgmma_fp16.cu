#include "kernels/cuda/convolution/wgmma_kernel.cuh"

namespace convlens::cuda::wgmma {

void launch_fp16(const Args& args, const CUtensorMap& map, int tile, unsigned grid_x, Stream stream) {
    launch_math<Rounded16<false>>(args, map, tile, grid_x, stream);
}

}  // namespace convlens::cuda::wgmma

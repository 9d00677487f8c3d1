#include "kernels/cuda/convolution/wgmma_kernel.cuh"

namespace convlens::cuda::wgmma {

void launch_split_tf32(const Args& args, const CUtensorMap& map, int tile, unsigned grid_x, Stream stream) {
    launch_math<SplitTf32>(args, map, tile, grid_x, stream);
}

}  // namespace convlens::cuda::wgmma

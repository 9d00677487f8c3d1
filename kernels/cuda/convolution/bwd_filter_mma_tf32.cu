#include "kernels/cuda/convolution/bwd_filter_kernel.cuh"

namespace convlens::cuda::filter_gradient {

void launch_mma_tf32(const Args& a, int outputs, unsigned blocks, Stream stream) {
    launch_warp_matrix<Math<float, Form::tf32, Form::tf32>, Product::tf32>(a, outputs, blocks, stream);
}

}  // namespace convlens::cuda::filter_gradient

#include "kernels/cuda/convolution/bwd_filter_wgmma.cuh"

namespace convlens::cuda::filter_gradient {

void launch_wgmma_tf32(const Args& a, int outputs, unsigned blocks, Stream stream) {
    launch_group_matrix<Math<float, Form::tf32, Form::tf32>, Product::tf32>(a, outputs, blocks, stream);
}

}  // namespace convlens::cuda::filter_gradient

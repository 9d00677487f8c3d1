#include "kernels/cuda/convolution/bwd_filter_kernel.cuh"

namespace convlens::cuda::filter_gradient {

void launch_mma_fp16(const Args& a, ElementType type, int outputs, unsigned blocks, Stream stream) {
    if (type == ElementType::f32)
        launch_warp_matrix<Math<float, Form::fp16, Form::fp16>, Product::fp16>(a, outputs, blocks, stream);
    else
        launch_warp_matrix<Math<__half, Form::fp16, Form::fp16>, Product::fp16>(a, outputs, blocks, stream);
}

}  // namespace convlens::cuda::filter_gradient

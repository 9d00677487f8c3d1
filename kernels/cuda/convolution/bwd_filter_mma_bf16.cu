#include "kernels/cuda/convolution/bwd_filter_kernel.cuh"

namespace convlens::cuda::filter_gradient {

void launch_mma_bf16(const Args& a, ElementType type, int outputs, unsigned blocks, Stream stream) {
    if (type == ElementType::f32)
        launch_warp_matrix<Math<float, Form::bf16, Form::bf16>, Product::bf16>(a, outputs, blocks, stream);
    else
        launch_warp_matrix<Math<__nv_bfloat16, Form::bf16, Form::bf16>, Product::bf16>(a, outputs, blocks,
                                                                                       stream);
}

}  // namespace convlens::cuda::filter_gradient

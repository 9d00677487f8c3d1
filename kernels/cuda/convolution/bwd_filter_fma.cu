#include "kernels/cuda/convolution/bwd_filter_kernel.cuh"

namespace convlens::cuda::filter_gradient {
namespace {

template <class Data>
void launch(const Args& a, unsigned blocks, Stream stream) {
    launch_shape<Shape<MultiplyAdd<Data>, 64, false>>(a, blocks, stream);
}

}  // namespace

void launch_fma(const Args& a, ElementType type, unsigned blocks, Stream stream) {
    if (type == ElementType::f16)
        launch<__half>(a, blocks, stream);
    else if (type == ElementType::bf16)
        launch<__nv_bfloat16>(a, blocks, stream);
    else if (both_quads(a))
        launch_shape<Shape<MultiplyAdd<float>, 64, true>>(a, blocks, stream);
    else
        launch<float>(a, blocks, stream);
}

}  // namespace convlens::cuda::filter_gradient

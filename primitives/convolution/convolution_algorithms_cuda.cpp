// The CUDA convolution algorithms, best first, the naive reference last.
#include <array>

#include "primitives/convolution/rows_cuda.h"
#include "primitives/device.h"

namespace convlens {

template <>
std::span<const Algorithm<ConvolutionProblem>> cuda_algorithms() {
    namespace rows = cuda_rows::convolution;
    static const std::array list = {
        // depthwise
        // winograd_4x4
        // winograd_2x2
        // wgmma_fp16
        // wgmma_bf16
        // wgmma_tf32
        // wgmma_split_tf32
        // implicit_gemm_fp16
        // implicit_gemm_bf16
        // implicit_gemm_tf32
        // implicit_gemm_split_tf32
        rows::direct(),
    };
    return list;
}

}  // namespace convlens

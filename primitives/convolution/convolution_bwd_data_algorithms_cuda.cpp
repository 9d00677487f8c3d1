// The CUDA data gradient algorithms, best first, the naive reference last: the forward rows, by phases of the
// strides.
#include <array>

#include "primitives/convolution/bwd_data_phases.h"
#include "primitives/convolution/rows_cuda.h"
#include "primitives/device.h"

namespace convlens {

template <>
std::span<const Algorithm<ConvolutionBwdDataProblem>> cuda_algorithms() {
    namespace rows = cuda_rows::convolution;
    static const std::array list = {
        bwd_data_by<rows::depthwise>(),
        bwd_data_by<rows::fft>(),
        bwd_data_by<rows::fft_tiling>(),
        bwd_data_by<rows::wgmma_fp16>(),
        bwd_data_by<rows::wgmma_bf16>(),
        bwd_data_by<rows::wgmma_tf32>(),
        bwd_data_by<rows::implicit_gemm_fp16>(),
        bwd_data_by<rows::implicit_gemm_bf16>(),
        bwd_data_by<rows::implicit_gemm_tf32>(),
        bwd_data_by<rows::winograd_4x4>(),
        bwd_data_by<rows::winograd_2x2>(),
        bwd_data_by<rows::winograd_2x2_5x5>(),
        bwd_data_by<rows::wgmma_split_tf32>(),
        bwd_data_by<rows::implicit_gemm_split_tf32>(),
        bwd_data_by<rows::pointwise>(),
        bwd_data_by<rows::implicit_precomp_gemm>(),
        bwd_data_by<rows::implicit_gemm>(),
        bwd_data_by<rows::im2col_gemm>(),
        bwd_data_by<rows::direct>(),
    };
    return list;
}

}  // namespace convlens

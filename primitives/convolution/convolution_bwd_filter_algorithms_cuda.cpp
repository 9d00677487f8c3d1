// The CUDA filter gradient algorithms, best first, the naive reference last.
#include <array>

#include "primitives/convolution/rows_cuda.h"
#include "primitives/device.h"

namespace convlens {

template <>
std::span<const Algorithm<ConvolutionBwdFilterProblem>> cuda_algorithms() {
    namespace rows = cuda_rows::convolution;
    static const std::array list = {
        // Large windows: preferred only where they beat the matrix units.
        rows::bwd_filter_fft(),
        rows::bwd_filter_fft_tiling(),
        rows::bwd_filter_depthwise(),
        // Where less than fp32 is asked for, nothing beats the tensor core.
        rows::bwd_filter_wgmma_fp16(),
        rows::bwd_filter_wgmma_bf16(),
        rows::bwd_filter_wgmma_scaled_fp16(),
        rows::bwd_filter_wgmma_tf32(),
        rows::bwd_filter_implicit_gemm_fp16(),
        rows::bwd_filter_implicit_gemm_bf16(),
        rows::bwd_filter_implicit_gemm_tf32(),
        rows::bwd_filter_wgmma_split_fp16(),
        rows::bwd_filter_wgmma_split_tf32(),
        rows::bwd_filter_implicit_gemm_split_tf32(),
        rows::bwd_filter_pointwise(),
        rows::bwd_filter_implicit_precomp_gemm(),
        rows::bwd_filter_implicit_gemm(),
        // Writes and reads the whole matrix: more traffic than the implicit forms, never less time.
        rows::bwd_filter_im2col_gemm(),
        // The only row whose results differ from run to run.
        rows::bwd_filter_implicit_gemm_atomic(),
        rows::bwd_filter_direct(),
    };
    return list;
}

}  // namespace convlens

// The CUDA convolution algorithms, best first, the naive reference last.
#include <array>

#include "primitives/convolution/rows_cuda.h"
#include "primitives/device.h"

namespace convlens {

template <>
std::span<const Algorithm<ConvolutionProblem>> cuda_algorithms() {
    namespace rows = cuda_rows::convolution;
    static const std::array list = {
        rows::depthwise(),
        // Large windows: preferred only where they beat the matrix units in TF32.
        rows::fft(),
        rows::fft_tiling(),
        // Where less than fp32 is asked for, nothing else beats the tensor core.
        rows::wgmma_fp16(),
        rows::wgmma_bf16(),
        rows::wgmma_tf32(),
        rows::implicit_gemm_fp16(),
        rows::implicit_gemm_bf16(),
        rows::implicit_gemm_tf32(),
        rows::winograd_4x4(),
        rows::winograd_2x2(),
        rows::winograd_2x2_5x5(),
        rows::wgmma_split_tf32(),
        rows::implicit_gemm_split_tf32(),
        // A window of one cell is a product on the tensor itself.
        rows::pointwise(),
        // A table of offsets is read more quickly than they are computed, where the run is long enough to
        // wait for it.
        rows::implicit_precomp_gemm(),
        rows::implicit_gemm(),
        // Writes and reads the whole matrix: more traffic than the implicit forms, never less time.
        rows::im2col_gemm(),
        rows::direct(),
    };
    return list;
}

}  // namespace convlens

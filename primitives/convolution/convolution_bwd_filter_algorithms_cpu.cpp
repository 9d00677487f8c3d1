// The processor's filter gradient algorithms, best first, the naive reference last.
#include <array>

#include "primitives/convolution/bwd_filter_in_f32_cpu.h"
#include "primitives/convolution/rows_cpu.h"
#include "primitives/device.h"

namespace convlens {

template <>
std::span<const Algorithm<ConvolutionBwdFilterProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<ConvolutionBwdFilterProblem>();
    namespace rows = convolution_rows;
    static const std::array list = {
        rows::bwd_filter_fft(),
        rows::bwd_filter_fft_tiling(),
        also_16_bit<rows::bwd_filter_depthwise>(),
        // Vectors lie along the longer of C and K, and nothing is packed where few tiles read it.
        rows::bwd_filter_pointwise(),
        rows::bwd_filter_winograd_4x4(),
        rows::bwd_filter_winograd_2x2(),
        rows::bwd_filter_winograd_2x2_5x5(),
        // The table of places is small and as quick as computing them, which is left for lengths beyond it.
        rows::bwd_filter_implicit_precomp_gemm(),
        rows::bwd_filter_implicit_gemm(),
        // Writes and reads the whole matrix of each image: more traffic than the implicit forms.
        also_16_bit<rows::bwd_filter_im2col_gemm>(),
        rows::bwd_filter_direct(),
    };
    return list;
}

}  // namespace convlens

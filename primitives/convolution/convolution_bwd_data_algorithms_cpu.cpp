// The processor's data gradient algorithms, best first, the naive reference last: the forward rows, by phases
// of the strides, but for im2col_gemm.
#include <array>

#include "primitives/convolution/bwd_data_phases.h"
#include "primitives/convolution/in_f32_cpu.h"
#include "primitives/convolution/rows_cpu.h"
#include "primitives/device.h"

namespace convlens {

template <>
std::span<const Algorithm<ConvolutionBwdDataProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<ConvolutionBwdDataProblem>();
    namespace rows = convolution_rows;
    static const std::array list = {
        bwd_data_by<also_16_bit<rows::depthwise>>(),
        bwd_data_by<also_16_bit<rows::pointwise>>(),
        // No phases, and full lanes where there are few channels; else more traffic than the implicit forms.
        rows::bwd_data_im2col_gemm(),
        bwd_data_by<also_16_bit<rows::winograd_4x4>>(),
        bwd_data_by<also_16_bit<rows::winograd_2x2>>(),
        bwd_data_by<also_16_bit<rows::winograd_2x2_5x5>>(),
        bwd_data_by<also_16_bit<rows::fft>>(),
        bwd_data_by<also_16_bit<rows::fft_tiling>>(),
        bwd_data_by<also_16_bit<rows::implicit_precomp_gemm>>(),
        bwd_data_by<also_16_bit<rows::implicit_gemm>>(),
        bwd_data_by<rows::direct>(),
    };
    return list;
}

}  // namespace convlens

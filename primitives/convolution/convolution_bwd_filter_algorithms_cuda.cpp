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
        rows::bwd_filter_direct(),
    };
    return list;
}

}  // namespace convlens

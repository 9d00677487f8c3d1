// The CUDA filter gradient algorithms, best first, the naive reference last.
#include <array>

#include "primitives/convolution/rows_cuda.h"
#include "primitives/device.h"

namespace convlens {

template <>
std::span<const Algorithm<ConvolutionBwdFilterProblem>> cuda_algorithms() {
    namespace rows = cuda_rows::convolution;
    static const std::array list = {
        rows::bwd_filter_direct(),
    };
    return list;
}

}  // namespace convlens

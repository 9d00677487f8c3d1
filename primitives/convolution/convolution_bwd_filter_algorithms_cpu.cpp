// The processor's filter gradient algorithms, best first, the naive reference last.
#include <array>

#include "primitives/convolution/rows_cpu.h"
#include "primitives/device.h"

namespace convlens {

template <>
std::span<const Algorithm<ConvolutionBwdFilterProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<ConvolutionBwdFilterProblem>();
    namespace rows = convolution_rows;
    static const std::array list = {
        rows::bwd_filter_direct(),
    };
    return list;
}

}  // namespace convlens

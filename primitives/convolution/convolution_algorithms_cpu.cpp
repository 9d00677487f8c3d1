// The processor's convolution algorithms, best first, the naive reference last.
#include <array>

#include "primitives/algorithm.h"
#include "primitives/convolution/rows_cpu.h"

namespace convlens {

template <>
std::span<const Algorithm<ConvolutionProblem>> algorithms(Backend backend) {
    if (backend != Backend::cpu) return {};
    static const std::array rows = {
        convolution_rows::depthwise(),
        convolution_rows::direct(),
    };
    return rows;
}

}  // namespace convlens

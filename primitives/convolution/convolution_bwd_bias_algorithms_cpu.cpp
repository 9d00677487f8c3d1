// The processor's bias gradient, one row.
#include <array>

#include "kernels/cpu/convolution/bwd_bias.h"
#include "primitives/convolution/bwd_params.h"
#include "primitives/device.h"
#include "primitives/kernel_plan.h"

namespace convlens {

template <>
std::span<const Algorithm<ConvolutionBwdBiasProblem>> algorithms(Backend backend) {
    using P = ConvolutionBwdBiasProblem;
    static constexpr std::array<Algorithm<P>, 1> rows = {
        {{"direct", ErrorClass::exact_order, true, reject_unless_floating_point_data<P>, always<P>,
          make_plain_plan<P, bwd_bias_params, cpu::convolution_bwd_bias_direct>}}};
    if (backend == Backend::cuda) return cuda_algorithms<P>();
    return rows;
}

}  // namespace convlens

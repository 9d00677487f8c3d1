// The CUDA bias gradient, one row.
#include <array>

#include "kernels/cuda/convolution/bwd_filter_direct.h"
#include "primitives/convolution/bwd_params.h"
#include "primitives/cuda/kernel_plan.h"
#include "primitives/device.h"

namespace convlens {

template <>
std::span<const Algorithm<ConvolutionBwdBiasProblem>> cuda_algorithms() {
    using P = ConvolutionBwdBiasProblem;
    static constexpr std::array<Algorithm<P>, 1> rows = {
        {{"direct", ErrorClass::exact_order, true, reject_unless_floating_point_data<P>, always<P>,
          cuda_rows::make_plain_plan<P, bwd_bias_params, cuda::convolution_bwd_bias_direct>}}};
    return rows;
}

}  // namespace convlens

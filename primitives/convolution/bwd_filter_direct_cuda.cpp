#include "kernels/cuda/convolution/bwd_filter_direct.h"

#include "primitives/convolution/bwd_params.h"
#include "primitives/convolution/rows_cuda.h"
#include "primitives/cuda/kernel_plan.h"

namespace convlens::cuda_rows::convolution {

BwdFilterRow bwd_filter_direct() {
    using P = ConvolutionBwdFilterProblem;
    return {
        "direct",  ErrorClass::exact_order,
        true,      reject_unless_floating_point_data<P>,
        always<P>, cuda_rows::make_plain_plan<P, bwd_filter_params, cuda::convolution_bwd_filter_direct, 2>};
}

}  // namespace convlens::cuda_rows::convolution

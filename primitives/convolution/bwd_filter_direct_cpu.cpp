#include "kernels/cpu/convolution/bwd_filter_direct.h"

#include "primitives/convolution/bwd_params.h"
#include "primitives/convolution/rows_cpu.h"
#include "primitives/kernel_plan.h"

namespace convlens::convolution_rows {

BwdFilterRow bwd_filter_direct() {
    using P = ConvolutionBwdFilterProblem;
    return {"direct",  ErrorClass::exact_order,
            true,      reject_unless_floating_point_data<P>,
            always<P>, make_plain_plan<P, bwd_filter_params, cpu::convolution_bwd_filter_direct, 2>};
}

}  // namespace convlens::convolution_rows

#include "kernels/cuda/lrn/lrn.h"
#include "primitives/cuda/kernel_plan.h"
#include "primitives/device.h"
#include "primitives/lrn/lrn_params.h"

namespace convlens {
namespace {

using cuda_rows::make_plain_plan;
constexpr auto list =
    blocks_and_direct<LrnProblem>(make_plain_plan<LrnProblem, lrn_blocks_of, cuda::lrn_blocks>,
                                  make_plain_plan<LrnProblem, lrn_params_of, cuda::lrn_direct>);

}  // namespace

template <>
std::span<const Algorithm<LrnProblem>> cuda_algorithms() {
    return list;
}

}  // namespace convlens

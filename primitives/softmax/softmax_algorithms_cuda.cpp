#include "kernels/cuda/softmax/softmax.h"
#include "primitives/cuda/kernel_plan.h"
#include "primitives/device.h"
#include "primitives/softmax/softmax_params.h"

namespace convlens {
namespace {

using cuda_rows::make_plain_plan;
constexpr auto list = blocks_and_direct<SoftmaxProblem>(
    make_plain_plan<SoftmaxProblem, softmax_blocks_of, cuda::softmax_blocks>,
    make_plain_plan<SoftmaxProblem, softmax_params_of, cuda::softmax_direct>);

}  // namespace

template <>
std::span<const Algorithm<SoftmaxProblem>> cuda_algorithms() {
    return list;
}

}  // namespace convlens

#include "primitives/softmax/softmax_params.h"

#include "kernels/cpu/softmax/softmax.h"
#include "primitives/device.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

constexpr auto list = blocks_and_direct<SoftmaxProblem>(
    make_plain_plan<SoftmaxProblem, softmax_blocks_of, cpu::softmax_blocks>,
    make_plain_plan<SoftmaxProblem, softmax_params_of, cpu::softmax_direct>);

}  // namespace

template <>
std::span<const Algorithm<SoftmaxProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<SoftmaxProblem>();
    return list;
}

}  // namespace convlens

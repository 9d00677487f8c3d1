#include "primitives/activation/activation_params.h"

#include "kernels/cpu/activation/activation.h"
#include "primitives/device.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

constexpr auto list = blocks_and_direct<ActivationProblem>(
    make_plain_plan<ActivationProblem, activation_blocks_of, cpu::activation_blocks>,
    make_plain_plan<ActivationProblem, activation_params_of, cpu::activation_direct>);

}  // namespace

template <>
std::span<const Algorithm<ActivationProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<ActivationProblem>();
    return list;
}

}  // namespace convlens

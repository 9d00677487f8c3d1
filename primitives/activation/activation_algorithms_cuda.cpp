#include "kernels/cuda/activation/activation.h"
#include "primitives/activation/activation_params.h"
#include "primitives/cuda/kernel_plan.h"
#include "primitives/device.h"

namespace convlens {
namespace {

using cuda_rows::make_plain_plan;
constexpr auto list = blocks_and_direct<ActivationProblem>(
    make_plain_plan<ActivationProblem, activation_blocks_of, cuda::activation_blocks>,
    make_plain_plan<ActivationProblem, activation_params_of, cuda::activation_direct>);

}  // namespace

template <>
std::span<const Algorithm<ActivationProblem>> cuda_algorithms() {
    return list;
}

}  // namespace convlens

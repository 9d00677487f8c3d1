#include "primitives/elementwise/elementwise_params.h"

#include "kernels/cpu/elementwise/elementwise.h"
#include "primitives/device.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

constexpr auto list = blocks_and_direct<ElementwiseProblem>(
    make_plain_plan<ElementwiseProblem, elementwise_blocks_of, cpu::elementwise_blocks, 2>,
    make_plain_plan<ElementwiseProblem, elementwise_params_of, cpu::elementwise_direct, 2>);

}  // namespace

template <>
std::span<const Algorithm<ElementwiseProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<ElementwiseProblem>();
    return list;
}

}  // namespace convlens

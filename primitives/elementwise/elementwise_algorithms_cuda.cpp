#include "kernels/cuda/elementwise/elementwise.h"
#include "primitives/cuda/kernel_plan.h"
#include "primitives/device.h"
#include "primitives/elementwise/elementwise_params.h"

namespace convlens {
namespace {

using cuda_rows::make_plain_plan;
constexpr auto list = blocks_and_direct<ElementwiseProblem>(
    make_plain_plan<ElementwiseProblem, elementwise_blocks_of, cuda::elementwise_blocks, 2>,
    make_plain_plan<ElementwiseProblem, elementwise_params_of, cuda::elementwise_direct, 2>);

}  // namespace

template <>
std::span<const Algorithm<ElementwiseProblem>> cuda_algorithms() {
    return list;
}

}  // namespace convlens

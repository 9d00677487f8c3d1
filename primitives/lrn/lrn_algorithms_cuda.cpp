#include "kernels/cuda/lrn/lrn.h"
#include "primitives/cuda/kernel_plan.h"
#include "primitives/device.h"
#include "primitives/lrn/lrn_params.h"

namespace convlens {
namespace {

using cuda_rows::make_plain_plan;
std::string reject_blocks(const LrnProblem& problem, const Context& context) {
    if (problem.src.dims[1] > cuda::lrn_most_channels)
        return "more than " + std::to_string(cuda::lrn_most_channels) + " channels";
    return reject_unless_f32(problem, context);
}

constexpr auto list = blocks_and_direct<LrnProblem>(
    make_plain_plan<LrnProblem, lrn_blocks_of, cuda::lrn_blocks>,
    make_plain_plan<LrnProblem, lrn_params_of, cuda::lrn_direct>, reject_blocks);

}  // namespace

template <>
std::span<const Algorithm<LrnProblem>> cuda_algorithms() {
    return list;
}

}  // namespace convlens

#include "primitives/lrn/lrn_params.h"

#include "kernels/cpu/lrn/lrn.h"
#include "primitives/device.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

std::string reject_blocks(const LrnProblem& problem, const Context& context) {
    if (problem.size > cpu::lrn_strip)
        return "a window of more than " + std::to_string(cpu::lrn_strip) + " channels";
    return reject_unless_f32(problem, context);
}

constexpr auto list =
    blocks_and_direct<LrnProblem>(make_plain_plan<LrnProblem, lrn_blocks_of, cpu::lrn_blocks>,
                                  make_plain_plan<LrnProblem, lrn_params_of, cpu::lrn_direct>, reject_blocks);

}  // namespace

template <>
std::span<const Algorithm<LrnProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<LrnProblem>();
    return list;
}

}  // namespace convlens

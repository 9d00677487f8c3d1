#include <array>

#include "kernels/cpu/activation/activation.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

cpu::ActivationParams params_of(const ActivationProblem& problem) {
    return {layout_of(problem.src), layout_of(problem.dst), kernel_activation(problem.activation)};
}

void run_direct(const cpu::ActivationParams& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::activation_direct(params, args.sources[0], args.dst, pool);
}

constexpr std::array<Algorithm<ActivationProblem>, 1> list = {{
    {"direct", ErrorClass::exact_order, true, reject_unless_floating_point<ActivationProblem>,
     always<ActivationProblem>, make_kernel_plan<ActivationProblem, params_of, run_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<ActivationProblem>> algorithms(Backend backend) {
    if (backend != Backend::cpu) return {};
    return list;
}

}  // namespace convlens

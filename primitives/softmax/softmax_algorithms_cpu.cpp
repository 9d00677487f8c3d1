#include <array>

#include "kernels/cpu/softmax/softmax.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

cpu::SoftmaxParams params_of(const SoftmaxProblem& problem) {
    return {layout_of(problem.src), layout_of(problem.dst), problem.axis, problem.logarithm};
}

void run_direct(const cpu::SoftmaxParams& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::softmax_direct(params, args.sources[0], args.dst, pool);
}

constexpr std::array<Algorithm<SoftmaxProblem>, 1> list = {{
    {"direct", ErrorClass::exact_order, true, reject_unless_floating_point<SoftmaxProblem>,
     always<SoftmaxProblem>, make_kernel_plan<SoftmaxProblem, params_of, run_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<SoftmaxProblem>> algorithms(Backend backend) {
    if (backend != Backend::cpu) return {};
    return list;
}

}  // namespace convlens

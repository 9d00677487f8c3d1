#include <array>

#include "kernels/cpu/lrn/lrn.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

cpu::LrnParams params_of(const LrnProblem& problem) {
    return {layout_of(problem.src), layout_of(problem.dst), problem.size,
            problem.alpha,          problem.beta,           problem.k};
}

void run_direct(const cpu::LrnParams& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::lrn_direct(params, args.sources[0], args.dst, pool);
}

constexpr std::array<Algorithm<LrnProblem>, 1> list = {{
    {"direct", ErrorClass::exact_order, true, reject_unless_floating_point<LrnProblem>, always<LrnProblem>,
     make_kernel_plan<LrnProblem, params_of, run_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<LrnProblem>> algorithms(Backend backend) {
    if (backend != Backend::cpu) return {};
    return list;
}

}  // namespace convlens

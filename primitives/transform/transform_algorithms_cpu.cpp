#include <array>

#include "kernels/cpu/transform/transform.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

cpu::TransformParams params_of(const TransformProblem& problem) {
    cpu::TransformParams params;
    params.src = layout_of(problem.src);
    params.dst = layout_of(problem.dst);
    bool padded = false;
    for (int axis = 0; axis < problem.pads_begin.rank(); ++axis) {
        params.pads_begin[static_cast<std::size_t>(axis)] = problem.pads_begin[axis];
        padded = padded || problem.pads_begin[axis] != 0 || problem.pads_end[axis] != 0;
    }
    if (padded) {
        constexpr cpu::Padding modes[] = {cpu::Padding::constant, cpu::Padding::edge, cpu::Padding::reflect};
        params.padding = modes[static_cast<std::size_t>(problem.pad_mode)];
    }
    params.pad_value = problem.pad_value;
    return params;
}

void run_direct(const cpu::TransformParams& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::transform_direct(params, args.sources[0], args.dst, pool);
}

constexpr std::array<Algorithm<TransformProblem>, 1> list = {{
    {"direct", ErrorClass::exact_order, true, never_rejects<TransformProblem>, always<TransformProblem>,
     make_kernel_plan<TransformProblem, params_of, run_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<TransformProblem>> algorithms(Backend backend) {
    if (backend != Backend::cpu) return {};
    return list;
}

}  // namespace convlens

#include <array>

#include "kernels/cpu/elementwise/elementwise.h"
#include "primitives/kernel_plan.h"

namespace convlens {
namespace {

// The operand with dims of dst: broadcast axes get stride 0.
cpu::Layout broadcast(const TensorDesc& operand, const TensorDesc& dst) {
    cpu::Layout layout = layout_of(operand);
    for (int axis = 0; axis < dst.rank(); ++axis) {
        if (operand.dims[axis] == 1) layout.strides[static_cast<std::size_t>(axis)] = 0;
        layout.dims[static_cast<std::size_t>(axis)] = dst.dims[axis];
    }
    return layout;
}

cpu::ElementwiseParams params_of(const ElementwiseProblem& problem) {
    cpu::ElementwiseParams params;
    params.op = static_cast<cpu::ElementwiseOp>(problem.kind);
    params.a = broadcast(problem.a, problem.dst);
    params.dst = layout_of(problem.dst);
    params.b = is_unary(problem.kind) ? params.a : broadcast(problem.b, problem.dst);
    params.activation = kernel_activation(problem.activation);
    return params;
}

static_assert(static_cast<int>(ElementwiseKind::cos) == static_cast<int>(cpu::ElementwiseOp::cos));
static_assert(static_cast<int>(ElementwiseKind::prelu) == static_cast<int>(cpu::ElementwiseOp::prelu));

void run_direct(const cpu::ElementwiseParams& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::elementwise_direct(params, args.sources[0], args.sources[1], args.dst, pool);
}

constexpr std::array<Algorithm<ElementwiseProblem>, 1> list = {{
    {"direct", ErrorClass::exact_order, true, reject_unless_floating_point<ElementwiseProblem>,
     always<ElementwiseProblem>, make_kernel_plan<ElementwiseProblem, params_of, run_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<ElementwiseProblem>> algorithms(Backend backend) {
    if (backend != Backend::cpu) return {};
    return list;
}

}  // namespace convlens

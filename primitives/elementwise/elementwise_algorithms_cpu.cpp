#include <array>

#include "kernels/cpu/elementwise/elementwise.h"
#include "primitives/device.h"
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

struct BlockParams {
    cpu::JointShape shape;
    cpu::ElementwiseOp op;
    cpu::Activation activation;
};

BlockParams block_params_of(const ElementwiseProblem& problem) {
    const cpu::ElementwiseParams params = params_of(problem);
    return {is_unary(problem.kind) ? cpu::join({params.a, params.dst})
                                   : cpu::join({params.a, params.b, params.dst}),
            params.op, params.activation};
}

void run_blocks(const BlockParams& params, const ExecuteArgs& args, cpu::ThreadPool& pool) {
    cpu::elementwise_blocks(params.shape, params.op, params.activation, floats(args.sources[0]),
                            floats(args.sources[1]), static_cast<float*>(args.dst), pool);
}

using Problem = ElementwiseProblem;
constexpr std::array<Algorithm<Problem>, 2> list = {{
    {"blocks", ErrorClass::fp32, true, reject_unless_f32<Problem>, always<Problem>,
     make_kernel_plan<Problem, block_params_of, run_blocks>},
    {"direct", ErrorClass::exact_order, true, reject_unless_floating_point<Problem>, always<Problem>,
     make_kernel_plan<Problem, params_of, run_direct>},
}};

}  // namespace

template <>
std::span<const Algorithm<ElementwiseProblem>> algorithms(Backend backend) {
    if (backend == Backend::cuda) return cuda_algorithms<ElementwiseProblem>();
    return list;
}

}  // namespace convlens

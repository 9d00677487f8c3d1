// Parameters of the element-wise kernels, made from the problem (inside the library only).
#pragma once

#include "kernels/common/elementwise.h"
#include "primitives/kernel_activation.h"
#include "primitives/layout_of.h"

namespace convlens {

static_assert(static_cast<int>(ElementwiseKind::cos) == static_cast<int>(kernels::ElementwiseOp::cos));
static_assert(static_cast<int>(ElementwiseKind::prelu) == static_cast<int>(kernels::ElementwiseOp::prelu));

// The operand with dims of dst: broadcast axes get stride 0.
inline kernels::Layout broadcast_layout(const TensorDesc& operand, const TensorDesc& dst) {
    kernels::Layout layout = layout_of(operand);
    for (int axis = 0; axis < dst.rank(); ++axis) {
        if (operand.dims[axis] == 1) layout.strides[static_cast<std::size_t>(axis)] = 0;
        layout.dims[static_cast<std::size_t>(axis)] = dst.dims[axis];
    }
    return layout;
}

inline kernels::ElementwiseParams elementwise_params_of(const ElementwiseProblem& problem) {
    kernels::ElementwiseParams params;
    params.op = static_cast<kernels::ElementwiseOp>(problem.kind);
    params.a = broadcast_layout(problem.a, problem.dst);
    params.dst = layout_of(problem.dst);
    params.b = is_unary(problem.kind) ? params.a : broadcast_layout(problem.b, problem.dst);
    params.activation = kernel_activation(problem.activation);
    return params;
}

inline kernels::ElementwiseBlocks elementwise_blocks_of(const ElementwiseProblem& problem) {
    const kernels::ElementwiseParams params = elementwise_params_of(problem);
    return {is_unary(problem.kind) ? kernels::join({params.a, params.dst})
                                   : kernels::join({params.a, params.b, params.dst}),
            params.op, params.activation};
}

}  // namespace convlens

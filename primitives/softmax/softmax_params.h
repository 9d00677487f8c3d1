// Parameters of the softmax kernels, made from the problem (inside the library only).
#pragma once

#include "convlens/problem.h"
#include "kernels/common/softmax.h"
#include "primitives/layout_of.h"

namespace convlens {

inline kernels::SoftmaxParams softmax_params_of(const SoftmaxProblem& problem) {
    return {layout_of(problem.src), layout_of(problem.dst), problem.axis, problem.logarithm};
}

inline kernels::SoftmaxBlocks softmax_blocks_of(const SoftmaxProblem& problem) {
    const int axis = problem.axis;
    return {kernels::join({without_axis(problem.src, axis), without_axis(problem.dst, axis)}),
            problem.src.dims[axis], problem.src.strides[axis], problem.dst.strides[axis], problem.logarithm};
}

}  // namespace convlens

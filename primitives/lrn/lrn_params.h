// Parameters of the LRN kernels, made from the problem (inside the library only).
#pragma once

#include "convlens/problem.h"
#include "kernels/common/lrn.h"
#include "primitives/layout_of.h"

namespace convlens {

inline kernels::LrnParams lrn_params_of(const LrnProblem& problem) {
    return {layout_of(problem.src), layout_of(problem.dst), problem.size,
            problem.alpha,          problem.beta,           problem.k};
}

inline kernels::LrnBlocks lrn_blocks_of(const LrnProblem& problem) {
    return {kernels::join({without_axis(problem.src, 1), without_axis(problem.dst, 1)}),
            problem.src.dims[1],
            problem.src.strides[1],
            problem.dst.strides[1],
            problem.size,
            problem.alpha,
            problem.beta,
            problem.k};
}

}  // namespace convlens

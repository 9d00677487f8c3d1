// Parameters of the transform kernels, made from the problem (inside the library only).
#pragma once

#include "convlens/problem.h"
#include "kernels/common/transform.h"
#include "primitives/layout_of.h"

namespace convlens {

inline kernels::TransformParams transform_params_of(const TransformProblem& problem) {
    kernels::TransformParams params;
    params.src = layout_of(problem.src);
    params.dst = layout_of(problem.dst);
    bool padded = false;
    for (int axis = 0; axis < problem.pads_begin.rank(); ++axis) {
        params.pads_begin[static_cast<std::size_t>(axis)] = problem.pads_begin[axis];
        padded = padded || problem.pads_begin[axis] != 0 || problem.pads_end[axis] != 0;
    }
    if (padded) {
        constexpr kernels::Padding modes[] = {kernels::Padding::constant, kernels::Padding::edge,
                                              kernels::Padding::reflect};
        params.padding = modes[static_cast<std::size_t>(problem.pad_mode)];
    }
    params.pad_value = problem.pad_value;
    return params;
}

}  // namespace convlens

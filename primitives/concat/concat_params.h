// Parameters of the concat kernels, made from the problem (inside the library only).
#pragma once

#include <vector>

#include "convlens/problem.h"
#include "kernels/common/transform.h"
#include "primitives/layout_of.h"

namespace convlens {

// One copy for each source, into its slice of dst.
using ConcatParams = std::vector<kernels::TransformParams>;

inline ConcatParams concat_params_of(const ConcatProblem& problem) {
    ConcatParams copies;
    const auto axis = static_cast<std::size_t>(problem.axis);
    kernels::Layout slice = layout_of(problem.dst);
    for (const TensorDesc& src : problem.srcs) {
        kernels::TransformParams copy;
        copy.src = layout_of(src);
        slice.dims[axis] = copy.src.dims[axis];
        copy.dst = slice;
        slice.offset += slice.dims[axis] * slice.strides[axis];
        copies.push_back(copy);
    }
    return copies;
}

}  // namespace convlens

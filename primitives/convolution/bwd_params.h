// The parameter gradients as the kernels of both backends take them (inside the library only).
#pragma once

#include "kernels/common/convolution_bwd.h"
#include "primitives/layout_of.h"
#include "primitives/rows.h"

namespace convlens {

inline kernels::BwdFilterParams bwd_filter_params(const ConvolutionBwdFilterProblem& problem) {
    kernels::BwdFilterParams p;
    kernels::ConvolutionGeometry& g = p.geometry;
    g.batch = problem.src.dims[0];
    g.channels = problem.src.dims[1];
    g.outputs = problem.diff.dims[1];
    g.groups = problem.groups;
    g.flipped = problem.mode == ConvolutionMode::convolution;
    for (int axis = 0; axis < 2; ++axis) {
        const auto at = static_cast<std::size_t>(axis);
        g.src_strides[at] = problem.src.strides[axis];
        g.dst_strides[at] = problem.diff.strides[axis];
        p.filter_strides[at] = problem.dst.strides[axis];
    }
    const int rank = problem.window.rank();
    for (int axis = 0; axis < rank; ++axis) {
        const auto at = static_cast<std::size_t>(axis + 3 - rank);
        g.src[at] = problem.src.dims[axis + 2];
        g.dst[at] = problem.diff.dims[axis + 2];
        g.window[at] = problem.dst.dims[axis + 2];
        g.pads[at] = problem.window.pads_begin[axis];
        g.strides[at] = problem.window.strides[axis];
        g.dilations[at] = problem.window.dilations[axis];
        g.src_strides[at + 2] = problem.src.strides[axis + 2];
        g.dst_strides[at + 2] = problem.diff.strides[axis + 2];
        p.filter_strides[at + 2] = problem.dst.strides[axis + 2];
    }
    p.type = element_type_of(problem.src.type);
    p.dst_type = element_type_of(problem.dst.type);
    p.src_offset = problem.src.offset;
    p.diff_offset = problem.diff.offset;
    p.dst_offset = problem.dst.offset;
    p.alpha = problem.alpha;
    p.beta = problem.beta;
    return p;
}

inline kernels::BwdBiasParams bwd_bias_params(const ConvolutionBwdBiasProblem& problem) {
    kernels::BwdBiasParams p;
    p.batch = problem.src.dims[0];
    p.channels = problem.src.dims[1];
    p.strides[0] = problem.src.strides[0];
    p.strides[1] = problem.src.strides[1];
    const int rank = problem.src.rank() - 2;
    for (int axis = 0; axis < rank; ++axis) {
        const auto at = static_cast<std::size_t>(axis + 3 - rank);
        p.cells[at] = problem.src.dims[axis + 2];
        p.strides[at + 2] = problem.src.strides[axis + 2];
    }
    p.type = element_type_of(problem.src.type);
    p.dst_type = element_type_of(problem.dst.type);
    p.src_offset = problem.src.offset;
    p.dst_offset = problem.dst.offset;
    p.dst_stride = problem.dst.strides[0];
    p.alpha = problem.alpha;
    p.beta = problem.beta;
    // The other lengths may be anything then: they must not be looped over.
    if (problem.src.is_empty()) {
        p.batch = 0;
        p.cells = {1, 1, 1};
    }
    return p;
}

// The gradient is f32 or of the data's type; what matters is the data.
template <class P>
std::string reject_unless_floating_point_data(const P& problem, const Context&) {
    if (is_floating_point(problem.src.type)) return {};
    return std::string("only floating-point types are supported, not ") + to_string(problem.src.type);
}

}  // namespace convlens

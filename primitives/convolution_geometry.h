// Problems of the convolution family as the processor kernels' geometry (inside the library only).
#pragma once

#include "convlens/problem.h"
#include "kernels/cpu/convolution/geometry.h"

namespace convlens {

template <class P>
cpu::ConvolutionGeometry convolution_geometry(const P& problem) {
    cpu::ConvolutionGeometry g;
    g.batch = problem.src.dims[0];
    g.channels = problem.src.dims[1];
    g.outputs = problem.dst.dims[1];
    g.groups = problem.groups;
    g.src_strides[0] = problem.src.strides[0];
    g.src_strides[1] = problem.src.strides[1];
    g.dst_strides[0] = problem.dst.strides[0];
    g.dst_strides[1] = problem.dst.strides[1];
    const int rank = problem.window.rank();
    for (int axis = 0; axis < rank; ++axis) {
        const auto at = static_cast<std::size_t>(axis + 3 - rank);
        g.src[at] = problem.src.dims[axis + 2];
        g.dst[at] = problem.dst.dims[axis + 2];
        g.window[at] = problem.weights[axis + 2];
        g.pads[at] = problem.window.pads_begin[axis];
        g.strides[at] = problem.window.strides[axis];
        g.dilations[at] = problem.window.dilations[axis];
        g.src_strides[at + 2] = problem.src.strides[axis + 2];
        g.dst_strides[at + 2] = problem.dst.strides[axis + 2];
    }
    if constexpr (requires { problem.mode; }) g.flipped = problem.mode == ConvolutionMode::convolution;
    return g;
}

}  // namespace convlens

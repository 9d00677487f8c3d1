// What the rows of fully connected layers share on both backends (inside the library only).
#pragma once

#include <string>

#include "kernels/common/convolution_geometry.h"
#include "primitives/rows.h"

namespace convlens {

// A fully connected layer is a convolution of images of one cell.
inline kernels::ConvolutionGeometry cell_geometry(const FullyConnectedProblem& problem) {
    kernels::ConvolutionGeometry geometry;
    geometry.batch = problem.src.dims[0];
    geometry.channels = problem.src.dims[1];
    geometry.outputs = problem.outputs;
    geometry.src_strides = {problem.src.strides[0], problem.src.strides[1]};
    geometry.dst_strides = {problem.dst.strides[0], problem.dst.strides[1]};
    return geometry;
}

inline std::string reject_gemv(const FullyConnectedProblem& problem, const Context& context) {
    if (std::string reason = reject_unless_f32(problem, context); !reason.empty()) return reason;
    if (problem.src.strides[1] != 1 && problem.src.dims[1] > 1) return "rows of src are not contiguous";
    return {};
}

}  // namespace convlens

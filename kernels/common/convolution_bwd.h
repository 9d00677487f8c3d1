// The parameter gradients of a convolution as the kernels of both backends see them.
#pragma once

#include <cstdint>

#include "kernels/common/convolution_geometry.h"
#include "kernels/common/element_type.h"

namespace convlens::kernels {

// dst[k][c][taps] = alpha * sum over n and the cells of diff of diff[n][k] * src[n][c] + beta * dst.
struct BwdFilterParams {
    ConvolutionGeometry geometry;         // the forward's: src, and diff in the place of dst
    Strides5 filter_strides{};            // of dst: K C/groups D H W
    ElementType type = ElementType::f32;  // of src and diff
    ElementType dst_type = ElementType::f32;
    std::int64_t src_offset = 0, diff_offset = 0, dst_offset = 0;  // elements
    float alpha = 1, beta = 0;                                     // with beta = 0 dst is not read
};

// dst[k] = alpha * sum over n and all cells of src[n][k] + beta * dst.
struct BwdBiasParams {
    std::int64_t batch = 0, channels = 0;
    Axes cells{1, 1, 1};
    Strides5 strides{};                   // of src: N K D H W
    ElementType type = ElementType::f32;  // of src
    ElementType dst_type = ElementType::f32;
    std::int64_t src_offset = 0, dst_offset = 0, dst_stride = 1;
    float alpha = 1, beta = 0;
};

// The outputs [first, end) of one axis that read inside src through a tap.
struct OutputRange {
    std::int64_t first, end;
};

CONVLENS_HD constexpr OutputRange valid_outputs(const ConvolutionGeometry& g, std::size_t axis,
                                                std::int64_t tap) {
    const std::int64_t stride = g.strides[axis];
    const std::int64_t before =
        g.pads[axis] - tap * g.dilations[axis];      // cells that output 0 lies before src
    const std::int64_t left = g.src[axis] + before;  // cells from output 0 to the end
    const std::int64_t first = before > 0 ? (before + stride - 1) / stride : 0;
    const std::int64_t end = left > 0 ? std::min(g.dst[axis], (left + stride - 1) / stride) : 0;
    return {first, end};
}

}  // namespace convlens::kernels

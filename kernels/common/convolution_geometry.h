// The shape of a convolution as the kernels see it: three spatial axes always (missing leading ones have
// length 1), strides in elements for every tensor, no type and no pointer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"

namespace convlens::kernels {

// D H W
using Axes = std::array<std::int64_t, 3>;
// N C D H W, in elements
using Strides5 = std::array<std::int64_t, 5>;

struct ConvolutionGeometry {
    std::int64_t batch = 0;
    std::int64_t channels = 0;  // C of src
    std::int64_t outputs = 0;   // K of dst
    std::int64_t groups = 1;
    Axes src{1, 1, 1};
    Axes window{1, 1, 1};
    Axes dst{1, 1, 1};
    Axes pads{0, 0, 0};  // at the beginning of each axis; the end follows from dst
    Axes strides{1, 1, 1};
    Axes dilations{1, 1, 1};
    Strides5 src_strides{};
    Strides5 dst_strides{};
    bool flipped = false;  // the filter is read backwards

    CONVLENS_HD constexpr std::int64_t taps() const { return window[0] * window[1] * window[2]; }
    CONVLENS_HD constexpr std::int64_t dst_cells() const { return dst[0] * dst[1] * dst[2]; }
};

// The taps [first, end) of one axis that read inside src for output index `out`; empty ranges have end <=
// first.
struct TapRange {
    std::int64_t first, end;
};

CONVLENS_HD constexpr TapRange valid_taps(const ConvolutionGeometry& g, std::size_t axis, std::int64_t out) {
    const std::int64_t dilation = g.dilations[axis];
    const std::int64_t before = g.pads[axis] - out * g.strides[axis];  // cells of the pad that tap 0 precedes
    const std::int64_t left = g.src[axis] + before;                    // cells from tap 0 to the end
    return {before > 0 ? (before + dilation - 1) / dilation : 0,
            left > 0 ? std::min(g.window[axis], (left + dilation - 1) / dilation) : 0};
}

}  // namespace convlens::kernels

// The shape of a convolution as the kernels see it: three spatial axes always (missing leading ones have
// length 1), strides in elements for every tensor, no type and no pointer.
#pragma once

#include <array>
#include <cstdint>

namespace convlens::cpu {

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

    std::int64_t taps() const { return window[0] * window[1] * window[2]; }
    std::int64_t dst_cells() const { return dst[0] * dst[1] * dst[2]; }
};

}  // namespace convlens::cpu

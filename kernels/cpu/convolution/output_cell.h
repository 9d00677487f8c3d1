// A walk over the output cells of a convolution in row-major order: n, then D H W.
#pragma once

#include "kernels/cpu/convolution/geometry.h"

namespace convlens::cpu {

struct OutputCell {
    std::int64_t n = 0;
    Axes out{0, 0, 0};

    OutputCell(const ConvolutionGeometry& g, std::int64_t row) {
        for (std::size_t axis = 3; axis-- > 0;) {
            out[axis] = row % g.dst[axis];
            row /= g.dst[axis];
        }
        n = row;
    }

    void next(const ConvolutionGeometry& g) {
        for (std::size_t axis = 3; axis-- > 0;) {
            if (++out[axis] < g.dst[axis]) return;
            out[axis] = 0;
        }
        ++n;
    }

    // `cells` on, within the line: at most to its end.
    void advance(const ConvolutionGeometry& g, std::int64_t cells) {
        out[2] += cells - 1;
        next(g);
    }

    std::int64_t dst_offset(const ConvolutionGeometry& g) const {
        return n * g.dst_strides[0] + out[0] * g.dst_strides[2] + out[1] * g.dst_strides[3] +
               out[2] * g.dst_strides[4];
    }
};

}  // namespace convlens::cpu

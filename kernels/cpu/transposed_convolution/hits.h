// Which source cells reach an output cell of a transposed convolution, and through which taps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "kernels/cpu/convolution/geometry.h"

namespace convlens::cpu {

// The taps of one axis that reach an output index: tap, tap + tap_step, ... from source index, index -
// index_step,
// ...: `count` of them, all inside the window and src.
struct TapHits {
    std::int64_t count = 0, tap = 0, tap_step = 1, index = 0, index_step = 1;
};

inline TapHits tap_hits(const ConvolutionGeometry& g, std::size_t axis, std::int64_t out) {
    const std::int64_t stride = g.strides[axis], dilation = g.dilations[axis], window = g.window[axis];
    const std::int64_t common = std::gcd(stride, dilation);
    TapHits h;
    h.tap_step = stride / common;
    h.index_step = dilation / common;
    const std::int64_t reach = out + g.pads[axis];
    std::int64_t rest = reach % stride;
    while (rest != 0) {
        if (++h.tap >= std::min(window, h.tap_step)) return h;
        rest = (rest - dilation % stride + stride) % stride;
    }
    h.index = (reach - h.tap * dilation) / stride;
    if (h.index >= g.src[axis]) {
        const std::int64_t skipped = (h.index - g.src[axis]) / h.index_step + 1;
        h.tap += skipped * h.tap_step;
        h.index -= skipped * h.index_step;
    }
    if (h.tap >= window || h.index < 0) return h;
    h.count = std::min((window - 1 - h.tap) / h.tap_step, h.index / h.index_step) + 1;
    return h;
}

}  // namespace convlens::cpu

// Which source cells reach an output cell of a transposed convolution, and through which taps, on the device.
#pragma once

#include <numeric>

#include "kernels/common/convolution_geometry.h"

namespace convlens::cuda {

// One axis, prepared at launch. Int: 32 bits where padded lengths are below 2^31, else 64.
template <class Int>
struct HitAxis {
    Int src, window, pad, stride, dilation, tap_step, index_step;
};

template <class Int>
HitAxis<Int> hit_axis(const kernels::ConvolutionGeometry& g, std::size_t axis) {
    const std::int64_t common = std::gcd(g.strides[axis], g.dilations[axis]);
    return {static_cast<Int>(g.src[axis]),
            static_cast<Int>(g.window[axis]),
            static_cast<Int>(g.pads[axis]),
            static_cast<Int>(g.strides[axis]),
            static_cast<Int>(g.dilations[axis]),
            static_cast<Int>(g.strides[axis] / common),
            static_cast<Int>(g.dilations[axis] / common)};
}

// Taps tap, tap + tap_step, ... from source index, index - index_step, ...: `count` of them, all inside the
// window and src.
template <class Int>
struct TapHits {
    Int count, tap, index;
};

template <class Int>
__device__ __forceinline__ TapHits<Int> tap_hits(const HitAxis<Int>& a, Int out) {
    TapHits<Int> h{0, 0, 0};
    const Int reach = out + a.pad;
    if (a.stride == 1) {
        h.index = reach;
    } else if (a.dilation == 1) {
        h.index = reach / a.stride;
        h.tap = reach - h.index * a.stride;
    } else {
        Int rest = reach % a.stride;
        while (rest != 0) {
            if (++h.tap >= min(a.window, a.tap_step)) return h;
            rest = (rest - a.dilation % a.stride + a.stride) % a.stride;
        }
        h.index = (reach - h.tap * a.dilation) / a.stride;
    }
    if (h.index >= a.src) {
        const Int skipped = (h.index - a.src) / a.index_step + 1;
        h.tap += skipped * a.tap_step;
        h.index -= skipped * a.index_step;
    }
    if (h.tap >= a.window || h.index < 0) return h;
    h.count = min((a.window - 1 - h.tap) / a.tap_step, h.index / a.index_step) + 1;
    return h;
}

}  // namespace convlens::cuda

// Blocks of outputs that the definitions of convolution and transposed convolution sum side by side. Each
// output keeps its own order of summation, so the width of a block changes no bit.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/convolution/geometry.h"

namespace convlens::cpu {

inline std::int64_t direct_block_width(const ConvolutionGeometry& g) {
    const std::int64_t outputs = g.outputs / g.groups;
    return outputs > 4 ? 16 : outputs > 1 ? 4 : 1;
}

inline std::int64_t direct_blocks(const ConvolutionGeometry& g) {
    const std::int64_t width = direct_block_width(g);
    return (g.outputs / g.groups + width - 1) / width;
}

inline std::int64_t direct_block_size(const ConvolutionGeometry& g) {
    return g.channels / g.groups * g.taps() * direct_block_width(g);
}

// A few outputs side by side; the compiler turns it into what the base instruction set has.
typedef float DirectFour __attribute__((vector_size(16)));

template <std::int64_t Width>
struct DirectLanes {
    using Lane = std::conditional_t<Width == 1, float, DirectFour>;
    static constexpr int count = Width == 1 ? 1 : Width / 4;
    Lane lane[count] = {};

    void add(float x, const float* filter) {
#pragma GCC unroll 4
        for (int i = 0; i < count; ++i) {
            Lane w;
            std::memcpy(&w, filter + i * static_cast<int>(sizeof(Lane) / sizeof(float)), sizeof(Lane));
            lane[i] += x * w;
        }
    }
};

}  // namespace convlens::cpu

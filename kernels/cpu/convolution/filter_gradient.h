// What the algorithms of a filter's gradient share: the problem as they see it, packing of lines of either
// source, and the way of sums to the filter's tensor.
//
// dw[k][c][tap] = alpha * sum over n and the output's cells of dy[n][k][cell] * x[n][c][cell under the tap]
//                 + beta * dw[k][c][tap].  beta = 0 never reads dw.  Sums in f32.
#pragma once

#include <cstdint>

#include "kernels/cpu/convolution/geometry.h"
#include "kernels/cpu/element.h"

namespace convlens::cpu {

struct FilterGradient {
    ConvolutionGeometry geometry;                // src: x, dst: dy, with their strides
    Strides5 filter{};                           // strides of dw: K, C of a group, T R S
    ElementType type = ElementType::f32;         // of x and dy: f32, f16 or bf16
    ElementType filter_type = ElementType::f32;  // of dw
    float alpha = 1, beta = 0;
};

// Operations, two a product.
double filter_gradient_operations(const ConvolutionGeometry& geometry);

// Cells of one line of a tensor as rows of `width` floats: position j holds cell first + j * step, zeros
// outside [0, length) and beyond `channels`.
struct LinePacking {
    std::int64_t first = 0, step = 1, length = 0, positions = 0;
    std::int64_t cell_stride = 0, channel_stride = 0;  // in elements
    std::int64_t channels = 0, width = 0;
};
// `offset` is the element of cell 0, channel 0, counted from data.
void pack_line(ElementType type, const void* data, std::int64_t offset, const LinePacking& packing,
               float* to);

// Sums of `channels` channels, all taps and `outputs` outputs from the first ones of a block, at
// sums[(tap * row_channels + c) * width + k], to dw at dw + offset.
struct FilterBlock {
    const float* sums = nullptr;
    std::int64_t row_channels = 0, width = 0;
    std::int64_t channels = 0, outputs = 0;
    std::int64_t offset = 0;  // elements
};
void store_filter_block(const FilterGradient& gradient, const FilterBlock& block, void* dw);

// a[i] += b[i].
void add_floats(const float* b, std::int64_t count, float* a);

}  // namespace convlens::cpu

// What the algorithms of a filter's gradient share: packing of lines of either source, and the way of sums to
// the filter's tensor. Sums are f32; beta = 0 never reads the filter's tensor.
#pragma once

#include <cstdint>

#include "kernels/common/convolution_bwd.h"
#include "kernels/cpu/convolution/geometry.h"
#include "kernels/cpu/element.h"

namespace convlens::cpu {

using kernels::BwdFilterParams;

// Operations, two a product.
double filter_gradient_operations(const ConvolutionGeometry& geometry);

// `count` elements on.
inline const void* advance(ElementType type, const void* data, std::int64_t count) {
    return static_cast<const char*>(data) + count * static_cast<std::int64_t>(size_of(type));
}

// Cells of one line of a tensor as rows of `width` floats: position j holds cell first + j * step, zeros
// outside [0, length) and beyond `channels`.
struct LinePacking {
    std::int64_t first = 0, step = 1, length = 0, positions = 0;
    std::int64_t cell_stride = 0, channel_stride = 0;  // in elements
    std::int64_t channels = 0, width = 0;
};
// `offset` is the element of cell 0, channel 0, counted from data; f32, f16 or bf16.
void pack_line(ElementType type, const void* data, std::int64_t offset, const LinePacking& packing,
               float* to);

// Sums of `channels` channels, all taps and `outputs` outputs from the first ones of a block, at
// sums[(tap * row_channels + c) * width + k], to the filter's tensor from element `offset` on.
struct FilterBlock {
    const float* sums = nullptr;
    std::int64_t row_channels = 0, width = 0;
    std::int64_t channels = 0, outputs = 0;
    std::int64_t offset = 0;
};
void store_filter_block(const BwdFilterParams& params, const FilterBlock& block, void* dst);

// a[i] += b[i].
void add_floats(const float* b, std::int64_t count, float* a);

}  // namespace convlens::cpu

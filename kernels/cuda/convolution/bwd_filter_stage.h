// The 16-bit channels-last copies of bwd_filter_bulk.h, and the largest magnitude of each channel before
// them.
#pragma once

#include "kernels/cuda/convolution/bwd_filter_bulk.h"
#include "kernels/cuda/fast_division.h"

namespace convlens::cuda::filter_gradient {

// Writes [n][h][w][plane][channel]: channels beyond the last are zeros. With a fold, channel (tap, c) of cell
// w is c of cell w * step - pad + tap * dilation of src, or zero where there is none.
struct Stage {
    const void* src;
    void* staged;
    const unsigned* largest;  // of each channel, bits of f32; null: values stay
    std::int64_t stride_n, stride_c, stride_h, stride_w;
    std::int64_t cells;  // n x h x w of the copy
    FastDivision w, h, eights, real_channels;
    std::int32_t channels, src_w;  // of the copy with all its channels; of src
    std::int32_t used;             // channels with values
    std::int32_t step, pad, dilation;
    bool vector;            // 8 channels of f32 lie side by side, aligned to 16 bytes, and there is no fold
    bool channels_fastest;  // neighbouring threads have neighbouring channels, else cells
};
void launch_stage(const Stage&, ElementType type, BulkMath math, Stream);

struct Largest {
    const float* src;
    unsigned* largest;  // zeroed
    std::int64_t stride_n, stride_c, stride_h, stride_w;
    std::int64_t rows;  // n x h
    std::int32_t channels, w;
    FastDivision h;
};
void launch_largest(const Largest&, Stream);
void launch_zero(unsigned* values, std::int64_t count, Stream);

}  // namespace convlens::cuda::filter_gradient

// A chunk's transform as the kernels of winograd.h take it.
#pragma once

#include "kernels/cuda/fast_division.h"
#include "kernels/cuda/stream.h"

namespace convlens::cuda::winograd_detail {

// A chunk's transform. Tiles are counted from the first tile of image `image0`.
struct Job {
    const float* src;
    float* dst;
    const float* bias;
    const float* residual;
    float* transformed;     // input: position, tile, row of src_row
    const float* products;  // position, tile, row of dst_row
    std::int64_t plane;     // floats from position to position, of either
    // Rows of a stage of 32 channels where the transformed input lies in stages; 0: rows of all channels.
    unsigned stage_rows;
    std::int64_t image0;
    unsigned tile0, count;  // tiles before the chunk in its first image; tiles of the chunk
    FastDivision row, tiles_x, image_tiles;
    int channels, src_height, src_width, dst_height, dst_width, pad_top, pad_left;
    std::int64_t image_step, channel_step, row_step, column_step;  // of src, or of dst
    Activation activation;
};

struct TilePlace {
    std::int64_t image;
    int y, x;
};

}  // namespace convlens::cuda::winograd_detail

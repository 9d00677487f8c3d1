// What the transforming kernels of fft.h and fft_bwd_filter.h are told (plain C++).
//
// A tensor is cut into square tiles of `side` cells that may overlap. The spectrum of a real tile has
// side * (side / 2) + 2 complex values of its own: the columns 1 .. side / 2 - 1 of the half spectrum, all
// rows, then rows 0 .. side / 2 of column 0 and of column side / 2. They are numbered in this order.
//
// Spectra lie as frequency, tile, channel: (re, im) pairs, rows padded with zeros.
#pragma once

#include "kernels/cuda/fast_division.h"
#include "kernels/cuda/stream.h"

namespace convlens::cuda::fft {

constexpr std::int64_t frequencies(std::int64_t side) { return side * (side / 2) + 2; }

// Channels of a block, as they are quickest on an H200: 16 fill whole lines of memory, fewer leave room for
// more blocks. A block holds 17 to 104 KB of a tile.
constexpr int block_channels(int side) { return side == 64 ? 4 : side == 36 || side == 48 ? 8 : 16; }
constexpr int block_threads(int side) { return side / 2 * block_channels(side); }
// Blocks of a multiprocessor that registers must allow, where that costs next to no spilling.
constexpr int least_blocks(int side) {
    return side == 36 ? 4 : side == 32 || side == 64 ? 3 : side == 40 ? 2 : 1;
}
// Floats from row to row of the tile in shared memory: rows of a pair, and pairs, begin in other banks.
constexpr int row_pitch(int side) { return side * block_channels(side) + block_channels(side) / 2; }
constexpr int shared_bytes(int side) { return side * row_pitch(side) * static_cast<int>(sizeof(float)); }

// The tiles of a chunk, counted from the first tile of image `image0`.
struct Tiles {
    std::int64_t image0 = 0;
    unsigned tile0 = 0, count = 0;  // tiles before the chunk in its first image; tiles of the chunk
    FastDivision tiles_x, image_tiles;
    int step_y = 0, step_x = 0;          // cells from tile to tile
    int extent_y = 0, extent_x = 0;      // cells of a tile that belong to it; forward: the others count as 0
    int pad_top = 0, pad_left = 0;       // cells of the first tile before the tensor
    int height = 0, width = 0;           // of the tensor
    int channels = 0, row_channels = 0;  // of the tensor, and padded, as in a row of a spectrum
    std::int64_t image_step = 0, channel_step = 0, row_step = 0, column_step = 0;
};

// Twice the transform of each tile.
struct ForwardJob {
    Tiles tiles;
    const float* src = nullptr;
    float* spectra = nullptr;
    std::int64_t plane = 0;  // floats from frequency to frequency
    // Rows of a stage of 32 floats where spectra lie as winograd_wgmma.h wants them; 0: whole rows.
    unsigned stage_rows = 0;
};

// The inverse transform, not divided by side * side, of the first extent cells of each tile.
struct InverseJob {
    Tiles tiles;
    const float* spectra = nullptr;
    std::int64_t plane = 0;
    float* dst = nullptr;
    const float* bias = nullptr;      // a value a channel, or null
    const float* residual = nullptr;  // laid out as dst, or null
    Activation activation;
    float alpha = 1, beta = 0;  // dst = activation(alpha * x + bias + residual + beta * dst)
    bool flipped = false;       // rows and columns of a tile are written from last to first
};

// side: one of `sides`. early: kernels may be set up while the one before ends.
void forward(int side, const ForwardJob& job, bool early, Stream stream);
void inverse(int side, const InverseJob& job, bool early, Stream stream);

inline constexpr int sides[] = {16, 24, 32, 36, 40, 48, 64};

}  // namespace convlens::cuda::fft

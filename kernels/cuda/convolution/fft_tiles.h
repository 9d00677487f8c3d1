// How the FFT rows cut images into tiles (host; inside the FFT files only).
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/cuda/convolution/fft_job.h"

namespace convlens::cuda::fft {

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
inline std::int64_t round_up(std::int64_t value, std::int64_t step) { return ceil_div(value, step) * step; }

struct Cut {
    std::int64_t step_y, step_x;    // outputs of a tile
    std::int64_t tiles_y, tiles_x;  // of one image
    std::int64_t tiles;             // of the batch
};

// Whether a tile of this side holds an image, or at least one output.
inline bool holds(const ConvolutionGeometry& g, int side, bool whole) {
    return side >= (whole ? g.dst[1] : 1) + g.window[1] - 1 &&
           side >= (whole ? g.dst[2] : 1) + g.window[2] - 1;
}

inline Cut cut_of(const ConvolutionGeometry& g, int side, bool whole) {
    Cut cut{};
    cut.step_y = whole ? std::max<std::int64_t>(1, g.dst[1]) : side - g.window[1] + 1;
    cut.step_x = whole ? std::max<std::int64_t>(1, g.dst[2]) : side - g.window[2] + 1;
    cut.tiles_y = ceil_div(g.dst[1], cut.step_y);
    cut.tiles_x = ceil_div(g.dst[2], cut.step_x);
    cut.tiles = g.batch * cut.tiles_y * cut.tiles_x;
    return cut;
}

// Tiles of a chunk: multiples of 128 where that is not too much, and chunks of equal length.
inline std::int64_t chunk_of(std::int64_t tiles, std::int64_t tile_bytes, std::int64_t most_bytes) {
    const std::int64_t longest = std::max<std::int64_t>(1, most_bytes / tile_bytes);
    if (longest < 128) return std::min(tiles, longest);
    const std::int64_t chunks = std::max<std::int64_t>(1, ceil_div(tiles, longest / 128 * 128));
    return std::min(tiles, round_up(ceil_div(tiles, chunks), 128));
}

inline Tiles tiles_of(const Cut& cut, std::int64_t origin, std::int64_t count) {
    const std::int64_t image_tiles = cut.tiles_y * cut.tiles_x;
    Tiles t;
    t.image0 = origin / image_tiles;
    t.tile0 = static_cast<unsigned>(origin % image_tiles);
    t.count = static_cast<unsigned>(count);
    t.tiles_x = FastDivision(cut.tiles_x);
    t.image_tiles = FastDivision(image_tiles);
    t.step_y = static_cast<int>(cut.step_y), t.step_x = static_cast<int>(cut.step_x);
    return t;
}

// row: floats of a row of the spectra.
inline void set_tensor(Tiles& t, const Axes& size, const Strides5& strides, std::int64_t channels,
                       std::int64_t row) {
    t.height = static_cast<int>(size[1]), t.width = static_cast<int>(size[2]);
    t.channels = static_cast<int>(channels), t.row_channels = static_cast<int>(row / 2);
    t.image_step = strides[0], t.channel_step = strides[1];
    t.row_step = strides[3], t.column_step = strides[4];
}

// Bytes of spectra that transforms write or read in a microsecond on an H200.
inline double transform_rate(int side) { return side == 64 ? 0.6e6 : 1.35e6; }

// Of one channel of one tile, forward or back.
inline double transform_operations(int side) {
    const double steps = std::bit_width(static_cast<unsigned>(side - 1));
    return 2.5 * side * side * 2 * steps;
}

}  // namespace convlens::cuda::fft

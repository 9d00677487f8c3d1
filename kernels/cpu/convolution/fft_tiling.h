// What the FFT convolutions of both directions share in cutting images and dividing work.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>

#include "kernels/cpu/convolution/fft_transform.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu::fft_detail {

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
inline std::int64_t round_up(std::int64_t value, std::int64_t step) { return ceil_div(value, step) * step; }

// Sides of square tiles to choose among.
inline constexpr std::int64_t sides[] = {8, 12, 16, 20, 24, 32, 40, 48, 64};

// Of the filter's spectra, which are read once a chunk from far away, in operations.
inline constexpr double cost_of_a_float = 40;

// Operations of a transform of one channel of one tile, as products count them: additions, and more passes
// over memory.
inline double transform_cost(std::int64_t rows, std::int64_t columns) {
    const auto cells = static_cast<std::uint64_t>(rows * columns);
    return 8.0 * static_cast<double>(cells) * static_cast<double>(std::bit_width(cells - 1));
}

// What a transform really does.
inline double transform_operations(std::int64_t rows, std::int64_t columns) {
    return transform_cost(rows, columns) * (2.5 / 8);
}

// Fills in a tiling's shape and cut. Sides are cut down to what an image needs.
template <class Tiling>
void set_cut(Tiling& t, const ConvolutionGeometry& g, std::int64_t rows, std::int64_t columns, bool whole) {
    const std::int64_t need_y = std::max<std::int64_t>(1, g.dst[1]) + g.window[1] - 1,
                       need_x = std::max<std::int64_t>(1, g.dst[2]) + g.window[2] - 1;
    if (whole || need_y < rows) rows = fft_good_length(need_y);
    if (whole || need_x < columns) columns = fft_good_length(need_x);
    t.shape.down.length = rows, t.shape.across.length = columns;
    t.step_y = std::min(rows, need_y) - g.window[1] + 1;
    t.step_x = std::min(columns, need_x) - g.window[2] + 1;
    t.tiles_y = ceil_div(g.dst[1], t.step_y);
    t.tiles_x = ceil_div(g.dst[2], t.step_x);
    t.tiles = g.batch * t.tiles_y * t.tiles_x;
}

template <class Tiling>
void set_lengths(Tiling& t) {
    t.shape.down = fft_length(t.shape.rows());
    t.shape.across = fft_length(t.shape.columns());
}

// Of tiles with `bytes` each: many enough to reread the other factor seldom, within the workspace.
inline std::int64_t chunk_of(std::int64_t tiles, std::int64_t bytes) {
    constexpr std::int64_t wanted = std::int64_t{16} << 20, most = std::int64_t{256} << 20;
    const std::int64_t chunk =
        std::clamp<std::int64_t>(wanted / bytes, 56, std::max<std::int64_t>(56, tiles));
    const std::int64_t longest = std::max<std::int64_t>(1, std::min(chunk, most / bytes));
    return ceil_div(tiles, std::max<std::int64_t>(1, ceil_div(tiles, longest)));
}

// The tiles of src, and those of dst, or of its gradient.
template <class Tiling>
FftTiles src_tiles(const Tiling& t, const ConvolutionGeometry& g) {
    return {t.tiles_y, t.tiles_x, t.step_y, t.step_x, t.shape.rows(), t.shape.columns(),
            g.pads[1], g.pads[2], g.src[1], g.src[2], g.channels,     g.src_strides};
}
template <class Tiling>
FftTiles dst_tiles(const Tiling& t, const ConvolutionGeometry& g) {
    return {t.tiles_y, t.tiles_x, t.step_y, t.step_x, t.step_y,  t.step_x,
            0,         0,         g.dst[1], g.dst[2], g.outputs, g.dst_strides};
}

// Calls body(tile, channel, scratch) for all tiles in [0, count) and vectors of channels. A worker owns its
// scratch, whichever thread runs it, and takes the next task left.
template <class Body>
void for_each_vector(ThreadPool& pool, std::int64_t workers, std::int64_t count, std::int64_t channels,
                     float* scratch, std::int64_t scratch_floats, const Body& body) {
    const std::int64_t lanes = fft_lanes(), vectors = ceil_div(channels, lanes);
    std::atomic<std::int64_t> next{0};
    pool.parallel_for(workers, [&](std::int64_t worker, int) {
        for (std::int64_t task = next++; task < count * vectors; task = next++)
            body(task / vectors, task % vectors * lanes, scratch + worker * scratch_floats);
    });
}

}  // namespace convlens::cpu::fft_detail

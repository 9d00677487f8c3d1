#include "kernels/cpu/convolution/winograd_bwd_filter.h"

#include <algorithm>

#include "kernels/cpu/gemm/outer_product.h"
#include "kernels/cpu/machine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/winograd_bwd_filter.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "kernels/cpu/convolution/winograd-inl.h"

#ifndef CONVLENS_KERNELS_CPU_WINOGRAD_BWD_FILTER_JOB
#define CONVLENS_KERNELS_CPU_WINOGRAD_BWD_FILTER_JOB
namespace convlens::cpu {

struct WinogradBwdFilterJob {
    const WinogradBwdFilter& p;
    const float* src;
    const float* diff;
    float* dst;
    // Position, tile, row of channels; sums: position, block of channels, filter, channel.
    float* src_tiles;
    float* diff_tiles;
    float* sums;

    // Floats between positions; the odd line keeps the positions of a tile in different sets of the cache.
    std::int64_t src_plane() const { return p.chunk * p.src_row + 16; }
    std::int64_t diff_plane() const { return p.chunk * p.diff_row + 16; }
    std::int64_t sums_plane() const { return p.blocks() * p.gradient.geometry.outputs * p.width; }
};

}  // namespace convlens::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using winograd::D;
using winograd::Reading;
using winograd::TileInput;
using winograd::V;

// A tile of dy in the place of a filter, and the sums in the place of outputs.
template <int tile, int window>
struct Gradient;

template <>
struct Gradient<2, 3> {
    static HWY_INLINE void diff(const V (&d)[2], V (&t)[4]) {
        const V half = hn::Set(D(), 0.5f);
        t[0] = d[0];
        t[1] = hn::Mul(half, hn::Add(d[0], d[1]));
        t[2] = hn::Mul(half, hn::Sub(d[0], d[1]));
        t[3] = d[1];
    }
    static HWY_INLINE void sums(const V (&m)[4], V (&w)[3]) {
        w[0] = hn::Add(hn::Add(m[0], m[1]), m[2]);
        w[1] = hn::Sub(m[1], m[2]);
        w[2] = hn::Sub(hn::Add(m[1], m[2]), m[3]);
    }
};

// Of six points: what a point's row is divided by.
constexpr float p = winograd_p, q = winograd_q, a = p * p, b = q * q;
constexpr float at_0 = 1 / (a * b), at_p = 1 / (2 * a * (a - b)), at_q = 1 / (2 * b * (b - a));

template <>
struct Gradient<4, 3> {
    static HWY_INLINE void diff(const V (&d)[4], V (&t)[6]) {
        const D tag;
        t[0] = hn::Mul(hn::Set(tag, at_0), d[0]);
        const V even_p = hn::Mul(hn::Set(tag, at_p), hn::MulAdd(hn::Set(tag, a), d[2], d[0]));
        const V odd_p = hn::Mul(hn::Set(tag, at_p * p), hn::MulAdd(hn::Set(tag, a), d[3], d[1]));
        t[1] = hn::Add(even_p, odd_p);
        t[2] = hn::Sub(even_p, odd_p);
        const V even_q = hn::Mul(hn::Set(tag, at_q), hn::MulAdd(hn::Set(tag, b), d[2], d[0]));
        const V odd_q = hn::Mul(hn::Set(tag, at_q * q), hn::MulAdd(hn::Set(tag, b), d[3], d[1]));
        t[3] = hn::Add(even_q, odd_q);
        t[4] = hn::Sub(even_q, odd_q);
        t[5] = d[3];
    }
    static HWY_INLINE void sums(const V (&m)[6], V (&w)[3]) {
        const D tag;
        const V s1 = hn::Add(m[1], m[2]), d1 = hn::Sub(m[1], m[2]);
        const V s2 = hn::Add(m[3], m[4]), d2 = hn::Sub(m[3], m[4]);
        w[0] = hn::Add(hn::Add(m[0], s1), s2);
        w[1] = hn::MulAdd(hn::Set(tag, q), d2, hn::Mul(hn::Set(tag, p), d1));
        w[2] = hn::MulAdd(hn::Set(tag, b), s2, hn::MulAdd(hn::Set(tag, a), s1, m[5]));
    }
};

template <>
struct Gradient<2, 5> {
    static HWY_INLINE void diff(const V (&d)[2], V (&t)[6]) {
        const D tag;
        t[0] = hn::Mul(hn::Set(tag, at_0), d[0]);
        const V even_p = hn::Mul(hn::Set(tag, at_p), d[0]), odd_p = hn::Mul(hn::Set(tag, at_p * p), d[1]);
        t[1] = hn::Add(even_p, odd_p);
        t[2] = hn::Sub(even_p, odd_p);
        const V even_q = hn::Mul(hn::Set(tag, at_q), d[0]), odd_q = hn::Mul(hn::Set(tag, at_q * q), d[1]);
        t[3] = hn::Add(even_q, odd_q);
        t[4] = hn::Sub(even_q, odd_q);
        t[5] = d[1];
    }
    static HWY_INLINE void sums(const V (&m)[6], V (&w)[5]) {
        const D tag;
        const V s1 = hn::Add(m[1], m[2]), d1 = hn::Sub(m[1], m[2]);
        const V s2 = hn::Add(m[3], m[4]), d2 = hn::Sub(m[3], m[4]);
        w[0] = hn::Add(hn::Add(m[0], s1), s2);
        w[1] = hn::MulAdd(hn::Set(tag, q), d2, hn::Mul(hn::Set(tag, p), d1));
        w[2] = hn::MulAdd(hn::Set(tag, b), s2, hn::Mul(hn::Set(tag, a), s1));
        w[3] = hn::MulAdd(hn::Set(tag, q * b), d2, hn::Mul(hn::Set(tag, p * a), d1));
        w[4] = hn::MulAdd(hn::Set(tag, b * b), s2, hn::MulAdd(hn::Set(tag, a * a), s1, m[5]));
    }
};

// Where a tile lies in an image of `rows` x `columns` cells, of which it reads side x side.
TileInput place_of(const kernels::Strides5& strides, const float* data, std::int64_t n, std::int64_t top,
                   std::int64_t left, std::int64_t rows, std::int64_t columns, int side) {
    const auto clip = [side](std::int64_t v) {
        return static_cast<int>(std::clamp<std::int64_t>(v, 0, side));
    };
    TileInput in{};
    in.row_step = strides[3];
    in.column_step = strides[4];
    in.channel_step = strides[1];
    in.row_begin = clip(-top);
    in.row_end = clip(rows - top);
    in.column_begin = clip(-left);
    in.column_end = clip(columns - left);
    in.first = data + n * strides[0] + top * strides[3] + left * strides[4];
    return in;
}

template <int tile, int window, Reading reading>
HWY_NOINLINE void diff_vector(const TileInput& in, std::int64_t count, float* out, std::int64_t plane) {
    constexpr int side = tile + window - 1;
    const D d;
    V columns[tile][side];  // [column][position down]
#pragma GCC unroll 4
    for (int j = 0; j < tile; ++j) {
        V cells[tile];
#pragma GCC unroll 4
        for (int i = 0; i < tile; ++i) cells[i] = winograd::cell<reading>(in, i, j, count);
        Gradient<tile, window>::diff(cells, columns[j]);
    }
#pragma GCC unroll 6
    for (int i = 0; i < side; ++i) {
        V row[tile], done[side];
#pragma GCC unroll 4
        for (int j = 0; j < tile; ++j) row[j] = columns[j][i];
        Gradient<tile, window>::diff(row, done);
#pragma GCC unroll 6
        for (int j = 0; j < side; ++j) hn::Store(done[j], d, out + (i * side + j) * plane);
    }
}

// transform(in, first channel, channels left, reading) for each vector of a tile's channels.
template <class Transform>
HWY_INLINE void each_vector(TileInput in, std::int64_t channels, int side, const Transform& transform) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
    const bool inside =
        in.row_begin == 0 && in.row_end == side && in.column_begin == 0 && in.column_end == side;
    const float* first = in.first;
    for (std::int64_t c = 0; c < channels; c += lanes) {
        in.first = first + c * in.channel_step;
        const std::int64_t count = std::min(lanes, channels - c);
        const bool gathered = in.channel_step != 1 || count < lanes;
        transform(in, c, count, gathered ? Reading::gathered : inside ? Reading::inside : Reading::clipped);
    }
}

// Tile `index` of the batch to row `row` of both transformed sources.
template <int tile, int window>
void transform_tile(const WinogradBwdFilterJob& job, std::int64_t index, std::int64_t row) {
    const kernels::ConvolutionGeometry& g = job.p.gradient.geometry;
    const std::int64_t n = index / (job.p.tiles_y * job.p.tiles_x);
    const std::int64_t top = index / job.p.tiles_x % job.p.tiles_y * tile,
                       left = index % job.p.tiles_x * tile;
    constexpr int side = tile + window - 1;
    float* x = job.src_tiles + row * job.p.src_row;
    const std::int64_t x_plane = job.src_plane();
    each_vector(
        place_of(g.src_strides, job.src, n, top - g.pads[1], left - g.pads[2], g.src[1], g.src[2], side),
        g.channels, side, [&](const TileInput& in, std::int64_t c, std::int64_t count, Reading reading) {
            if (reading == Reading::inside)
                winograd::transform_vector<tile, window, Reading::inside>(in, count, x + c, x_plane);
            else if (reading == Reading::clipped)
                winograd::transform_vector<tile, window, Reading::clipped>(in, count, x + c, x_plane);
            else
                winograd::transform_vector<tile, window, Reading::gathered>(in, count, x + c, x_plane);
        });
    float* dy = job.diff_tiles + row * job.p.diff_row;
    const std::int64_t dy_plane = job.diff_plane();
    each_vector(place_of(g.dst_strides, job.diff, n, top, left, g.dst[1], g.dst[2], tile), g.outputs, tile,
                [&](const TileInput& in, std::int64_t k, std::int64_t count, Reading reading) {
                    if (reading == Reading::inside)
                        diff_vector<tile, window, Reading::inside>(in, count, dy + k, dy_plane);
                    else if (reading == Reading::clipped)
                        diff_vector<tile, window, Reading::clipped>(in, count, dy + k, dy_plane);
                    else
                        diff_vector<tile, window, Reading::gathered>(in, count, dy + k, dy_plane);
                });
}

void store(const BwdFilterParams& params, float sum, float* at) {
    const float value = params.alpha * sum;
    *at = params.beta == 0 ? value : value + params.beta * *at;
}

// All channels of filter k.
template <int tile, int window>
void store_filter(const WinogradBwdFilterJob& job, std::int64_t k) {
    constexpr int side = tile + window - 1;
    const BwdFilterParams& params = job.p.gradient;
    const kernels::ConvolutionGeometry& g = params.geometry;
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t c = 0; c < g.channels; c += lanes) {
        const float* from = job.sums + (c / job.p.width * g.outputs + k) * job.p.width + c % job.p.width;
        V down[side][window];  // [column][row of the filter]
#pragma GCC unroll 6
        for (int j = 0; j < side; ++j) {
            V cells[side];
#pragma GCC unroll 6
            for (int i = 0; i < side; ++i) cells[i] = hn::LoadU(d, from + (i * side + j) * job.sums_plane());
            Gradient<tile, window>::sums(cells, down[j]);
        }
        for (int i = 0; i < window; ++i) {
            V across[side], done[window];
            for (int j = 0; j < side; ++j) across[j] = down[j][i];
            Gradient<tile, window>::sums(across, done);
            for (int j = 0; j < window; ++j) {
                alignas(64) float values[HWY_MAX_BYTES / sizeof(float)];
                hn::Store(done[j], d, values);
                const int r = g.flipped ? window - 1 - i : i, s = g.flipped ? window - 1 - j : j;
                const kernels::Strides5& f = params.filter_strides;
                float* at = job.dst + params.dst_offset + k * f[0] + c * f[1] + r * f[3] + s * f[4];
                for (std::int64_t lane = 0; lane < std::min(lanes, g.channels - c); ++lane)
                    store(params, values[lane], at + lane * f[1]);
            }
        }
    }
}

void tile_to_row(const WinogradBwdFilterJob& job, std::int64_t index, std::int64_t row) {
    if (job.p.window == 5)
        transform_tile<2, 5>(job, index, row);
    else if (job.p.tile == 2)
        transform_tile<2, 3>(job, index, row);
    else
        transform_tile<4, 3>(job, index, row);
}

void filter_from_sums(const WinogradBwdFilterJob& job, std::int64_t k) {
    if (job.p.window == 5)
        store_filter<2, 5>(job, k);
    else if (job.p.tile == 2)
        store_filter<2, 3>(job, k);
    else
        store_filter<4, 3>(job, k);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convlens::cpu {
namespace {

HWY_EXPORT(tile_to_row);
HWY_EXPORT(filter_from_sums);

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

// Floats of the workspace's parts, each a multiple of 16.
struct Parts {
    std::int64_t src, diff, sums;
};
Parts parts_of(const WinogradBwdFilter& p) {
    const std::int64_t positions = p.positions();
    return {round_up(positions * (p.chunk * p.src_row + 16), 16),
            round_up(positions * (p.chunk * p.diff_row + 16), 16),
            round_up(positions * p.blocks() * p.gradient.geometry.outputs * p.width, 16)};
}

}  // namespace

WinogradBwdFilter winograd_bwd_filter(const BwdFilterParams& gradient, int tile) {
    const kernels::ConvolutionGeometry& g = gradient.geometry;
    WinogradBwdFilter p;
    p.gradient = gradient;
    p.tile = tile;
    p.window = static_cast<int>(g.window[1]);
    p.tiles_y = (g.dst[1] + tile - 1) / tile;
    p.tiles_x = (g.dst[2] + tile - 1) / tile;
    p.tiles = g.batch * p.tiles_y * p.tiles_x;
    const std::int64_t lanes = outer_product_lanes();
    p.src_row = round_up(g.channels, lanes);
    p.diff_row = round_up(g.outputs, lanes);
    p.width = p.src_row > lanes ? 2 * lanes : lanes;
    // Rows of x are read in whole blocks.
    p.src_row = round_up(p.src_row, p.width);
    // Each chunk reads and writes all sums once: a longer chunk is worth more than the cache where they are
    // many.
    const std::int64_t row_bytes =
        p.positions() * (p.src_row + p.diff_row) * static_cast<std::int64_t>(sizeof(float));
    const std::int64_t in_cache = static_cast<std::int64_t>(cache_bytes(2)) / 2 / row_bytes;
    const std::int64_t per_sums = g.channels * g.outputs / (g.channels + g.outputs);
    p.chunk = std::clamp<std::int64_t>(std::max(in_cache, per_sums), 16, std::max<std::int64_t>(p.tiles, 16));
    return p;
}

std::size_t winograd_bwd_filter_workspace_bytes(const WinogradBwdFilter& p) {
    const Parts parts = parts_of(p);
    return static_cast<std::size_t>(parts.src + parts.diff + parts.sums) * sizeof(float);
}

double winograd_bwd_filter_operations(const WinogradBwdFilter& p) {
    const kernels::ConvolutionGeometry& g = p.gradient.geometry;
    const double side = p.side(), each = side == 4 ? 4 : 24, tiles = static_cast<double>(p.tiles);
    const auto channels = static_cast<double>(g.channels), outputs = static_cast<double>(g.outputs);
    return tiles * (2 * side * side * channels * outputs + 2 * side * each * channels +
                    (side + p.tile) * each / 2 * outputs) +
           (side + p.window) * each * channels * outputs;
}

void convolution_winograd_bwd_filter(const WinogradBwdFilter& p, const float* src, const float* diff,
                                     float* dst, void* workspace, ThreadPool& pool) {
    const kernels::ConvolutionGeometry& g = p.gradient.geometry;
    const Parts parts = parts_of(p);
    auto* memory = static_cast<float*>(workspace);
    const WinogradBwdFilterJob job{p,      src + p.gradient.src_offset, diff + p.gradient.diff_offset,  dst,
                                   memory, memory + parts.src,          memory + parts.src + parts.diff};
    // Columns beyond the last channel are multiplied too.
    std::fill_n(memory, parts.src, 0.0f);
    if (p.tiles == 0) std::fill_n(job.sums, parts.sums, 0.0f);
    const std::int64_t blocks = p.blocks();
    for (std::int64_t origin = 0; origin < p.tiles; origin += p.chunk) {
        const std::int64_t count = std::min(p.chunk, p.tiles - origin);
        pool.parallel_for(count, [&](std::int64_t i, int) {
            HWY_DYNAMIC_DISPATCH(tile_to_row)(job, origin + i, i);
        });
        pool.parallel_for(p.positions() * blocks, [&](std::int64_t task, int) {
            const std::int64_t position = task / blocks, block = task % blocks;
            const float* left = job.diff_tiles + position * job.diff_plane();
            const float* right = job.src_tiles + position * job.src_plane() + block * p.width;
            const OuterLines lines{&left, &right, 1, count, p.diff_row, p.src_row};
            outer_product(lines, g.outputs, static_cast<int>(p.width / outer_product_lanes()), origin > 0,
                          job.sums + position * job.sums_plane() + block * g.outputs * p.width);
        });
    }
    pool.parallel_for(g.outputs, [&](std::int64_t k, int) {
        HWY_DYNAMIC_DISPATCH(filter_from_sums)(job, k);
    });
}

}  // namespace convlens::cpu
#endif

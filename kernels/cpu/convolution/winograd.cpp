#include "kernels/cpu/convolution/winograd.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/machine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/winograd.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "kernels/cpu/activation-inl.h"
#include "kernels/cpu/convolution/winograd-inl.h"

#ifndef CONVLENS_KERNELS_CPU_WINOGRAD_JOB
#define CONVLENS_KERNELS_CPU_WINOGRAD_JOB
namespace convlens::cpu {

struct WinogradJob {
    const ConvolutionGeometry& g;
    const WinogradTiling& t;
    const float* src;
    const float* packed;
    const float* bias;
    const float* residual;
    const Activation& activation;
    float* dst;

    // Floats between positions; the odd line keeps the positions of a tile in different sets of the cache.
    std::int64_t src_plane() const { return t.chunk * t.src_row + 16; }
    std::int64_t dst_plane() const { return t.chunk * t.dst_row + 16; }
};

}  // namespace convlens::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using winograd::D;
using winograd::Reading;
using winograd::TileInput;
using winograd::Transform;
using winograd::V;

// Tiles [begin, end) of the batch to rows of `transformed`, where row 0 is tile `origin`.
template <int tile, int window>
void transform_input(const WinogradJob& job, std::int64_t origin, std::int64_t begin, std::int64_t end,
                     float* transformed) {
    constexpr int side = tile + window - 1;
    const ConvolutionGeometry& g = job.g;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
    for (std::int64_t index = begin; index < end; ++index) {
        const std::int64_t n = index / (job.t.tiles_y * job.t.tiles_x);
        const std::int64_t top = index / job.t.tiles_x % job.t.tiles_y * tile - g.pads[1];
        const std::int64_t left = index % job.t.tiles_x * tile - g.pads[2];
        const auto clip = [](std::int64_t v) {
            return static_cast<int>(std::clamp<std::int64_t>(v, 0, side));
        };
        TileInput in{};
        in.row_step = g.src_strides[3];
        in.column_step = g.src_strides[4];
        in.channel_step = g.src_strides[1];
        in.row_begin = clip(-top);
        in.row_end = clip(g.src[1] - top);
        in.column_begin = clip(-left);
        in.column_end = clip(g.src[2] - left);
        const float* first =
            job.src + n * g.src_strides[0] + top * g.src_strides[3] + left * g.src_strides[4];
        const bool inside =
            in.row_begin == 0 && in.row_end == side && in.column_begin == 0 && in.column_end == side;
        float* out = transformed + (index - origin) * job.t.src_row;
        for (std::int64_t c = 0; c < g.channels; c += lanes) {
            in.first = first + c * g.src_strides[1];
            const std::int64_t count = std::min(lanes, g.channels - c);
            if (g.src_strides[1] != 1 || count < lanes)
                winograd::transform_vector<tile, window, Reading::gathered>(in, count, out + c,
                                                                            job.src_plane());
            else if (inside)
                winograd::transform_vector<tile, window, Reading::inside>(in, count, out + c,
                                                                          job.src_plane());
            else
                winograd::transform_vector<tile, window, Reading::clipped>(in, count, out + c,
                                                                           job.src_plane());
        }
    }
}

// Adds bias and residual, activates and stores one cell's vector of `count` outputs.
HWY_INLINE void finish(const WinogradJob& job, V sum, std::int64_t k, std::int64_t at, std::int64_t count) {
    const D d;
    const std::int64_t step = job.g.dst_strides[1];
    const bool whole = step == 1 && count == static_cast<std::int64_t>(hn::Lanes(d));
    alignas(64) float lanes[HWY_MAX_BYTES / sizeof(float)] = {};
    if (job.residual) {
        if (!whole)
            for (std::int64_t i = 0; i < count; ++i) lanes[i] = job.residual[at + (k + i) * step];
        sum = hn::Add(sum, whole ? hn::LoadU(d, job.residual + at + k) : hn::Load(d, lanes));
    }
    if (is_clamp(job.activation))
        sum = clamp_vector(d, sum, hn::Set(d, clamp_low(job.activation)),
                           hn::Set(d, clamp_high(job.activation)));
    else
        sum = activate_vector(d, job.activation, sum);
    if (whole) {
        hn::StoreU(sum, d, job.dst + at + k);
        return;
    }
    hn::Store(sum, d, lanes);
    for (std::int64_t i = 0; i < count; ++i) job.dst[at + (k + i) * step] = lanes[i];
}

template <int tile, int window>
void transform_output(const WinogradJob& job, std::int64_t origin, std::int64_t begin, std::int64_t end,
                      const float* products) {
    constexpr int side = tile + window - 1;
    const ConvolutionGeometry& g = job.g;
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const std::int64_t plane = job.dst_plane();
    for (std::int64_t index = begin; index < end; ++index) {
        const std::int64_t n = index / (job.t.tiles_y * job.t.tiles_x);
        const std::int64_t p = index / job.t.tiles_x % job.t.tiles_y * tile;
        const std::int64_t q = index % job.t.tiles_x * tile;
        const std::int64_t rows = std::min<std::int64_t>(tile, g.dst[1] - p);
        const std::int64_t columns = std::min<std::int64_t>(tile, g.dst[2] - q);
        const std::int64_t at = n * g.dst_strides[0] + p * g.dst_strides[3] + q * g.dst_strides[4];
        const float* row = products + (index - origin) * job.t.dst_row;
        for (std::int64_t k = 0; k < g.outputs; k += lanes) {
            const std::int64_t count = std::min(lanes, g.outputs - k);
            V bias = hn::Zero(d);
            if (job.bias) {
                alignas(64) float values[HWY_MAX_BYTES / sizeof(float)] = {};
                std::copy_n(job.bias + k, count, values);
                bias = hn::Load(d, values);
            }
            V down[side][tile];  // [column][output row]
#pragma GCC unroll 6
            for (int j = 0; j < side; ++j) {
                V cells[side];
#pragma GCC unroll 6
                for (int i = 0; i < side; ++i) cells[i] = hn::Load(d, row + (i * side + j) * plane + k);
                Transform<tile, window>::output(cells, down[j]);
            }
#pragma GCC unroll 4
            for (int i = 0; i < tile; ++i) {
                V across[side], done[tile];
#pragma GCC unroll 6
                for (int j = 0; j < side; ++j) across[j] = down[j][i];
                Transform<tile, window>::output(across, done);
#pragma GCC unroll 4
                for (int j = 0; j < tile; ++j)
                    if (i < rows && j < columns)
                        finish(job, hn::Add(done[j], bias), k,
                               at + i * g.dst_strides[3] + j * g.dst_strides[4], count);
            }
        }
    }
}

std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }

void input_tiles(const WinogradJob& job, std::int64_t origin, std::int64_t begin, std::int64_t end,
                 float* transformed) {
    if (job.t.window == 5)
        transform_input<2, 5>(job, origin, begin, end, transformed);
    else if (job.t.tile == 2)
        transform_input<2, 3>(job, origin, begin, end, transformed);
    else
        transform_input<4, 3>(job, origin, begin, end, transformed);
}

void output_tiles(const WinogradJob& job, std::int64_t origin, std::int64_t begin, std::int64_t end,
                  const float* products) {
    if (job.t.window == 5)
        transform_output<2, 5>(job, origin, begin, end, products);
    else if (job.t.tile == 2)
        transform_output<2, 3>(job, origin, begin, end, products);
    else
        transform_output<4, 3>(job, origin, begin, end, products);
}

}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convlens::cpu {
namespace {

HWY_EXPORT(lanes);
HWY_EXPORT(input_tiles);
HWY_EXPORT(output_tiles);

constexpr double filter_2[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
// Rows (1, x, x^2) / product of the distances from x to the other finite points; the last is infinity's.
constexpr double wp = winograd_p, wq = winograd_q, wa = wp * wp, wb = wq * wq;
constexpr double at_p = 2 * wa * (wa - wb), at_q = 2 * wb * (wb - wa);
constexpr double filter_4[6][3] = {{1 / (wa * wb), 0, 0},
                                   {1 / at_p, wp / at_p, wa / at_p},
                                   {1 / at_p, -wp / at_p, wa / at_p},
                                   {1 / at_q, wq / at_q, wb / at_q},
                                   {1 / at_q, -wq / at_q, wb / at_q},
                                   {0, 0, 1}};

// What tap r of one axis adds at a position: the rows (1, x, x^2, ...) of the points, of five taps too.
double filter_factor(const WinogradTiling& t, int position, int tap) {
    if (t.window == 3) return t.tile == 2 ? filter_2[position][tap] : filter_4[position][tap];
    constexpr double points[6] = {0, wp, -wp, wq, -wq, 0};
    constexpr double scales[6] = {1 / (wa * wb), 1 / at_p, 1 / at_p, 1 / at_q, 1 / at_q, 1};
    if (position == 5) return tap == t.window - 1 ? 1 : 0;
    return scales[position] * std::pow(points[position], tap);
}

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

// The products of positions [begin, end).
void multiply(const WinogradJob& job, std::int64_t tiles, std::int64_t begin, std::int64_t end,
              const float* transformed, float* products) {
    const auto filter = static_cast<std::int64_t>(gemm_packed_size(job.g.channels, job.g.outputs));
    for (std::int64_t i = begin; i < end; ++i)
        gemm(tiles, job.g.outputs, job.g.channels, transformed + i * job.src_plane(), job.t.src_row,
             job.packed + i * filter, {products + i * job.dst_plane(), job.t.dst_row});
}

std::int64_t worker_floats(const WinogradTiling& t) {
    return t.positions() * (t.chunk * (t.src_row + t.dst_row) + 32);
}

}  // namespace

WinogradTiling winograd_tiling(const ConvolutionGeometry& g, int tile, int threads) {
    WinogradTiling t;
    t.tile = tile;
    t.window = static_cast<int>(g.window[1]);
    t.tiles_y = (g.dst[1] + tile - 1) / tile;
    t.tiles_x = (g.dst[2] + tile - 1) / tile;
    t.tiles = g.batch * t.tiles_y * t.tiles_x;
    const std::int64_t width = HWY_DYNAMIC_DISPATCH(lanes)();
    t.src_row = round_up(g.channels, width);
    t.dst_row = round_up(g.outputs, width);
    const std::int64_t rows = gemm_tile_rows();
    const std::int64_t row_bytes =
        t.positions() * (t.src_row + t.dst_row) * static_cast<std::int64_t>(sizeof(float));
    // Each chunk reads the whole filter once: with many channels a longer chunk is worth more than the cache.
    const std::int64_t in_cache = static_cast<std::int64_t>(cache_bytes(2)) / 2 / row_bytes;
    const std::int64_t per_filter = g.channels * g.outputs / (2 * (g.channels + g.outputs));
    const std::int64_t longest =
        std::max<std::int64_t>({in_cache / rows * rows, per_filter / rows * rows, rows});
    if (threads > 1 && t.tiles < 2 * rows * threads) {
        t.shared_chunk = true;
        t.chunk = std::min(t.tiles, std::max(longest, 2 * rows));
        return t;
    }
    // As many chunks as keep all threads busy to the end, of equal length.
    std::int64_t chunks = std::max<std::int64_t>(1, (t.tiles + longest - 1) / longest);
    if (chunks < 8 * threads) chunks = round_up(chunks, threads);
    t.chunk = std::max<std::int64_t>(1, (t.tiles + chunks - 1) / chunks);
    t.workers = std::min<std::int64_t>(threads, (t.tiles + t.chunk - 1) / t.chunk);
    return t;
}

std::size_t winograd_packed_size(const ConvolutionGeometry& g, const WinogradTiling& t) {
    return static_cast<std::size_t>(t.positions()) * gemm_packed_size(g.channels, g.outputs);
}

void winograd_pack(const ConvolutionGeometry& g, const WinogradTiling& t, const float* weights,
                   float* packed) {
    const int side = t.side(), window = t.window, count = window * window;
    const std::int64_t size = g.channels * g.outputs;
    std::vector<float> position(static_cast<std::size_t>(size));
    for (int i = 0; i < side; ++i)
        for (int j = 0; j < side; ++j) {
            // Coefficients of the taps at this position, in double until the sum is complete.
            double taps[25];
            for (int r = 0; r < window; ++r)
                for (int s = 0; s < window; ++s) {
                    const int tap = r * window + s;
                    taps[g.flipped ? count - 1 - tap : tap] = filter_factor(t, i, r) * filter_factor(t, j, s);
                }
            for (std::int64_t k = 0; k < size; ++k) {
                double sum = 0;
                for (int tap = 0; tap < count; ++tap) sum += taps[tap] * weights[k * count + tap];
                position[static_cast<std::size_t>(k)] = static_cast<float>(sum);
            }
            gemm_pack_b(
                g.channels, g.outputs, position.data(), 1, g.channels,
                packed + (i * side + j) * static_cast<std::int64_t>(gemm_packed_size(g.channels, g.outputs)));
        }
}

std::size_t winograd_workspace_bytes(const WinogradTiling& t) {
    const std::int64_t bytes = worker_floats(t) * static_cast<std::int64_t>(sizeof(float));
    return static_cast<std::size_t>(t.workers * round_up(bytes, 64));
}

double winograd_operations(const ConvolutionGeometry& g, const WinogradTiling& t) {
    // Of one vector's transform of input and output, in additions and multiplications.
    const bool small = t.side() == 4;
    const double input = small ? 4 : 24, output = small ? 4 : t.tile == 2 ? 10 : 17;
    const double side = t.side();
    const auto channels = static_cast<double>(g.channels), outputs = static_cast<double>(g.outputs);
    return static_cast<double>(t.tiles) * (2 * side * side * channels * outputs +
                                           2 * side * input * channels + (side + t.tile) * output * outputs);
}

void convolution_winograd(const ConvolutionGeometry& g, const WinogradTiling& t, const float* src,
                          const float* packed, const float* bias, const float* residual,
                          const Activation& activation, float* dst, void* workspace, ThreadPool& pool) {
    const WinogradJob job{g, t, src, packed, bias, residual, activation, dst};
    const std::int64_t worker_size = round_up(worker_floats(t), 16);
    const std::int64_t products_at = t.positions() * job.src_plane();
    auto* memory = static_cast<float*>(workspace);
    const std::int64_t chunks = (t.tiles + t.chunk - 1) / t.chunk;
    if (t.shared_chunk) {
        float* products = memory + products_at;
        for (std::int64_t origin = 0; origin < t.tiles; origin += t.chunk) {
            const std::int64_t count = std::min(t.chunk, t.tiles - origin);
            pool.parallel_for(count, [&](std::int64_t i, int) {
                HWY_DYNAMIC_DISPATCH(input_tiles)(job, origin, origin + i, origin + i + 1, memory);
            });
            pool.parallel_for(t.positions(),
                              [&](std::int64_t i, int) { multiply(job, count, i, i + 1, memory, products); });
            pool.parallel_for(count, [&](std::int64_t i, int) {
                HWY_DYNAMIC_DISPATCH(output_tiles)(job, origin, origin + i, origin + i + 1, products);
            });
        }
        return;
    }
    // A worker owns its slice of the workspace, whichever thread runs it, and takes the next chunk left.
    std::atomic<std::int64_t> next{0};
    pool.parallel_for(t.workers, [&](std::int64_t worker, int) {
        float* transformed = memory + worker * worker_size;
        float* products = transformed + products_at;
        for (std::int64_t chunk = next++; chunk < chunks; chunk = next++) {
            const std::int64_t begin = chunk * t.chunk, end = std::min(t.tiles, begin + t.chunk);
            HWY_DYNAMIC_DISPATCH(input_tiles)(job, begin, begin, end, transformed);
            multiply(job, end - begin, 0, t.positions(), transformed, products);
            HWY_DYNAMIC_DISPATCH(output_tiles)(job, begin, begin, end, products);
        }
    });
}

}  // namespace convlens::cpu
#endif

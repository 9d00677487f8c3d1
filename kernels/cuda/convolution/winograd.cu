#include "kernels/cuda/convolution/winograd.h"

#include <algorithm>
#include <bit>

#include "kernels/cuda/convolution/winograd_planar.h"
#include "kernels/cuda/convolution/winograd_transform.cuh"
#include "kernels/cuda/convolution/winograd_wgmma.h"
#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/gemm/batched_gemm.h"

namespace convlens::cuda {
namespace {

constexpr int block_threads = 128;

using namespace winograd_detail;

// A thread: one channel of one tile. Lanes follow the channels.
template <int tile, int window>
__global__ void __launch_bounds__(block_threads) input_kernel(Job job) {
    constexpr int side = tile + window - 1;
    let_next_kernel_start();
    std::uint32_t local = blockIdx.x * block_threads + threadIdx.x;
    const std::uint32_t channel = job.row.split(local);
    wait_for_previous_kernel();
    if (local >= job.count) return;
    const TilePlace place = place_of(job, local);
    const int top = place.y * tile - job.pad_top, left = place.x * tile - job.pad_left;
    const float* first = job.src + place.image * job.image_step + channel * job.channel_step +
                         top * job.row_step + left * job.column_step;
    const bool real = channel < static_cast<std::uint32_t>(job.channels);  // else padding of the row

    float columns[side][side];  // [column][position down]
#pragma unroll
    for (int j = 0; j < side; ++j) {
        float cells[side];
        const bool column_inside =
            real && static_cast<unsigned>(left + j) < static_cast<unsigned>(job.src_width);
#pragma unroll
        for (int i = 0; i < side; ++i) {
            const bool inside =
                column_inside && static_cast<unsigned>(top + i) < static_cast<unsigned>(job.src_height);
            cells[i] = inside ? first[i * job.row_step + j * job.column_step] : 0.0f;
        }
        WinogradTransform<tile, window>::input(cells, columns[j]);
    }
    float* to = job.transformed + transformed_at(job, local, channel);
#pragma unroll
    for (int i = 0; i < side; ++i) {
        float line[side], done[side];
#pragma unroll
        for (int j = 0; j < side; ++j) line[j] = columns[j][i];
        WinogradTransform<tile, window>::input(line, done);
#pragma unroll
        for (int j = 0; j < side; ++j) to[(i * side + j) * job.plane] = done[j];
    }
}

// A thread: one output channel of one tile.
template <int tile, int window>
__global__ void __launch_bounds__(block_threads) output_kernel(Job job) {
    constexpr int side = tile + window - 1;
    std::uint32_t local = blockIdx.x * block_threads + threadIdx.x;
    const std::uint32_t channel = job.row.split(local);
    let_next_kernel_start();
    wait_for_previous_kernel();
    if (local >= job.count || channel >= static_cast<std::uint32_t>(job.channels)) return;
    const float* from = job.products + static_cast<std::int64_t>(local) * job.row.divisor() + channel;
    float down[side][tile];  // [column][output row]
#pragma unroll
    for (int j = 0; j < side; ++j) {
        float cells[side];
#pragma unroll
        for (int i = 0; i < side; ++i) cells[i] = from[(i * side + j) * job.plane];
        WinogradTransform<tile, window>::output(cells, down[j]);
    }
    const TilePlace place = place_of(job, local);
    finish_tile<tile, window>(job, place, channel, down);
}

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

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

// Transformed input and products of a chunk stay below this.
constexpr std::int64_t most_workspace = std::int64_t{256} << 20;

Job job_of(const WinogradParams& params, std::int64_t origin, std::int64_t count, const Strides5& strides) {
    const ConvolutionGeometry& g = params.geometry;
    const std::int64_t image_tiles = params.tiles_y * params.tiles_x;
    Job job{};
    job.image0 = origin / image_tiles;
    job.tile0 = static_cast<unsigned>(origin % image_tiles);
    job.count = static_cast<unsigned>(count);
    job.tiles_x = FastDivision(params.tiles_x);
    job.image_tiles = FastDivision(image_tiles);
    job.src_height = static_cast<int>(g.src[1]), job.src_width = static_cast<int>(g.src[2]);
    job.dst_height = static_cast<int>(g.dst[1]), job.dst_width = static_cast<int>(g.dst[2]);
    job.pad_top = static_cast<int>(g.pads[1]), job.pad_left = static_cast<int>(g.pads[2]);
    job.image_step = strides[0], job.channel_step = strides[1];
    job.row_step = strides[3], job.column_step = strides[4];
    job.activation = params.activation;
    return job;
}

template <int tile, int window>
void run_input(const Job& job, bool early, Stream stream) {
    if (job.column_step == 1 && job.channel_step != 1) {
        input_planar<tile, window>(job, early, stream);
        return;
    }
    const std::int64_t threads = std::int64_t{job.count} * job.row.divisor();
    launch_dependent(early, input_kernel<tile, window>,
                     dim3(static_cast<unsigned>((threads + block_threads - 1) / block_threads)),
                     dim3(block_threads), 0, stream, job);
}

template <int tile, int window>
void run_output(const Job& job, bool early, Stream stream) {
    if (job.column_step == 1 && job.channel_step != 1) {
        output_planar<tile, window>(job, early, stream);
        return;
    }
    const std::int64_t threads = std::int64_t{job.count} * job.row.divisor();
    launch_dependent(early, output_kernel<tile, window>,
                     dim3(static_cast<unsigned>((threads + block_threads - 1) / block_threads)),
                     dim3(block_threads), 0, stream, job);
}

std::int64_t tile_rows(const WinogradParams& params) { return round_up(params.chunk, winograd_tile_rows); }

// Floats of one position.
std::int64_t transformed_plane(const WinogradParams& params) {
    return params.src_row * (params.wgmma_columns > 0 ? tile_rows(params) : params.chunk);
}
std::int64_t filter_plane(const WinogradParams& params) {
    if (params.wgmma_columns == 0) return params.src_row * params.dst_row;
    return 2 * params.src_row * round_up(params.geometry.outputs, params.wgmma_columns);
}

void run_products(const WinogradParams& params, std::int64_t count, const float* transformed,
                  const float* packed, float* products, bool early, Stream stream) {
    if (params.wgmma_columns > 0) {
        WinogradProducts p;
        p.positions = params.positions(), p.tiles = count;
        p.outputs = params.geometry.outputs, p.channels = params.geometry.channels;
        p.tile_rows = tile_rows(params);
        p.columns = params.wgmma_columns;
        p.transformed = transformed, p.filter = packed, p.products = products;
        p.row = params.dst_row, p.plane = params.chunk * params.dst_row;
        p.multiprocessors = params.traits.multiprocessors;
        winograd_products(p, stream);
        return;
    }
    BatchedGemm gemm;
    gemm.batch = params.positions();
    gemm.rows = count, gemm.columns = params.dst_row, gemm.depth = params.src_row;
    gemm.a = transformed, gemm.a_row = params.src_row, gemm.a_batch = transformed_plane(params);
    gemm.b = packed, gemm.b_row = params.dst_row, gemm.b_batch = filter_plane(params);
    gemm.d = products, gemm.d_row = params.dst_row, gemm.d_batch = params.chunk * params.dst_row;
    gemm.may_split = true;
    gemm.overlaps_previous = early;
    gemm.tile = params.gemm_tile;
    batched_gemm(gemm, params.traits, stream);
}

// Where a filter's value lies in a position's plane; of the high part, in two parts.
std::int64_t filter_at(const WinogradParams& params, std::int64_t k, std::int64_t c) {
    if (params.wgmma_columns == 0) return c * params.dst_row + k;
    const std::int64_t padded = round_up(params.geometry.outputs, params.wgmma_columns);
    return (c / winograd_stage_channels * 2 * padded + k) * winograd_stage_channels +
           winograd_filter_slot(k, c % winograd_stage_channels);
}

// To TF32's 11 bits, ties away from zero.
float rounded_to_tf32(float x) {
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000u) & 0xffffe000u);
}

// What tap r of one axis adds at a position: the rows (1, x, x^2, ...) of the points, of five taps too.
double filter_factor(const WinogradParams& params, int position, int tap) {
    if (params.window == 3) return params.tile == 2 ? filter_2[position % 4][tap] : filter_4[position][tap];
    constexpr double points[6] = {0, wp, -wp, wq, -wq, 0};
    constexpr double scales[6] = {1 / (wa * wb), 1 / at_p, 1 / at_p, 1 / at_q, 1 / at_q, 1};
    if (position == 5) return tap == params.window - 1 ? 1 : 0;
    double power = scales[position];
    for (int i = 0; i < tap; ++i) power *= points[position];
    return power;
}

// All positions of one filter, in double until each is complete.
void transform_filter(const WinogradParams& params, const double (&factors)[6][5], const double (&taps)[5][5],
                      double (&out)[6][6]) {
    const int side = params.side(), window = params.window;
    double down[6][5] = {};
    for (int i = 0; i < side; ++i)
        for (int s = 0; s < window; ++s)
            for (int r = 0; r < window; ++r) down[i][s] += factors[i][r] * taps[r][s];
    for (int i = 0; i < side; ++i)
        for (int j = 0; j < side; ++j) {
            out[i][j] = 0;
            for (int s = 0; s < window; ++s) out[i][j] += factors[j][s] * down[i][s];
        }
}

}  // namespace

bool winograd_fits(const ConvolutionGeometry& g, int tile) {
    constexpr std::int64_t longest = std::int64_t{1} << 30;
    if (g.src[1] > longest || g.src[2] > longest || g.dst[1] > longest || g.dst[2] > longest) return false;
    if (g.pads[1] > longest || g.pads[2] > longest) return false;
    // A chunk has 128 tiles or more.
    if (g.channels > longest / 256 || g.outputs > longest / 256) return false;
    return ((g.dst[1] + tile - 1) / tile) * ((g.dst[2] + tile - 1) / tile) < longest;
}

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Rounds of tiles of winograd_wgmma.h over the multiprocessors, in times of a 128 x 128 tile. Of the narrow
// tiles a multiprocessor has two at a time, and a last one alone is quicker.
double rounds(const WinogradParams& params, std::int64_t columns) {
    const std::int64_t multiprocessors = std::max(1, params.traits.multiprocessors);
    const std::int64_t blocks = params.positions() * ceil_div(params.tiles, winograd_tile_rows) *
                                ceil_div(params.geometry.outputs, columns);
    if (columns == 128) return static_cast<double>(ceil_div(blocks, multiprocessors));
    const std::int64_t whole = blocks / (2 * multiprocessors), rest = blocks % (2 * multiprocessors);
    const double last = rest == 0 ? 0 : rest <= multiprocessors ? 0.55 : 1;
    return 1.08 * (static_cast<double>(whole) + last);
}

// Of the tile of winograd_wgmma.h; 0 where batched_gemm is quicker: its tiles are smaller, and blocks divide
// the depth (measured on an H200).
int choose_columns(const WinogradParams& params) {
    const std::int64_t channels = params.geometry.channels, outputs = params.geometry.outputs;
    if (params.tiles < 40 || channels < 16 || outputs < 32) return 0;
    const std::int64_t narrow =
        params.positions() * ceil_div(params.tiles, winograd_tile_rows) * ceil_div(outputs, 64);
    if (channels >= 192 && narrow < params.traits.multiprocessors) return 0;
    if (!winograd_has_wgmma(params.traits)) return 0;
    return rounds(params, 128) <= rounds(params, 64) ? 128 : 64;
}

}  // namespace

WinogradParams winograd_params(const ConvolutionGeometry& g, int tile, const Activation& activation,
                               const DeviceTraits& traits, int wgmma_columns) {
    WinogradParams params;
    params.geometry = g;
    params.activation = activation;
    params.traits = traits;
    params.tile = tile;
    params.window = static_cast<int>(g.window[1]);
    params.tiles_y = (g.dst[1] + tile - 1) / tile;
    params.tiles_x = (g.dst[2] + tile - 1) / tile;
    params.tiles = g.batch * params.tiles_y * params.tiles_x;
    params.wgmma_columns = wgmma_columns >= 0 ? wgmma_columns : choose_columns(params);
    params.src_row = round_up(g.channels, params.wgmma_columns > 0 ? winograd_stage_channels : 4);
    params.dst_row = round_up(g.outputs, 4);
    const std::int64_t tile_bytes = params.positions() * (params.src_row + params.dst_row) * 4;
    const std::int64_t longest = std::max<std::int64_t>(128, most_workspace / tile_bytes / 128 * 128);
    // Chunks of equal length.
    const std::int64_t chunks = std::max<std::int64_t>(1, (params.tiles + longest - 1) / longest);
    params.chunk = std::min(params.tiles, round_up((params.tiles + chunks - 1) / chunks, 128));
    return params;
}

std::size_t winograd_packed_size(const WinogradParams& params) {
    return static_cast<std::size_t>(params.positions() * filter_plane(params));
}

void winograd_pack(const WinogradParams& params, const float* weights, float* packed) {
    const ConvolutionGeometry& g = params.geometry;
    const int side = params.side(), window = params.window, count = window * window;
    double factors[6][5] = {};
    for (int i = 0; i < side; ++i)
        for (int r = 0; r < window; ++r) factors[i][r] = filter_factor(params, i, r);
    const std::int64_t plane = filter_plane(params);
    const std::int64_t low_at =
        params.wgmma_columns > 0 ? round_up(g.outputs, params.wgmma_columns) * winograd_stage_channels : 0;
    std::fill_n(packed, winograd_packed_size(params), 0.0f);
    for (std::int64_t k = 0; k < g.outputs; ++k)
        for (std::int64_t c = 0; c < g.channels; ++c) {
            const float* from = weights + (k * g.channels + c) * count;
            double taps[5][5], out[6][6];
            for (int tap = 0; tap < count; ++tap)
                taps[tap / window][tap % window] = from[g.flipped ? count - 1 - tap : tap];
            transform_filter(params, factors, taps, out);
            float* to = packed + filter_at(params, k, c);
            for (int i = 0; i < side; ++i)
                for (int j = 0; j < side; ++j, to += plane) {
                    const auto value = static_cast<float>(out[i][j]);
                    *to = low_at > 0 ? rounded_to_tf32(value) : value;
                    if (low_at > 0) to[low_at] = rounded_to_tf32(value - *to);
                }
        }
}

std::size_t winograd_workspace_bytes(const WinogradParams& params) {
    return static_cast<std::size_t>(params.positions() *
                                    (transformed_plane(params) + params.chunk * params.dst_row)) *
           sizeof(float);
}

double winograd_operations(const WinogradParams& params) {
    // Of one column's transform of input and output, in additions and multiplications.
    const bool small = params.side() == 4;
    const double input = small ? 4 : 24, output = small ? 4 : params.tile == 2 ? 10 : 17;
    const double side = params.side();
    const auto channels = static_cast<double>(params.geometry.channels);
    const auto outputs = static_cast<double>(params.geometry.outputs);
    return static_cast<double>(params.tiles) *
           (2 * side * side * channels * outputs + 2 * side * input * channels +
            (side + params.tile) * output * outputs);
}

double winograd_cost(const WinogradParams& params) {
    // Figures of an H200: bytes a microsecond of the memory, and of the caches on the average; operations.
    constexpr double memory = 2.5e6, caches = 4.5e6, small_tiles = 35e6, step = 1.26;
    const auto positions = static_cast<double>(params.positions()), tiles = static_cast<double>(params.tiles);
    const auto channels = static_cast<double>(params.src_row), outputs = static_cast<double>(params.dst_row);
    const double moved =
        positions * 4 *
        (static_cast<double>(filter_plane(params)) / memory + 2 * tiles * (channels + outputs) / caches);
    if (params.wgmma_columns > 0)
        return moved + rounds(params, params.wgmma_columns) * step * channels / winograd_stage_channels;
    return moved + 2 +
           positions * 2 * static_cast<double>(round_up(params.tiles, 16)) * channels * outputs / small_tiles;
}

void winograd(const WinogradParams& params, const float* src, const float* packed, const float* bias,
              const float* residual, float* dst, void* workspace, Stream stream) {
    const ConvolutionGeometry& g = params.geometry;
    auto* transformed = static_cast<float*>(workspace);
    float* products = transformed + params.positions() * transformed_plane(params);
    const bool early = params.traits.major >= 9;
    for (std::int64_t origin = 0; origin < params.tiles; origin += params.chunk) {
        const std::int64_t count = std::min(params.chunk, params.tiles - origin);
        Job input = job_of(params, origin, count, g.src_strides);
        input.src = src;
        input.transformed = transformed;
        input.channels = static_cast<int>(g.channels);
        input.row = FastDivision(params.src_row);
        input.plane = transformed_plane(params);
        input.stage_rows = params.wgmma_columns > 0 ? static_cast<unsigned>(tile_rows(params)) : 0;
        Job output = job_of(params, origin, count, g.dst_strides);
        output.dst = dst, output.bias = bias, output.residual = residual;
        output.products = products;
        output.channels = static_cast<int>(g.outputs);
        output.row = FastDivision(params.dst_row);
        output.plane = params.chunk * params.dst_row;
        if (params.window == 5)
            run_input<2, 5>(input, early, stream);
        else if (params.tile == 2)
            run_input<2, 3>(input, early, stream);
        else
            run_input<4, 3>(input, early, stream);
        run_products(params, count, transformed, packed, products, early, stream);
        if (params.window == 5)
            run_output<2, 5>(output, early, stream);
        else if (params.tile == 2)
            run_output<2, 3>(output, early, stream);
        else
            run_output<4, 3>(output, early, stream);
    }
}

}  // namespace convlens::cuda

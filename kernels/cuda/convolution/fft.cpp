#include "kernels/cuda/convolution/fft.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "kernels/common/filter_spectrum.h"
#include "kernels/cuda/convolution/fft_tiles.h"
#include "kernels/cuda/convolution/winograd_wgmma.h"
#include "kernels/cuda/gemm/batched_gemm.h"

namespace convlens::cuda {
namespace {

using fft::ceil_div;
using fft::round_up;

// Spectra and products of a chunk stay below this.
constexpr std::int64_t most_workspace = std::int64_t{512} << 20;

// Floats of one frequency.
std::int64_t tile_rows(const FftParams& params) {
    return params.wgmma_columns > 0 ? round_up(params.chunk, winograd_tile_rows) : params.chunk;
}
std::int64_t spectra_plane(const FftParams& params) { return params.src_row * tile_rows(params); }
std::int64_t products_plane(const FftParams& params) { return params.dst_row * params.chunk; }
std::int64_t filter_plane(const FftParams& params) {
    if (params.wgmma_columns == 0) return params.src_row * params.dst_row;
    return 2 * params.src_row * round_up(2 * params.geometry.outputs, params.wgmma_columns);
}

// Small tiles serve few rows better, and a narrow product is not worth two splits.
int choose_columns(const FftParams& params) {
    const std::int64_t depth = 2 * params.geometry.channels, columns = 2 * params.geometry.outputs;
    if (params.tiles < 40 || depth < 6 || columns < 32) return 0;
    if (!winograd_has_wgmma(params.traits)) return 0;
    return static_cast<double>(ceil_div(columns, 128)) <= 0.54 * static_cast<double>(ceil_div(columns, 64))
               ? 128
               : 64;
}

void set_side(FftParams& params, int side, bool whole, int wgmma_columns) {
    const ConvolutionGeometry& g = params.geometry;
    params.side = side;
    const fft::Cut cut = fft::cut_of(g, side, whole);
    params.step_y = cut.step_y, params.step_x = cut.step_x;
    params.tiles_y = cut.tiles_y, params.tiles_x = cut.tiles_x;
    params.tiles = cut.tiles;
    params.wgmma_columns = wgmma_columns >= 0 ? wgmma_columns : choose_columns(params);
    params.src_row = round_up(2 * g.channels, params.wgmma_columns > 0 ? winograd_stage_channels : 4);
    params.dst_row = round_up(2 * g.outputs, 4);
    const std::int64_t frequencies = fft::frequencies(side);
    params.chunk =
        fft::chunk_of(params.tiles, frequencies * (params.src_row + params.dst_row) * 4, most_workspace);
    const std::int64_t chunks = params.chunk > 0 ? ceil_div(params.tiles, params.chunk) : 0;

    // Figures of an H200: spectra that transforms write or read, bytes of products, operations; a
    // microsecond.
    const double transforms = fft::transform_rate(side);
    constexpr double memory = 3e6, matrix = 110e6, multipliers = 30e6;
    const auto all = static_cast<double>(params.tiles), f = static_cast<double>(frequencies);
    const auto depth = static_cast<double>(params.src_row), columns = static_cast<double>(params.dst_row);
    const double spectra = 4 * f * all * (depth + columns);
    const double filter = 4 * f * static_cast<double>(chunks) * static_cast<double>(filter_plane(params));
    const auto rows = static_cast<double>(round_up(params.tiles, params.wgmma_columns > 0 ? 128 : 16));
    params.cost =
        6 + spectra / transforms +
        std::max((spectra + filter) / memory,
                 2 * f * rows * depth * columns / (params.wgmma_columns > 0 ? matrix : multipliers));
}

}  // namespace

bool fft_fits(const ConvolutionGeometry& g) {
    constexpr std::int64_t longest = std::int64_t{1} << 29;
    if (g.src[1] > longest || g.src[2] > longest || g.dst[1] > longest || g.dst[2] > longest) return false;
    if (g.pads[1] > longest || g.pads[2] > longest) return false;
    // A chunk has 128 tiles or more, of blocks of 4 channels.
    if (g.channels > (std::int64_t{1} << 20) || g.outputs > (std::int64_t{1} << 20)) return false;
    return g.dst[1] * g.dst[2] < longest;
}

FftParams fft_params(const ConvolutionGeometry& g, const Activation& activation, const DeviceTraits& traits,
                     bool whole, int side, int wgmma_columns) {
    FftParams best;
    best.geometry = g;
    best.activation = activation;
    best.traits = traits;
    for (const int candidate : fft::sides) {
        if (!fft::holds(g, candidate, whole) || (side > 0 && candidate != side)) continue;
        if (fft::shared_bytes(candidate) > traits.shared_bytes_block) continue;
        FftParams params = best;
        set_side(params, candidate, whole, wgmma_columns);
        if (best.side == 0 || params.cost < best.cost) best = params;
        if (whole) break;
    }
    return best;
}

std::size_t fft_packed_size(const FftParams& params) {
    return static_cast<std::size_t>(fft::frequencies(params.side) * filter_plane(params));
}

namespace {

// Where a filter's value lies in a frequency's plane; of the high part, in two parts.
std::int64_t filter_at(const FftParams& params, std::int64_t column, std::int64_t depth) {
    if (params.wgmma_columns == 0) return depth * params.dst_row + column;
    const std::int64_t padded = round_up(2 * params.geometry.outputs, params.wgmma_columns);
    return (depth / winograd_stage_channels * 2 * padded + column) * winograd_stage_channels +
           winograd_filter_slot(column, depth % winograd_stage_channels);
}

// To TF32's 11 bits, ties away from zero.
float rounded_to_tf32(float x) {
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000u) & 0xffffe000u);
}

}  // namespace

void fft_pack(const FftParams& params, const float* weights, float* packed) {
    const ConvolutionGeometry& g = params.geometry;
    const std::int64_t plane = filter_plane(params), taps = g.window[1] * g.window[2];
    const std::int64_t low_at = params.wgmma_columns > 0
                                    ? round_up(2 * g.outputs, params.wgmma_columns) * winograd_stage_channels
                                    : 0;
    std::fill_n(packed, fft_packed_size(params), 0.0f);
    // The transform of src is twice its value.
    kernels::FilterSpectrum spectrum(params.side, params.side, g.window[1], g.window[2], g.flipped,
                                     0.5 / (static_cast<double>(params.side) * params.side));
    // Channels that lie side by side in a stage are written together.
    const std::int64_t frequencies = fft::frequencies(params.side), group = winograd_stage_channels / 2;
    std::vector<double> re(static_cast<std::size_t>(group * frequencies)), im(re);
    const auto store = [&](float* to, double value) {
        const auto x = static_cast<float>(value);
        *to = low_at > 0 ? rounded_to_tf32(x) : x;
        if (low_at > 0) to[low_at] = rounded_to_tf32(x - *to);
    };
    for (std::int64_t k = 0; k < g.outputs; ++k)
        for (std::int64_t c0 = 0; c0 < g.channels; c0 += group) {
            const std::int64_t count = std::min(group, g.channels - c0);
            // x times the conjugate of w, as (re, im) of x times a matrix of 2 x 2.
            std::int64_t places[winograd_stage_channels / 2][4];
            for (std::int64_t i = 0; i < count; ++i) {
                const std::int64_t c = c0 + i;
                spectrum.transform(weights + (k * g.channels + c) * taps, re.data() + i * frequencies,
                                   im.data() + i * frequencies);
                for (std::int64_t part = 0; part < 4; ++part)
                    places[i][part] = filter_at(params, 2 * k + part / 2, 2 * c + part % 2);
            }
            for (std::int64_t f = 0; f < frequencies; ++f)
                for (std::int64_t i = 0; i < count; ++i) {
                    const auto at = static_cast<std::size_t>(i * frequencies + f);
                    float* to = packed + f * plane;
                    store(to + places[i][0], re[at]);
                    store(to + places[i][1], im[at]);
                    store(to + places[i][2], -im[at]);
                    store(to + places[i][3], re[at]);
                }
        }
}

std::size_t fft_workspace_bytes(const FftParams& params) {
    return static_cast<std::size_t>(fft::frequencies(params.side) *
                                    (spectra_plane(params) + products_plane(params))) *
           sizeof(float);
}

double fft_operations(const FftParams& params) {
    const auto tiles = static_cast<double>(params.tiles), f = double(fft::frequencies(params.side));
    const auto c = static_cast<double>(params.geometry.channels),
               k = static_cast<double>(params.geometry.outputs);
    return tiles * (8 * f * c * k + fft::transform_operations(params.side) * (c + k));
}

namespace {

void run_products(const FftParams& params, std::int64_t count, const float* spectra, const float* packed,
                  float* products, bool early, Stream stream) {
    if (params.wgmma_columns > 0) {
        WinogradProducts p;
        p.positions = fft::frequencies(params.side), p.tiles = count;
        p.outputs = 2 * params.geometry.outputs, p.channels = 2 * params.geometry.channels;
        p.tile_rows = tile_rows(params);
        p.columns = params.wgmma_columns;
        p.transformed = spectra, p.filter = packed, p.products = products;
        p.row = params.dst_row, p.plane = products_plane(params);
        p.multiprocessors = params.traits.multiprocessors;
        winograd_products(p, stream);
        return;
    }
    BatchedGemm gemm;
    gemm.batch = fft::frequencies(params.side);
    gemm.rows = count, gemm.columns = params.dst_row, gemm.depth = params.src_row;
    gemm.a = spectra, gemm.a_row = params.src_row, gemm.a_batch = spectra_plane(params);
    gemm.b = packed, gemm.b_row = params.dst_row, gemm.b_batch = filter_plane(params);
    gemm.d = products, gemm.d_row = params.dst_row, gemm.d_batch = products_plane(params);
    gemm.may_split = true;
    gemm.overlaps_previous = early;
    batched_gemm(gemm, params.traits, stream);
}

}  // namespace

void convolution_fft(const FftParams& params, const float* src, const float* packed, const float* bias,
                     const float* residual, float* dst, void* workspace, Stream stream) {
    const ConvolutionGeometry& g = params.geometry;
    auto* spectra = static_cast<float*>(workspace);
    float* products = spectra + fft::frequencies(params.side) * spectra_plane(params);
    const bool early = params.traits.major >= 9;
    const fft::Cut cut{params.step_y, params.step_x, params.tiles_y, params.tiles_x, params.tiles};
    for (std::int64_t origin = 0; origin < params.tiles; origin += params.chunk) {
        const std::int64_t count = std::min(params.chunk, params.tiles - origin);
        fft::ForwardJob input;
        input.tiles = fft::tiles_of(cut, origin, count);
        fft::set_tensor(input.tiles, g.src, g.src_strides, g.channels, params.src_row);
        input.tiles.extent_y = input.tiles.extent_x = params.side;
        input.tiles.pad_top = static_cast<int>(g.pads[1]), input.tiles.pad_left = static_cast<int>(g.pads[2]);
        input.src = src;
        input.spectra = spectra;
        input.plane = spectra_plane(params);
        input.stage_rows = params.wgmma_columns > 0 ? static_cast<unsigned>(tile_rows(params)) : 0;
        fft::InverseJob output;
        output.tiles = fft::tiles_of(cut, origin, count);
        fft::set_tensor(output.tiles, g.dst, g.dst_strides, g.outputs, params.dst_row);
        output.tiles.extent_y = output.tiles.step_y, output.tiles.extent_x = output.tiles.step_x;
        output.spectra = products;
        output.plane = products_plane(params);
        output.dst = dst, output.bias = bias, output.residual = residual;
        output.activation = params.activation;
        fft::forward(params.side, input, early, stream);
        run_products(params, count, spectra, packed, products, early, stream);
        fft::inverse(params.side, output, early, stream);
    }
}

}  // namespace convlens::cuda

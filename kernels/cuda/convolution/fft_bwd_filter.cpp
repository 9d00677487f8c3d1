#include "kernels/cuda/convolution/fft_bwd_filter.h"

#include <algorithm>
#include <bit>

#include "kernels/cuda/convolution/fft_filter_products.h"
#include "kernels/cuda/convolution/fft_tiles.h"

namespace convlens::cuda {
namespace {

// Spectra of a chunk stay below this.
constexpr std::int64_t most_workspace = std::int64_t{512} << 20;

// Floats of one frequency.
std::int64_t src_plane(const FftFilterParams& params) { return params.src_row * params.chunk; }
std::int64_t diff_plane(const FftFilterParams& params) { return params.diff_row * params.chunk; }
std::int64_t sum_plane(const FftFilterParams& params) { return params.diff_row / 2 * params.src_row; }

void set_side(FftFilterParams& params, int side, bool whole) {
    const ConvolutionGeometry& g = params.geometry;
    const fft::Cut cut = fft::cut_of(g, side, whole);
    params.side = side;
    params.step_y = cut.step_y, params.step_x = cut.step_x;
    params.tiles_y = cut.tiles_y, params.tiles_x = cut.tiles_x;
    params.tiles = cut.tiles;
    params.src_row = fft::round_up(2 * g.channels, 4);
    params.diff_row = fft::round_up(2 * g.outputs, 4);
    const std::int64_t frequencies = fft::frequencies(side);
    params.chunk =
        fft::chunk_of(cut.tiles, frequencies * (params.src_row + params.diff_row) * 4, most_workspace);

    // Figures of an H200: spectra that transforms write or read, bytes of products, operations; a
    // microsecond.
    const double transforms = fft::transform_rate(side);
    constexpr double memory = 3e6, matrix = 50e6;
    const auto all = static_cast<double>(params.tiles), f = static_cast<double>(frequencies);
    const auto c = static_cast<double>(params.src_row), k = static_cast<double>(params.diff_row);
    const auto chunks = static_cast<double>(
        fft::ceil_div(std::max<std::int64_t>(1, params.tiles), std::max<std::int64_t>(1, params.chunk)));
    const double spectra = 4 * f * all * (c + k), sums = 4 * f * c * k / 2;
    const auto padded_c = static_cast<double>(fft::round_up(params.src_row, 64)),
               padded_k = static_cast<double>(fft::round_up(params.diff_row, 128));
    params.cost = 8 + (spectra + sums) / transforms +
                  std::max((spectra + chunks * sums) / memory, 2 * f * all * padded_c * padded_k / matrix);
}

}  // namespace

FftFilterParams fft_filter_params(const ConvolutionGeometry& g, const Strides5& filter_strides,
                                  const DeviceTraits& traits, bool whole, int side) {
    FftFilterParams best;
    best.geometry = g;
    best.filter_strides = filter_strides;
    best.traits = traits;
    for (const int candidate : fft::sides) {
        if (!fft::holds(g, candidate, whole) || (side > 0 && candidate != side)) continue;
        if (fft::shared_bytes(candidate) > traits.shared_bytes_block) continue;
        FftFilterParams params = best;
        set_side(params, candidate, whole);
        if (best.side == 0 || params.cost < best.cost) best = params;
        if (whole) break;
    }
    return best;
}

std::size_t fft_filter_workspace_bytes(const FftFilterParams& params) {
    return static_cast<std::size_t>(fft::frequencies(params.side) *
                                    (src_plane(params) + diff_plane(params) + sum_plane(params))) *
           sizeof(float);
}

double fft_filter_operations(const FftFilterParams& params) {
    const auto tiles = static_cast<double>(params.tiles);
    const auto f = static_cast<double>(fft::frequencies(params.side));
    const auto c = static_cast<double>(params.geometry.channels),
               k = static_cast<double>(params.geometry.outputs);
    return 8 * f * tiles * c * k + fft::transform_operations(params.side) * (tiles * (c + k) + c * k);
}

void convolution_fft_bwd_filter(const FftFilterParams& params, const float* src, const float* diff,
                                float* dst, void* workspace, Stream stream) {
    const ConvolutionGeometry& g = params.geometry;
    const std::int64_t frequencies = fft::frequencies(params.side);
    auto* src_spectra = static_cast<float*>(workspace);
    float* diff_spectra = src_spectra + frequencies * src_plane(params);
    float* sums = diff_spectra + frequencies * diff_plane(params);
    const bool early = params.traits.major >= 9;
    const fft::Cut cut{params.step_y, params.step_x, params.tiles_y, params.tiles_x, params.tiles};
    std::int64_t origin = 0;
    // Once without tiles too: the products are zeros then.
    do {
        const std::int64_t count = std::min(params.chunk, params.tiles - origin);
        fft::ForwardJob input;
        input.tiles = fft::tiles_of(cut, origin, count);
        fft::set_tensor(input.tiles, g.src, g.src_strides, g.channels, params.src_row);
        input.tiles.extent_y = input.tiles.extent_x = params.side;
        input.tiles.pad_top = static_cast<int>(g.pads[1]), input.tiles.pad_left = static_cast<int>(g.pads[2]);
        input.src = src, input.spectra = src_spectra, input.plane = src_plane(params);
        if (count > 0) fft::forward(params.side, input, early, stream);
        fft::ForwardJob gradient;
        gradient.tiles = fft::tiles_of(cut, origin, count);
        fft::set_tensor(gradient.tiles, g.dst, g.dst_strides, g.outputs, params.diff_row);
        gradient.tiles.extent_y = gradient.tiles.step_y, gradient.tiles.extent_x = gradient.tiles.step_x;
        gradient.src = diff, gradient.spectra = diff_spectra, gradient.plane = diff_plane(params);
        if (count > 0) fft::forward(params.side, gradient, early, stream);
        fft::FilterProducts p;
        p.frequencies = frequencies, p.tiles = count;
        p.diff_row = params.diff_row, p.src_row = params.src_row;
        p.diff_plane = diff_plane(params), p.src_plane = src_plane(params), p.d_plane = sum_plane(params);
        p.diff = diff_spectra, p.src = src_spectra, p.d = sums;
        p.accumulate = origin > 0;
        fft::filter_products(p, early, stream);
        origin += params.chunk;
    } while (origin < params.tiles);
    // A filter of each k is an image of one tile.
    fft::InverseJob output;
    output.tiles = fft::tiles_of({g.window[1], g.window[2], 1, 1, g.outputs}, 0, g.outputs);
    fft::set_tensor(output.tiles, g.window, params.filter_strides, g.channels, params.src_row);
    output.tiles.extent_y = output.tiles.step_y, output.tiles.extent_x = output.tiles.step_x;
    output.spectra = sums, output.plane = sum_plane(params);
    output.dst = dst;
    // Both transforms are twice their value.
    output.alpha = static_cast<float>(params.alpha * 0.25 / (static_cast<double>(params.side) * params.side));
    output.beta = params.beta;
    output.flipped = g.flipped;
    fft::inverse(params.side, output, early, stream);
}

}  // namespace convlens::cuda

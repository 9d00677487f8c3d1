#include "kernels/cpu/convolution/fft.h"

#include <vector>

#include "kernels/common/filter_spectrum.h"
#include "kernels/cpu/convolution/fft_tiling.h"
#include "kernels/cpu/gemm/gemm.h"

namespace convlens::cpu {
namespace {

using fft_detail::ceil_div;
using fft_detail::round_up;

// Floats of one tile's spectra.
std::int64_t src_floats(const FftTiling& t) { return t.shape.frequencies() * 3 * t.src_row + 16; }
std::int64_t dst_floats(const FftTiling& t) { return t.shape.frequencies() * 2 * t.dst_row + 16; }

FftTiling cut(const ConvolutionGeometry& g, std::int64_t side, bool whole) {
    FftTiling t;
    fft_detail::set_cut(t, g, side, side, whole);
    const std::int64_t lanes = fft_lanes();
    t.src_row = round_up(g.channels, lanes);
    t.dst_row = round_up(g.outputs, lanes);
    t.chunk = fft_detail::chunk_of(t.tiles, (src_floats(t) + dst_floats(t)) * 4);
    const auto channels = static_cast<double>(g.channels), outputs = static_cast<double>(g.outputs);
    const double chunks = static_cast<double>(t.chunk > 0 ? ceil_div(t.tiles, t.chunk) : 1);
    const double frequencies = static_cast<double>(t.shape.frequencies());
    t.cost =
        static_cast<double>(t.tiles) * (6 * frequencies * channels * outputs +
                                        static_cast<double>(t.src_row + t.dst_row) *
                                            fft_detail::transform_cost(t.shape.rows(), t.shape.columns())) +
        chunks * fft_detail::cost_of_a_float * 3 * frequencies * channels * outputs;
    return t;
}

}  // namespace

FftTiling fft_tiling(const ConvolutionGeometry& g, bool whole, int threads, std::int64_t side) {
    // Larger than all sides where the window is.
    FftTiling best = cut(g, fft_good_length(2 * std::max(g.window[1], g.window[2])), whole);
    if (side > 0)
        best = cut(g, side, whole);
    else if (!whole)
        for (const std::int64_t candidate : fft_detail::sides) {
            if (candidate < std::max(g.window[1], g.window[2])) continue;
            const FftTiling t = cut(g, candidate, whole);
            if (t.cost < best.cost) best = t;
        }
    fft_detail::set_lengths(best);
    best.workers = threads;
    return best;
}

std::size_t fft_packed_size(const ConvolutionGeometry& g, const FftTiling& t) {
    return static_cast<std::size_t>(3 * t.shape.frequencies()) * gemm_packed_size(g.channels, g.outputs);
}

void fft_pack(const ConvolutionGeometry& g, const FftTiling& t, const float* weights, float* packed) {
    const std::int64_t frequencies = t.shape.frequencies(), taps = g.window[1] * g.window[2];
    const auto matrix = static_cast<std::int64_t>(gemm_packed_size(g.channels, g.outputs));
    const std::int64_t columns = gemm_panel_columns(), plane = g.channels * columns;
    // The transform of src is twice its value.
    kernels::FilterSpectrum spectrum(
        t.shape.rows(), t.shape.columns(), g.window[1], g.window[2], g.flipped,
        0.5 / (static_cast<double>(t.shape.rows()) * static_cast<double>(t.shape.columns())));
    // The filters of one channel side by side, then the panel's matrices of all frequencies: written in whole
    // lines.
    std::vector<double> re(static_cast<std::size_t>(frequencies * columns)), im(re);
    std::vector<float> panel(static_cast<std::size_t>(3 * frequencies * plane));
    for (std::int64_t k0 = 0; k0 < g.outputs; k0 += columns) {
        const std::int64_t width = std::min(columns, g.outputs - k0);
        for (std::int64_t c = 0; c < g.channels; ++c) {
            for (std::int64_t k = 0; k < width; ++k)
                spectrum.transform(weights + ((k0 + k) * g.channels + c) * taps, re.data() + k * frequencies,
                                   im.data() + k * frequencies);
            float* to = panel.data() + c * columns;
            for (std::int64_t f = 0; f < frequencies; ++f, to += 3 * plane)
                for (std::int64_t k = 0; k < width; ++k) {
                    const auto at = static_cast<std::size_t>(k * frequencies + f);
                    to[k] = static_cast<float>(re[at]);
                    to[plane + k] = static_cast<float>(im[at] - re[at]);
                    to[2 * plane + k] = static_cast<float>(-(re[at] + im[at]));
                }
        }
        for (std::int64_t i = 0; i < 3 * frequencies; ++i)
            gemm_pack_b(g.channels, width, panel.data() + i * plane, columns, 1,
                        packed + i * matrix + k0 * g.channels);
    }
}

std::size_t fft_workspace_bytes(const FftTiling& t) {
    const std::int64_t floats =
        t.chunk * (src_floats(t) + dst_floats(t)) + t.workers * fft_scratch_floats(t.shape);
    return static_cast<std::size_t>(round_up(floats * static_cast<std::int64_t>(sizeof(float)), 64));
}

double fft_operations(const ConvolutionGeometry& g, const FftTiling& t) {
    const auto channels = static_cast<double>(g.channels), outputs = static_cast<double>(g.outputs);
    const double transform = fft_detail::transform_operations(t.shape.rows(), t.shape.columns());
    return static_cast<double>(t.tiles) *
           (6 * static_cast<double>(t.shape.frequencies()) * channels * outputs +
            transform * (channels + outputs));
}

namespace {

// x * conj(w) of one frequency for all tiles of a chunk; the first product is used twice.
void multiply(const ConvolutionGeometry& g, const FftTiling& t, std::int64_t tiles, const float* src,
              const float* filter, float* dst) {
    const auto matrix = static_cast<std::int64_t>(gemm_packed_size(g.channels, g.outputs));
    const std::int64_t lda = src_floats(t), ldc = dst_floats(t);
    gemm(tiles, g.outputs, g.channels, src, lda, filter, {.c = dst, .ldc = ldc});
    GemmEpilogue add_first;
    add_first.residual = dst;
    gemm(tiles, g.outputs, g.channels, src + 2 * t.src_row, lda, filter + 2 * matrix,
         {.c = dst + t.dst_row, .ldc = ldc}, add_first);
    gemm(tiles, g.outputs, g.channels, src + t.src_row, lda, filter + matrix,
         {.c = dst, .ldc = ldc, .accumulate = true});
}

}  // namespace

void convolution_fft(const ConvolutionGeometry& g, const FftTiling& t, const float* src, const float* packed,
                     const float* bias, const float* residual, const Activation& activation, float* dst,
                     void* workspace, ThreadPool& pool) {
    const FftTiles from = fft_detail::src_tiles(t, g), to = fft_detail::dst_tiles(t, g);
    const FftForward forward{t.shape, from, src, FftParts::x, 1, t.src_row};
    const FftInverse inverse{t.shape,    to, t.dst_row, 2 * t.dst_row, bias, residual,
                             activation, 1,  0,         false,         dst};
    auto* scratch = static_cast<float*>(workspace);
    const std::int64_t scratch_floats = fft_scratch_floats(t.shape);
    float* spectra = scratch + t.workers * scratch_floats;
    float* products = spectra + t.chunk * src_floats(t);
    const auto filter = static_cast<std::int64_t>(3 * gemm_packed_size(g.channels, g.outputs));
    for (std::int64_t origin = 0; origin < t.tiles; origin += t.chunk) {
        const std::int64_t count = std::min(t.chunk, t.tiles - origin);
        fft_detail::for_each_vector(pool, t.workers, count, g.channels, scratch, scratch_floats,
                                    [&](std::int64_t tile, std::int64_t channel, float* memory) {
                                        fft_forward(forward, origin + tile, channel,
                                                    spectra + tile * src_floats(t) + channel, memory);
                                    });
        pool.parallel_for(t.shape.frequencies(), [&](std::int64_t f, int) {
            multiply(g, t, count, spectra + f * 3 * t.src_row, packed + f * filter,
                     products + f * 2 * t.dst_row);
        });
        fft_detail::for_each_vector(pool, t.workers, count, g.outputs, scratch, scratch_floats,
                                    [&](std::int64_t tile, std::int64_t channel, float* memory) {
                                        fft_inverse(inverse, origin + tile, channel,
                                                    products + tile * dst_floats(t) + channel, memory);
                                    });
    }
}

}  // namespace convlens::cpu

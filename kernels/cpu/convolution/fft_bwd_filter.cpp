#include "kernels/cpu/convolution/fft_bwd_filter.h"

#include "kernels/cpu/convolution/fft_tiling.h"
#include "kernels/cpu/gemm/outer_product.h"

namespace convlens::cpu {
namespace {

using fft_detail::ceil_div;
using fft_detail::round_up;

// Floats of one tile's spectra.
std::int64_t src_floats(const FftFilterTiling& t) { return t.shape.frequencies() * 3 * t.src_row + 16; }
std::int64_t diff_floats(const FftFilterTiling& t) { return t.shape.frequencies() * 3 * t.diff_row + 16; }
// Of one part of the sums of one frequency, which lie as block of channels, k, channel.
std::int64_t sum_floats(const FftFilterTiling& t) { return t.outputs * t.src_row; }

FftFilterTiling cut(const ConvolutionGeometry& g, std::int64_t side, bool whole) {
    FftFilterTiling t;
    fft_detail::set_cut(t, g, side, side, whole);
    const std::int64_t lanes = fft_lanes();
    t.src_row = round_up(g.channels, lanes);
    t.diff_row = round_up(g.outputs, lanes);
    t.outputs = g.outputs;
    t.chunk = fft_detail::chunk_of(t.tiles, (src_floats(t) + diff_floats(t)) * 4);
    const auto channels = static_cast<double>(g.channels), outputs = static_cast<double>(g.outputs);
    const double chunks = static_cast<double>(t.chunk > 0 ? ceil_div(t.tiles, t.chunk) : 1);
    const auto frequencies = static_cast<double>(t.shape.frequencies()), tiles = static_cast<double>(t.tiles);
    const double transform = fft_detail::transform_cost(t.shape.rows(), t.shape.columns());
    t.cost = 6 * frequencies * tiles * channels * outputs +
             transform * (tiles * static_cast<double>(t.src_row + t.diff_row) +
                          static_cast<double>(t.src_row) * outputs) +
             chunks * fft_detail::cost_of_a_float * 3 * frequencies * channels * outputs;
    return t;
}

// The three products of one frequency over the tiles of a chunk; the last chunk's become re and im.
void multiply(const FftFilterTiling& t, std::int64_t tiles, bool add, bool last, const float* src,
              const float* diff, float* sums) {
    const std::int64_t lanes = outer_product_lanes();
    for (std::int64_t part = 0; part < 3; ++part) {
        float* c = sums + part * sum_floats(t);
        for (std::int64_t at = 0; at < t.src_row; at += 2 * lanes) {
            const int vectors = at + lanes < t.src_row ? 2 : 1;
            const float *a = diff + part * t.diff_row, *b = src + part * t.src_row + at;
            outer_product({&a, &b, 1, tiles, diff_floats(t), src_floats(t)}, t.outputs, vectors, add,
                          c + at * t.outputs);
        }
    }
    if (!last) return;
    const std::int64_t count = sum_floats(t);
    float *re = sums, *im = sums + count, *third = im + count;
    for (std::int64_t i = 0; i < count; ++i) {
        const float first = re[i];
        re[i] = first + im[i];
        im[i] = first + third[i];
    }
}

}  // namespace

FftFilterTiling fft_filter_tiling(const ConvolutionGeometry& g, bool whole, int threads, std::int64_t side) {
    // Larger than all sides where the window is.
    FftFilterTiling best = cut(g, fft_good_length(2 * std::max(g.window[1], g.window[2])), whole);
    if (side > 0)
        best = cut(g, side, whole);
    else if (!whole)
        for (const std::int64_t candidate : fft_detail::sides) {
            if (candidate < std::max(g.window[1], g.window[2])) continue;
            const FftFilterTiling t = cut(g, candidate, whole);
            if (t.cost < best.cost) best = t;
        }
    fft_detail::set_lengths(best);
    best.workers = threads;
    return best;
}

std::size_t fft_filter_workspace_bytes(const FftFilterTiling& t) {
    const std::int64_t floats = t.chunk * (src_floats(t) + diff_floats(t)) +
                                t.shape.frequencies() * 3 * sum_floats(t) +
                                t.workers * fft_scratch_floats(t.shape);
    return static_cast<std::size_t>(round_up(floats * static_cast<std::int64_t>(sizeof(float)), 64));
}

double fft_filter_operations(const ConvolutionGeometry& g, const FftFilterTiling& t) {
    const auto channels = static_cast<double>(g.channels), outputs = static_cast<double>(g.outputs);
    const auto frequencies = static_cast<double>(t.shape.frequencies()), tiles = static_cast<double>(t.tiles);
    const double transform = fft_detail::transform_operations(t.shape.rows(), t.shape.columns());
    return 6 * frequencies * tiles * channels * outputs +
           transform * (tiles * (channels + outputs) + channels * outputs);
}

void convolution_fft_bwd_filter(const kernels::BwdFilterParams& params, const FftFilterTiling& t,
                                const float* src, const float* diff, float* dst, void* workspace,
                                ThreadPool& pool) {
    const ConvolutionGeometry& g = params.geometry;
    const FftTiles src_tiles = fft_detail::src_tiles(t, g), diff_tiles = fft_detail::dst_tiles(t, g);
    const FftForward src_job{t.shape, src_tiles, src + params.src_offset, FftParts::x, 1, t.src_row};
    const FftForward diff_job{t.shape, diff_tiles, diff + params.diff_offset, FftParts::w, 1, t.diff_row};
    auto* scratch = static_cast<float*>(workspace);
    const std::int64_t scratch_floats = fft_scratch_floats(t.shape);
    float* src_spectra = scratch + t.workers * scratch_floats;
    float* diff_spectra = src_spectra + t.chunk * src_floats(t);
    float* sums = diff_spectra + t.chunk * diff_floats(t);
    std::int64_t origin = 0;
    // Once without tiles too: the products are zeros then.
    do {
        const std::int64_t count = std::min(t.chunk, t.tiles - origin);
        fft_detail::for_each_vector(pool, t.workers, count, g.channels, scratch, scratch_floats,
                                    [&](std::int64_t tile, std::int64_t channel, float* memory) {
                                        fft_forward(src_job, origin + tile, channel,
                                                    src_spectra + tile * src_floats(t) + channel, memory);
                                    });
        fft_detail::for_each_vector(pool, t.workers, count, g.outputs, scratch, scratch_floats,
                                    [&](std::int64_t tile, std::int64_t channel, float* memory) {
                                        fft_forward(diff_job, origin + tile, channel,
                                                    diff_spectra + tile * diff_floats(t) + channel, memory);
                                    });
        pool.parallel_for(t.shape.frequencies(), [&](std::int64_t f, int) {
            multiply(t, count, origin > 0, origin + count >= t.tiles, src_spectra + f * 3 * t.src_row,
                     diff_spectra + f * 3 * t.diff_row, sums + f * 3 * sum_floats(t));
        });
        origin += count;
    } while (origin < t.tiles);
    // The filters of each k are an image of one tile. Both transforms are twice their value.
    const double cells = static_cast<double>(t.shape.rows()) * static_cast<double>(t.shape.columns());
    const FftTiles filters{1, 1, g.window[1], g.window[2], g.window[1], g.window[2],
                           0, 0, g.window[1], g.window[2], g.channels,  params.filter_strides};
    FftInverse inverse{t.shape, filters, sum_floats(t), 3 * sum_floats(t),      nullptr, nullptr, {},
                       1,       0,       false,         dst + params.dst_offset};
    inverse.alpha = static_cast<float>(params.alpha * 0.25 / cells);
    inverse.beta = params.beta;
    inverse.flipped = g.flipped;
    const std::int64_t block = 2 * outer_product_lanes();
    fft_detail::for_each_vector(
        pool, t.workers, g.outputs, g.channels, scratch, scratch_floats,
        [&](std::int64_t k, std::int64_t channel, float* memory) {
            const std::int64_t first = channel / block * block, width = std::min(block, t.src_row - first);
            fft_inverse(inverse, k, channel, sums + first * t.outputs + k * width + channel - first, memory);
        });
}

}  // namespace convlens::cpu

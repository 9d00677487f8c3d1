// The processor's part: what can be done, choice of the tile, packing.
#include "kernels/cuda/convolution/wgmma_convolution.h"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/convolution/round_operand.h"
#include "kernels/cuda/convolution/wgmma_args.h"

namespace convlens::cuda {
namespace {

constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t step) {
    return (value + step - 1) / step * step;
}

std::int64_t cells_of(const ConvolutionGeometry& g) { return g.batch * g.dst[1] * g.dst[2]; }

std::int64_t chunk_of(ElementType type) { return 16 / static_cast<std::int64_t>(size_of(type)); }

// Whether tensor maps can read src where it lies.
bool is_direct(const ConvolutionGeometry& g, std::int64_t chunk) {
    const Strides5& s = g.src_strides;
    const auto fits = [&](std::int64_t length, std::int64_t stride) {
        return length == 1 || (stride > 0 && stride % chunk == 0 && stride < (std::int64_t{1} << 36));
    };
    return g.channels % chunk == 0 && s[1] == 1 && fits(g.batch, s[0]) && fits(g.src[1], s[3]) &&
           fits(g.src[2], s[4]);
}

// Cells of a tile of `rows` that lie in one row of dst, so that the tiles cover least beyond dst.
int best_tile_w(const ConvolutionGeometry& g, int rows) {
    int best = 8;
    std::int64_t least = 0;
    for (int w = 8; w <= rows; w *= 2) {
        const std::int64_t cells = rounded_up(g.dst[2], w) * rounded_up(g.dst[1], rows / w);
        if (least == 0 || cells <= least) best = w, least = cells;
    }
    return best;
}

std::int64_t tiles_of_cells(const WgmmaConvolution& p, int rows) {
    const ConvolutionGeometry& g = p.geometry;
    if (p.source != WgmmaSource::runs) return (cells_of(g) + rows - 1) / rows;
    const int w = best_tile_w(g, rows), h = rows / w;
    return g.batch * (rounded_up(g.dst[2], w) / w) * (rounded_up(g.dst[1], h) / h);
}

// Nanoseconds of one step of one tile on a multiprocessor: the tensor core's, or the copies' from the L2
// cache; and of what comes before and after all steps. Measured on H200.
double step_ns(const wgmma::WgmmaTile& tile, ElementType type, MmaMath math) {
    const wgmma::FilterLayout layout = wgmma::filter_layout(type, math);
    const double products = static_cast<double>(tile.m * tile.n * layout.elements);
    const double pace = math == MmaMath::tf32 ? 1620 : math == MmaMath::split_tf32 ? 530 : 2800;
    const double bytes = tile.m * 128.0 + tile.n * layout.row_bytes * (layout.split ? 2.0 : 1.0);
    return std::max(products / pace, bytes / 75);
}
constexpr double edge_ns[wgmma::tile_count] = {4500, 2600, 2200, 1700, 1300};

// Blocks of a cluster that every GPU of this kind can place.
constexpr int most_splits = 8;

struct Choice {
    int tile = 1, splits = 1;
    double ns = 0;
};

Choice choose(const WgmmaConvolution& p, const DeviceTraits& traits) {
    const ConvolutionGeometry& g = p.geometry;
    const std::int64_t sms = std::max(1, traits.multiprocessors);
    Choice best;
    for (int i = 0; i < wgmma::tile_count; ++i) {
        if (!wgmma::tile_exists(i, p.math)) continue;
        const wgmma::WgmmaTile& tile = wgmma::tiles[i];
        const std::int64_t blocks = tiles_of_cells(p, tile.m) * ((g.outputs + tile.n - 1) / tile.n);
        for (int splits = 1; splits <= most_splits && splits * 4 <= std::max<std::int64_t>(p.steps, 4);
             splits *= 2) {
            if (splits > 1 && blocks * splits > 3 * sms) break;
            // Clusters do not fit everywhere: their blocks must lie in one part of the GPU (measured).
            const std::int64_t places = splits == 8 ? sms / 2 : splits == 4 ? sms * 6 / 7 : sms;
            const std::int64_t an_sm = (blocks * splits + places - 1) / places;
            const double steps = static_cast<double>((p.steps + splits - 1) / splits);
            // Parts are read from the other blocks of the cluster.
            const double parts = splits > 1 ? tile.m * tile.n * 4 / 40.0 : 0;
            const double ns =
                2500 + (splits > 1 ? 1000 : 0) +
                static_cast<double>(an_sm) * (steps * step_ns(tile, p.type, p.math) + edge_ns[i] + parts);
            if (best.ns == 0 || ns < best.ns) best = {i, splits, ns};
        }
    }
    return best;
}

}  // namespace

std::string wgmma_convolution_reject(const ConvolutionGeometry& g, ElementType type) {
    if (g.groups != 1) return "takes one group only";
    if (g.window[0] != 1 || g.src[0] != 1 || g.dst[0] != 1 || g.pads[0] != 0)
        return "takes two spatial axes only";
    for (const std::size_t axis : {std::size_t{1}, std::size_t{2}}) {
        const std::int64_t upper = (g.dst[axis] - 1) * g.strides[axis] - g.pads[axis] - (g.src[axis] - 1);
        if (g.strides[axis] > 8 || g.pads[axis] > 128 || upper < -128 || upper > 127 ||
            (g.window[axis] - 1) * g.dilations[axis] > 255)
            return "a stride above 8 or a window beyond 128 cells";
        if (g.src[axis] >= (1 << 30)) return "an axis has 2^30 places or more";
    }
    if (g.batch >= (1 << 30) || g.outputs >= (1 << 30) || g.channels >= (1 << 26) || g.taps() >= (1 << 16))
        return "more than 2^30 images or outputs, or 2^26 channels";
    if (static_cast<double>(g.batch) * static_cast<double>(g.dst_cells()) / 128 *
            static_cast<double>(g.outputs / 32 + 1) >=
        0x1p30)
        return "more than 2^30 tiles";
    const double padded = static_cast<double>(rounded_up(g.channels, chunk_of(type)));
    if (padded * static_cast<double>(g.batch) * static_cast<double>(g.src[1] + 256) *
            static_cast<double>(g.src[2] + 256) >=
        0x1p40)
        return "src has 2^40 elements or more";
    return {};
}

WgmmaConvolution wgmma_convolution_params(const ConvolutionGeometry& g, std::int64_t src_offset,
                                          ElementType type, MmaMath math, const DeviceTraits& traits) {
    WgmmaConvolution p;
    p.geometry = g;
    p.type = type;
    p.math = math;
    const wgmma::FilterLayout layout = wgmma::filter_layout(type, math);
    const std::int64_t chunk = chunk_of(type);
    p.staged_c = rounded_up(g.channels, chunk);
    p.staged_h = g.src[1], p.staged_w = g.src[2];
    if (g.channels <= chunk && g.window[2] > 1 && g.dilations[2] == 1) {
        p.source = WgmmaSource::runs;
        p.staged_h = (g.dst[1] - 1) * g.strides[1] + (g.window[1] - 1) * g.dilations[1] + 1;
        p.staged_w = (g.dst[2] - 1) * g.strides[2] + g.window[2];
        p.channel_steps = rounded_up(g.window[2] * chunk, layout.elements) / layout.elements;
        p.steps = g.window[1] * p.channel_steps;
    } else {
        p.source = is_direct(g, chunk) && src_offset % chunk == 0 ? WgmmaSource::direct : WgmmaSource::staged;
        p.channel_steps = rounded_up(g.channels, layout.elements) / layout.elements;
        p.steps = g.taps() * p.channel_steps;
    }
    const Choice choice = choose(p, traits);
    wgmma_convolution_set_tile(p, choice.tile, choice.splits);
    return p;
}

void wgmma_convolution_set_tile(WgmmaConvolution& p, int tile_number, int splits) {
    const ConvolutionGeometry& g = p.geometry;
    const wgmma::FilterLayout layout = wgmma::filter_layout(p.type, p.math);
    const wgmma::WgmmaTile& tile = wgmma::tiles[tile_number];
    p.tile = tile_number;
    p.splits = std::min(splits, most_splits);
    p.tile_w = p.source == WgmmaSource::runs ? best_tile_w(g, tile.m) : 0;
    p.blocks_n8 = rounded_up(g.outputs, tile.n) / 8;
    p.packed_bytes = static_cast<std::size_t>(p.steps * wgmma::step_bytes(layout, p.blocks_n8));
    p.workspace_bytes = 0;
    if (p.source != WgmmaSource::direct)
        p.workspace_bytes =
            static_cast<std::size_t>(g.batch * p.staged_h * p.staged_w * p.staged_c) * size_of(p.type);
    p.executed_flops = 2.0 * static_cast<double>(tiles_of_cells(p, tile.m) * tile.m) *
                       static_cast<double>(p.blocks_n8 * 8) * static_cast<double>(p.steps * layout.elements) *
                       (layout.split ? 3 : 1);
}

void wgmma_convolution_pack(const WgmmaConvolution& p, const void* weights, void* packed) {
    const ConvolutionGeometry& g = p.geometry;
    const wgmma::FilterLayout layout = wgmma::filter_layout(p.type, p.math);
    const std::int64_t taps = g.taps(), step = wgmma::step_bytes(layout, p.blocks_n8);
    const std::int64_t low_at = layout.split ? step / 2 : 0;
    const OperandKind kind = p.math == MmaMath::fp16   ? OperandKind::fp16
                             : p.math == MmaMath::bf16 ? OperandKind::bf16
                                                       : OperandKind::tf32;
    auto* bytes = static_cast<std::byte*>(packed);
    std::memset(bytes, 0, p.packed_bytes);
    for (std::int64_t k = 0; k < g.outputs; ++k)
        for (std::int64_t c = 0; c < g.channels; ++c)
            for (std::int64_t tap = 0; tap < taps; ++tap) {
                const std::int64_t from = (k * g.channels + c) * taps + (g.flipped ? taps - 1 - tap : tap);
                const bool runs = p.source == WgmmaSource::runs;
                const std::int64_t row = runs ? tap / g.window[2] : tap;
                const std::int64_t within = runs ? tap % g.window[2] * p.staged_c + c : c;
                const std::int64_t at =
                    (row * p.channel_steps + within / layout.elements) * step +
                    wgmma::filter_byte(layout, k, static_cast<int>(within % layout.elements));
                pack_operand(p.type, kind, low_at, weights, from, bytes, at / layout.bytes);
            }
}

}  // namespace convlens::cuda

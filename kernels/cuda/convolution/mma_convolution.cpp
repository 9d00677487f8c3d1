// The processor's part: choice of the tile, packing, parameters of the kernels.
#include "kernels/cuda/convolution/mma_convolution.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cuda/convolution/mma_args.h"
#include "kernels/cuda/convolution/round_operand.h"

namespace convlens::cuda {
namespace {

using mma::ChunkPlace;
using mma::ElementPlace;

constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t step) {
    return (value + step - 1) / step * step;
}

std::int64_t cells_of(const ConvolutionGeometry& g) { return g.batch * g.dst_cells(); }
std::int64_t depth_of(const ConvolutionGeometry& g) { return g.channels / g.groups * g.taps(); }
std::int64_t chunk_elements(ElementType type) { return type == ElementType::f32 ? 4 : 8; }

// Bytes of the packed filter for one unit of k and 8 outputs.
std::int64_t filter_block_bytes(const MmaConvolution& p) {
    if (p.math == MmaMath::split_tf32) return 1024;
    return p.type == ElementType::f32 && p.math != MmaMath::tf32 ? 256 : 512;
}

bool vector_is_possible(const ConvolutionGeometry& g, std::int64_t chunk) {
    const Strides5& s = g.src_strides;
    return g.src_strides[1] == 1 && g.channels / g.groups % chunk == 0 && g.window[0] == 1 && g.src[0] == 1 &&
           g.dst[0] == 1 && g.pads[0] == 0 && (g.batch == 1 || s[0] % chunk == 0) &&
           (g.src[1] == 1 || s[3] % chunk == 0) && (g.src[2] == 1 || s[4] % chunk == 0);
}

// Multiply-adds a nanosecond that one multiprocessor does at best (measured on Hopper), by kind of
// arithmetic. What counts is how they compare with the fixed costs below.
double pace(MmaMath math) {
    switch (math) {
        case MmaMath::tf32:
            return 410;
        case MmaMath::split_tf32:
            return 190;
        default:
            return 850;
    }
}

// Of one block, as mma_kernel.cuh counts it: stages of src and filter, or the tile of sums; and the table of
// rows.
int shared_bytes(const MmaConvolution& p, const mma::ConvolutionTile& tile) {
    const int ring = p.math == MmaMath::split_tf32
                         ? 4 * (tile.m * 64 + tile.n * 128)
                         : 3 * 2 * (tile.m * 64 + tile.n / 8 * static_cast<int>(filter_block_bytes(p)));
    return std::max(ring, tile.m * (tile.n + 4) * 4) + tile.m * 32;
}

struct Choice {
    int tile = 0, splits = 1;
    double ns = 0;
};

// How near a tile comes to that pace when enough warps are there to hide latencies.
constexpr double tile_quality[mma::tile_count] = {1.0, 0.8, 0.99, 0.92, 0.88};

Choice choose(const MmaConvolution& p, const DeviceTraits& traits) {
    const ConvolutionGeometry& g = p.geometry;
    const std::int64_t sms = std::max(1, traits.multiprocessors), cells = cells_of(g);
    Choice best;
    for (int i = 0; i < mma::tile_count; ++i) {
        const mma::ConvolutionTile& tile = mma::tiles[i];
        if (shared_bytes(p, tile) > traits.shared_bytes_block) continue;
        const std::int64_t blocks =
            (cells + tile.m - 1) / tile.m * g.groups * ((p.blocks_n8 * 8 + tile.n - 1) / tile.n);
        for (int splits = 1; splits <= 32 && splits * 8 <= std::max<std::int64_t>(p.units, 8); splits *= 2) {
            if (splits > 1 && blocks * splits > 4 * sms) break;
            const std::int64_t an_sm = (blocks * splits + sms - 1) / sms;
            const double warps = static_cast<double>(std::min<std::int64_t>(an_sm, 2) * tile.threads / 32);
            const double rate = pace(p.math) * tile_quality[i] * std::min(1.0, 0.25 + warps / 16);
            const double units = static_cast<double>((p.units + splits - 1) / splits) + 4;
            double ns = 2000 + static_cast<double>(an_sm) * tile.m * tile.n * 16 * units / rate;
            if (splits > 1) ns += 2500 + static_cast<double>(cells * g.outputs) * (splits + 1) * 4 / 1500;
            if (best.ns == 0 || ns < best.ns) best = {i, splits, ns};
        }
    }
    return best;
}

// Calls body(k, tap, channel of the group) in the order of k.
template <class Body>
void each_k(const MmaConvolution& p, const Body& body) {
    const std::int64_t taps = p.geometry.taps(), channels = p.geometry.channels / p.geometry.groups;
    for (std::int64_t k = 0; k < taps * channels; ++k) {
        if (p.channels_inner)
            body(k, k / channels, k % channels);
        else
            body(k, k % taps, k / taps);
    }
}

ElementPlace place_of(const ConvolutionGeometry& g, std::int64_t tap, std::int64_t channel) {
    const std::int64_t d = tap / (g.window[1] * g.window[2]) * g.dilations[0];
    const std::int64_t h = tap / g.window[2] % g.window[1] * g.dilations[1];
    const std::int64_t w = tap % g.window[2] * g.dilations[2];
    const Strides5& s = g.src_strides;
    return {channel * s[1] + d * s[2] + h * s[3] + w * s[4], static_cast<std::int32_t>(d),
            static_cast<std::int32_t>(h), static_cast<std::int32_t>(w), 0};
}

void pack_tables(const MmaConvolution& p, std::byte* packed) {
    const std::int64_t chunk = chunk_elements(p.type), padded = p.units * 4 * chunk;
    auto* elements = reinterpret_cast<ElementPlace*>(packed + p.table_at);
    auto* chunks = reinterpret_cast<ChunkPlace*>(packed + p.chunks_at);
    const ElementPlace none{0, mma::outside, mma::outside, mma::outside, 0};
    std::fill_n(elements, padded, none);
    if (p.vector) std::fill_n(chunks, padded / chunk, ChunkPlace{0, mma::outside, mma::outside});
    each_k(p, [&](std::int64_t k, std::int64_t tap, std::int64_t channel) {
        const ElementPlace place = place_of(p.geometry, tap, channel);
        elements[k] = place;
        if (p.vector && k % chunk == 0) chunks[k / chunk] = {place.offset, place.h, place.w};
    });
}

}  // namespace

std::string mma_convolution_reject(const ConvolutionGeometry& g) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::int64_t most = mma::outside;
        if (g.src[axis] >= most || g.dst[axis] >= most || g.pads[axis] >= most || g.strides[axis] >= most ||
            g.dilations[axis] >= most || (g.window[axis] - 1) * g.dilations[axis] >= most / 2 ||
            (g.dst[axis] - 1) * g.strides[axis] >= most / 2)
            return "an axis has 2^29 places or more";
    }
    if (g.batch >= mma::outside || g.groups > 65535) return "more than 65535 groups or 2^30 images";
    if (g.outputs >= mma::outside || depth_of(g) >= (1 << 26)) return "a filter of 2^26 values or more";
    // Smallest tile of 64 x 32.
    const double tiles = std::ceil(static_cast<double>(g.batch) * static_cast<double>(g.dst[0]) *
                                   static_cast<double>(g.dst[1]) * static_cast<double>(g.dst[2]) / 64) *
                         std::ceil(static_cast<double>(g.outputs) / 32);
    if (tiles >= 0x1p30) return "more than 2^30 tiles";
    return {};
}

MmaConvolution mma_convolution_params(const ConvolutionGeometry& g, ElementType type, MmaMath math,
                                      const DeviceTraits& traits) {
    MmaConvolution p;
    p.geometry = g;
    p.type = type;
    p.math = math;
    const std::int64_t chunk = chunk_elements(type);
    p.vector = vector_is_possible(g, chunk);
    p.channels_inner = p.vector || std::abs(g.src_strides[1]) <= std::abs(g.src_strides[4]);
    p.units = rounded_up(rounded_up(depth_of(g), 4 * chunk) / (4 * chunk), 2);
    p.blocks_n8 = rounded_up(g.outputs / g.groups, 8) / 8;
    const Choice choice = choose(p, traits);
    p.tile = choice.tile;
    p.splits = choice.splits;
    const auto filter = static_cast<std::size_t>(g.groups * p.units * p.blocks_n8 * filter_block_bytes(p));
    p.table_at = filter;
    p.chunks_at = p.table_at + static_cast<std::size_t>(p.units * 4 * chunk) * sizeof(ElementPlace);
    p.packed_bytes =
        p.chunks_at + (p.vector ? static_cast<std::size_t>(p.units * 4) * sizeof(ChunkPlace) : 0);
    if (p.splits > 1)
        p.workspace_bytes = static_cast<std::size_t>(p.splits * cells_of(g) * g.outputs) * sizeof(float);
    const mma::ConvolutionTile& tile = mma::tiles[p.tile];
    p.executed_flops = 2.0 * static_cast<double>(rounded_up(cells_of(g), tile.m)) *
                       static_cast<double>(rounded_up(g.outputs / g.groups, tile.n) * g.groups) *
                       static_cast<double>(p.units * 4 * chunk) * (math == MmaMath::split_tf32 ? 3 : 1);
    return p;
}

// Of unit u, outputs 8b to 8b+7: lane l holds the elements of chunk l % 4 for output l / 4, as 16 bytes of
// f32 or of 16-bit elements, or 8 bytes where f32 became 16 bits. Split: all lanes' high parts, then the low
// ones.
void mma_convolution_pack(const MmaConvolution& p, const void* weights, void* packed) {
    const ConvolutionGeometry& g = p.geometry;
    auto* bytes = static_cast<std::byte*>(packed);
    const std::int64_t chunk = chunk_elements(p.type), depth = depth_of(g), taps = g.taps();
    const std::int64_t outputs = g.outputs / g.groups, block = filter_block_bytes(p);
    std::memset(bytes, 0, p.table_at);
    const OperandKind kind = p.math == MmaMath::fp16   ? OperandKind::fp16
                             : p.math == MmaMath::bf16 ? OperandKind::bf16
                                                       : OperandKind::tf32;
    each_k(p, [&](std::int64_t k, std::int64_t tap, std::int64_t channel) {
        const std::int64_t from = channel * taps + (g.flipped ? taps - 1 - tap : tap);
        const std::int64_t unit = k / (4 * chunk), lane = k / chunk % 4, j = k % chunk;
        for (std::int64_t n = 0; n < g.outputs; ++n) {
            const std::int64_t group = n / outputs, within = n % outputs;
            std::byte* at = bytes + ((group * p.units + unit) * p.blocks_n8 + within / 8) * block;
            const std::int64_t element = (within % 8 * 4 + lane) * chunk + j;
            pack_operand(p.type, kind, p.math == MmaMath::split_tf32 ? 512 : 0, weights, n * depth + from, at,
                         element);
        }
    });
    pack_tables(p, bytes);
}

void mma_convolution(const MmaConvolution& p, const TensorCoreOperands& operands, void* workspace,
                     Stream stream) {
    const ConvolutionGeometry& g = p.geometry;
    const mma::ConvolutionTile& tile = mma::tiles[p.tile];
    const std::int64_t outputs = g.outputs / g.groups;
    const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    const auto* packed = static_cast<const std::byte*>(operands.packed);
    mma::Args a;
    a.src = operands.src;
    a.filter = packed;
    a.elements = reinterpret_cast<const ElementPlace*>(packed + p.table_at);
    a.chunks = reinterpret_cast<const ChunkPlace*>(packed + p.chunks_at);
    a.stride_n = g.src_strides[0];
    a.stride_group = g.src_strides[1] * (g.channels / g.groups);
    a.stride_d = g.src_strides[2], a.stride_h = g.src_strides[3], a.stride_w = g.src_strides[4];
    a.src_d = narrow(g.src[0]), a.src_h = narrow(g.src[1]), a.src_w = narrow(g.src[2]);
    a.step_d = narrow(g.strides[0]), a.step_h = narrow(g.strides[1]), a.step_w = narrow(g.strides[2]);
    a.pad_d = narrow(g.pads[0]), a.pad_h = narrow(g.pads[1]), a.pad_w = narrow(g.pads[2]);
    a.group_outputs = narrow(outputs);
    a.blocks_n8 = narrow(p.blocks_n8);
    a.tiles_n = narrow((p.blocks_n8 * 8 + tile.n - 1) / tile.n);
    a.units = narrow(p.units);
    a.splits = p.splits;

    a.epilogue = mma::epilogue_of(g, p.type, operands);
    if (p.splits > 1) a.epilogue.parts = static_cast<float*>(workspace);
    const mma::Epilogue& e = a.epilogue;
    const bool vector = p.vector && mma::is_aligned(operands.src, 16);
    const auto grid_x = static_cast<unsigned>((e.rows + tile.m - 1) / tile.m * a.tiles_n);
    const auto groups = static_cast<unsigned>(g.groups);
    mma::Launch launch = mma::launch_tf32;
    if (p.math == MmaMath::split_tf32)
        launch = mma::launch_split_tf32;
    else if (p.math == MmaMath::fp16)
        launch = p.type == ElementType::f16 ? mma::launch_half : mma::launch_fp16;
    else if (p.math == MmaMath::bf16)
        launch = p.type == ElementType::bf16 ? mma::launch_bfloat16 : mma::launch_bf16;
    launch(a, p.tile, vector, grid_x, groups, stream);
    if (p.splits > 1) mma::launch_reduce(e, p.type, p.splits, stream);
}

}  // namespace convlens::cuda

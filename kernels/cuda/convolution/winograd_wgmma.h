// The matrix products of winograd.h by Hopper's wgmma instructions (compute capability 9.0, compiled for
// 90a): for each position products[tile][k] = sum over c of transformed[tile][c] * filter[c][k], with the
// accuracy of f32.
//
// Both factors are split into two TF32 parts, three products. The filter is split when it is packed; the
// transformed input in registers, on the way from shared memory to the instruction. The instruction's
// accumulators truncate: the small products are summed before the large ones, and sums leave them after every
// 32 channels.
//
// Blocks stay and take one tile of 128 x `columns` after the other. One warp copies whole stages of 32
// channels in bulk, which is why both factors lie in memory as stages:
//   transformed  position, 32 channels, tile (a multiple of 128), 32 floats; the 16-byte chunks of odd tiles
//                exchange halves: chunk i lies at i ^ 4
//   filter       position, 32 channels, part (high, low), k (a multiple of `columns`), 32 floats in the order
//   that
//                wgmma_slot names, chunks swizzled over 8 rows
#pragma once

#include <cstddef>

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

struct WinogradProducts {
    std::int64_t positions = 0, tiles = 0, outputs = 0, channels = 0;
    std::int64_t tile_rows = 0;  // of one stage of the transformed input: `tiles` or more, a multiple of 128
    int columns = 128;           // of a block's tile: 64 or 128
    const float* transformed = nullptr;
    const float* filter = nullptr;
    float* products = nullptr;  // position, tile_rows, row
    std::int64_t row = 0;       // floats from tile to tile of the products, even
    std::int64_t plane = 0;     // floats from position to position of the products
    int multiprocessors = 0;
};

inline constexpr std::int64_t winograd_stage_channels = 32, winograd_tile_rows = 128;

// Whether this build has the kernels for the current device (compute capability 9.0, code of 90a).
bool winograd_has_wgmma(const DeviceTraits& traits);
// Where float `channel` (of 32) of a tile lies in its row of 32.
constexpr std::int64_t winograd_transformed_slot(std::int64_t tile, std::int64_t channel) {
    return channel ^ (tile % 2 * 16);
}
// Where float `channel` (of 32) of output k lies in its row of 32.
std::int64_t winograd_filter_slot(std::int64_t k, std::int64_t channel);

void winograd_products(const WinogradProducts& products, Stream stream);

}  // namespace convlens::cuda

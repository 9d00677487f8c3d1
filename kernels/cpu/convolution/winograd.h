// Convolution 3x3 and 5x5 of stride 1 by Winograd's minimal filtering, F(2x2, 3x3), F(4x4, 3x3) and
// F(2x2, 5x5).
//
// The output is cut into square tiles. A tile's input of side tile + window - 1 is transformed, the
// transformed inputs of many tiles are multiplied by the transformed filters, one matrix product for each of
// side^2 positions, and the products are transformed back. F(4x4, 3x3) needs a quarter of the multiplications
// of the definition, F(2x2, 3x3) 1 in 2.25, F(2x2, 5x5) 1 in 2.78; the transforms cost accuracy: sums of
// large terms that cancel, so an error scales with the largest values under a tile, and a NaN or infinity
// spreads over its tile.
//
// Tiles are processed in chunks whose transformed data stay in the second cache.
#pragma once

#include <cstddef>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/geometry.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

// How the work is divided; made once, with the plan.
struct WinogradTiling {
    int tile = 4;              // side of an output tile, 2 or 4
    int window = 3;            // side of the window; 5 with tile 2 only
    std::int64_t tiles_y = 0;  // of one image
    std::int64_t tiles_x = 0;
    std::int64_t tiles = 0;     // of the batch
    std::int64_t chunk = 0;     // tiles of a chunk
    std::int64_t workers = 1;   // chunks in work at a time, each with memory of its own
    bool shared_chunk = false;  // few tiles: the threads share the steps of one chunk after the other
    std::int64_t src_row = 0;   // floats from tile to tile of transformed input and of products
    std::int64_t dst_row = 0;

    int side() const { return tile + window - 1; }
    std::int64_t positions() const { return static_cast<std::int64_t>(side()) * side(); }
};

// geometry: one group, window 1x3x3, or 1x5x5 with tile 2, strides and dilations 1, no depth.
WinogradTiling winograd_tiling(const ConvolutionGeometry& geometry, int tile, int threads);
// Floats of the transformed filter.
std::size_t winograd_packed_size(const ConvolutionGeometry& geometry, const WinogradTiling& tiling);
// From K x C x window, packed. Allocates a small buffer.
void winograd_pack(const ConvolutionGeometry& geometry, const WinogradTiling& tiling, const float* weights,
                   float* packed);
// Bytes of workspace, a multiple of 64.
std::size_t winograd_workspace_bytes(const WinogradTiling& tiling);
// Operations of the products and both transforms.
double winograd_operations(const ConvolutionGeometry& geometry, const WinogradTiling& tiling);

// Host memory; bias (K values) and residual (laid out as dst) may be null. dst overlaps no source; the
// workspace is 64-byte aligned.
void convolution_winograd(const ConvolutionGeometry& geometry, const WinogradTiling& tiling, const float* src,
                          const float* packed, const float* bias, const float* residual,
                          const Activation& activation, float* dst, void* workspace, ThreadPool& pool);

}  // namespace convlens::cpu

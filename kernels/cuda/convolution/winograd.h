// Convolution 3x3 and 5x5 of stride 1 by Winograd's minimal filtering, F(2x2, 3x3), F(4x4, 3x3) and
// F(2x2, 5x5).
//
// The output is cut into square tiles. A tile's input of side tile + window - 1 is transformed, the
// transformed inputs of many tiles are multiplied by the transformed filters, one matrix product for each of
// side^2 positions, and the products are transformed back, where bias, residual and activation are fused.
// F(4x4, 3x3) needs a quarter of the multiplications of the definition, F(2x2, 3x3) 1 in 2.25, F(2x2, 5x5) 1
// in 2.78; the transforms cost accuracy: sums of large terms that cancel, so an error scales with the largest
// values under a tile, and a NaN or infinity spreads over its tile.
//
// Three kernels: input transform, matrix products, output transform. The products are those of
// winograd_wgmma.h where the device has them and there are tiles enough, else batched_gemm. Products lie as
// position, tile, channel (rows padded to four channels), transformed inputs so too, or as winograd_wgmma.h
// wants them. Tiles are processed in chunks that bound the workspace.
#pragma once

#include <cstddef>

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

struct WinogradParams {
    ConvolutionGeometry geometry;
    Activation activation;
    DeviceTraits traits;
    int tile = 4;                           // side of an output tile, 2 or 4
    int window = 3;                         // side of the window; 5 with tile 2 only
    std::int64_t tiles_y = 0, tiles_x = 0;  // of one image
    std::int64_t tiles = 0;                 // of the batch
    std::int64_t chunk = 0;                 // tiles of a chunk
    std::int64_t src_row = 0, dst_row = 0;  // floats from tile to tile of transformed input and of products
    int wgmma_columns = 0;                  // of a block of winograd_wgmma.h; 0: batched_gemm
    int gemm_tile = -1;                     // as BatchedGemm::tile

    int side() const { return tile + window - 1; }
    std::int64_t positions() const { return static_cast<std::int64_t>(side()) * side(); }
};

// Whether tiles of an image, and the parts of a chunk, can be counted in 31 bits.
bool winograd_fits(const ConvolutionGeometry& geometry, int tile);

// geometry: one group, window 1x3x3, or 1x5x5 with tile 2, strides and dilations 1, no depth; it fits.
// wgmma_columns: -1 chooses.
WinogradParams winograd_params(const ConvolutionGeometry& geometry, int tile, const Activation& activation,
                               const DeviceTraits& traits, int wgmma_columns = -1);
// Floats of the transformed filter.
std::size_t winograd_packed_size(const WinogradParams& params);
// From K x C x window, packed. Host memory.
void winograd_pack(const WinogradParams& params, const float* weights, float* packed);
std::size_t winograd_workspace_bytes(const WinogradParams& params);
// Operations of the products and both transforms.
double winograd_operations(const WinogradParams& params);

// An estimate of the time, to compare one tile with the other.
double winograd_cost(const WinogradParams& params);

// Device memory; bias (K values) and residual (laid out as dst) may be null. dst overlaps no source; packed
// and workspace are 16-byte aligned.
void winograd(const WinogradParams& params, const float* src, const float* packed, const float* bias,
              const float* residual, float* dst, void* workspace, Stream stream);

}  // namespace convlens::cuda

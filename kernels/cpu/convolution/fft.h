// Convolution of stride 1 by Fourier transforms: cross-correlation is a product of spectra.
//
// The padded image is cut into tiles that overlap by the window less one (or is one tile as a whole); each is
// transformed, the spectra are multiplied by those of the filter, three real matrix products over the
// channels for each frequency, and transformed back (fft_transform.h). A window's size costs nothing but
// overlap, so large windows gain most. An error scales with the root of the mean square of a tile, and a NaN
// or infinity spreads over its tile.
//
// Tiles are processed in chunks that bound the workspace; threads share the steps of a chunk.
#pragma once

#include <cstddef>

#include "kernels/cpu/convolution/fft_transform.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

// How images are cut and how the work is divided; made once, with the plan.
struct FftTiling {
    FftShape shape;
    std::int64_t step_y = 0, step_x = 0;    // outputs of a tile
    std::int64_t tiles_y = 0, tiles_x = 0;  // of one image
    std::int64_t tiles = 0;                 // of the batch
    std::int64_t chunk = 0;                 // tiles of a chunk
    std::int64_t workers = 1;               // transforms at a time, each with scratch of its own
    std::int64_t src_row = 0, dst_row = 0;  // floats from part to part of spectra of src and of dst
    double cost = 0;                        // an estimate, in operations
};

// geometry: one group, strides and dilations 1, no depth. whole: one tile an image, else the square tile that
// is cheapest by an estimate. side: of a tile, 0 chooses.
FftTiling fft_tiling(const ConvolutionGeometry& geometry, bool whole, int threads, std::int64_t side = 0);
// Floats of the filter's spectra.
std::size_t fft_packed_size(const ConvolutionGeometry& geometry, const FftTiling& tiling);
// From K x C x R x S, packed. Allocates the spectra of a panel of the matrix product.
void fft_pack(const ConvolutionGeometry& geometry, const FftTiling& tiling, const float* weights,
              float* packed);
// Bytes of workspace, a multiple of 64.
std::size_t fft_workspace_bytes(const FftTiling& tiling);
// Operations of the products and both transforms.
double fft_operations(const ConvolutionGeometry& geometry, const FftTiling& tiling);

// Host memory; bias (K values) and residual (laid out as dst, may be dst) may be null. dst overlaps no other
// source; the workspace is 64-byte aligned.
void convolution_fft(const ConvolutionGeometry& geometry, const FftTiling& tiling, const float* src,
                     const float* packed, const float* bias, const float* residual,
                     const Activation& activation, float* dst, void* workspace, ThreadPool& pool);

}  // namespace convlens::cpu

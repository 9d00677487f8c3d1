// Convolution of stride 1 by Fourier transforms: cross-correlation is a product of spectra.
//
// The padded image is cut into square tiles that overlap by the window less one (or is one tile as a whole);
// each is transformed, the spectra are multiplied by those of the filter, one complex matrix product over the
// channels for each frequency, and transformed back, where bias, residual and activation are fused. A complex
// product is taken as a real one of twice the depth and width, on pairs (re, im) as they lie; the filter's
// spectra are laid out for that when they are packed: four floats a value.
//
// A window's size costs nothing but overlap, so large windows gain most. An error scales with the root of the
// mean square of a tile, and a NaN or infinity spreads over its tile.
//
// Three kernels: forward transform, matrix products, inverse transform. The products are those of
// winograd_wgmma.h where the device has them and there are tiles enough, else batched_gemm. Tiles are
// processed in chunks that bound the workspace.
#pragma once

#include <cstddef>

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

struct FftParams {
    ConvolutionGeometry geometry;
    Activation activation;
    DeviceTraits traits;
    int side = 0;                           // of a tile; 0: none is large enough
    std::int64_t step_y = 0, step_x = 0;    // outputs of a tile
    std::int64_t tiles_y = 0, tiles_x = 0;  // of one image
    std::int64_t tiles = 0;                 // of the batch
    std::int64_t chunk = 0;                 // tiles of a chunk
    std::int64_t src_row = 0, dst_row = 0;  // floats from tile to tile of spectra and of products
    int wgmma_columns = 0;                  // of a block of winograd_wgmma.h; 0: batched_gemm
    double cost = 0;                        // estimate of the time, microseconds
};

// The largest padded image that one tile holds, on any device.
inline constexpr std::int64_t fft_largest_side = 64;

// Whether lengths and counts stay within 31 bits.
bool fft_fits(const ConvolutionGeometry& geometry);

// geometry: one group, strides and dilations 1, no depth; it fits. whole: one tile an image, else the side
// that is cheapest by an estimate. side: 0 chooses.
FftParams fft_params(const ConvolutionGeometry& geometry, const Activation& activation,
                     const DeviceTraits& traits, bool whole, int side = 0, int wgmma_columns = -1);
// Floats of the filter's spectra.
std::size_t fft_packed_size(const FftParams& params);
// From K x C x R x S, packed. Host memory; allocates small buffers.
void fft_pack(const FftParams& params, const float* weights, float* packed);
std::size_t fft_workspace_bytes(const FftParams& params);
// Operations of the products and both transforms.
double fft_operations(const FftParams& params);

// Device memory; bias (K values) and residual (laid out as dst, may be dst) may be null. dst overlaps no
// other source; packed and workspace are 16-byte aligned.
void convolution_fft(const FftParams& params, const float* src, const float* packed, const float* bias,
                     const float* residual, float* dst, void* workspace, Stream stream);

}  // namespace convlens::cuda

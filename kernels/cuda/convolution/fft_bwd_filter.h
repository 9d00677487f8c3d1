// The filter's gradient of stride 1 by Fourier transforms.
//
// The forward's src and the gradient of its dst are cut into the same tiles: `step` outputs of the gradient,
// the rest zeros, and the cells of src that they read. The spectra of both are multiplied, one complex matrix
// product over the tiles for each frequency (fft_filter_products.h), and the sums are transformed back: their
// first R x S cells are the gradient. A NaN or infinity reaches every tap of the channels that it meets.
//
// Tiles are processed in chunks that bound the workspace; chunks are added in their order.
#pragma once

#include <cstddef>

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

struct FftFilterParams {
    // src and window as forward; dst, dst_strides: of the gradient of the forward's dst.
    ConvolutionGeometry geometry;
    Strides5 filter_strides{};  // K C D R S of the result, in elements
    DeviceTraits traits;
    float alpha = 1, beta = 0;
    int side = 0;  // of a tile; 0: none is large enough
    std::int64_t step_y = 0, step_x = 0;
    std::int64_t tiles_y = 0, tiles_x = 0;   // of one image
    std::int64_t tiles = 0;                  // of the batch
    std::int64_t chunk = 0;                  // tiles of a chunk
    std::int64_t src_row = 0, diff_row = 0;  // floats from tile to tile of the spectra
    double cost = 0;                         // estimate of the time, microseconds
};

// geometry: one group, strides and dilations 1, no depth; fft_fits() of it. whole: one tile an image. side: 0
// chooses.
FftFilterParams fft_filter_params(const ConvolutionGeometry& geometry, const Strides5& filter_strides,
                                  const DeviceTraits& traits, bool whole, int side = 0);
std::size_t fft_filter_workspace_bytes(const FftFilterParams& params);
// Operations of the products and the transforms.
double fft_filter_operations(const FftFilterParams& params);

// dst = alpha * gradient + beta * dst. Device memory; dst overlaps no source; the workspace is 16-byte
// aligned. Without tiles the gradient is 0.
void convolution_fft_bwd_filter(const FftFilterParams& params, const float* src, const float* diff,
                                float* dst, void* workspace, Stream stream);

}  // namespace convlens::cuda

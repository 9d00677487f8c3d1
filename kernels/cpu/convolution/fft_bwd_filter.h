// The filter's gradient of stride 1 by Fourier transforms.
//
// The forward's src and the gradient of its dst are cut into the same tiles: a number of outputs of the
// gradient, the rest zeros, and the cells of src that they read. The spectra of both are multiplied, three
// real products over the tiles for each frequency (outer_product.h), and the sums are transformed back: their
// first R x S cells are the gradient. A NaN or infinity reaches every tap of the channels that it meets.
//
// Tiles are processed in chunks that bound the workspace and are added in their order; threads share the
// frequencies.
#pragma once

#include <cstddef>

#include "kernels/common/convolution_bwd.h"
#include "kernels/cpu/convolution/fft_transform.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

struct FftFilterTiling {
    FftShape shape;
    std::int64_t step_y = 0, step_x = 0;     // outputs of a tile
    std::int64_t tiles_y = 0, tiles_x = 0;   // of one image
    std::int64_t tiles = 0;                  // of the batch
    std::int64_t chunk = 0;                  // tiles of a chunk
    std::int64_t workers = 1;                // transforms at a time, each with scratch of its own
    std::int64_t src_row = 0, diff_row = 0;  // floats from part to part of the spectra
    std::int64_t outputs = 0;
    double cost = 0;  // an estimate, in operations
};

// geometry: one group, strides and dilations 1, no depth; dst is the forward's. whole: one tile an image,
// else the square tile that is cheapest by an estimate. side: of a tile, 0 chooses.
FftFilterTiling fft_filter_tiling(const ConvolutionGeometry& geometry, bool whole, int threads,
                                  std::int64_t side = 0);
// Bytes of workspace, a multiple of 64.
std::size_t fft_filter_workspace_bytes(const FftFilterTiling& tiling);
// Operations of the products and the transforms.
double fft_filter_operations(const ConvolutionGeometry& geometry, const FftFilterTiling& tiling);

// dst = alpha * gradient + beta * dst, all f32, in host memory, at params' offsets; dst overlaps no source,
// the workspace is 64-byte aligned. Without tiles the gradient is 0.
void convolution_fft_bwd_filter(const kernels::BwdFilterParams& params, const FftFilterTiling& tiling,
                                const float* src, const float* diff, float* dst, void* workspace,
                                ThreadPool& pool);

}  // namespace convlens::cpu

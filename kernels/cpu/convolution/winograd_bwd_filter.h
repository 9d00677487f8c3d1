// The gradient of 3x3 and 5x5 filters, stride 1, by Winograd's minimal filtering: F(3x3, 2x2), F(3x3, 4x4)
// and F(5x5, 2x2).
//
// The gradient is a filtering too: dw[r] = sum over q of dy[q] * x[q + r]. dy is cut into square tiles, which
// take the place of the filter, and the window that of the outputs. Tiles of dy and of x are transformed; for
// each position the products of all tiles are summed, one matrix product whose common index runs over the
// tiles; and only the sums, as many as the filter has, are transformed back. The multiplications are 1
// in 2.25, 4 and 2.78 of the definition's; what winograd.h says of accuracy holds here, with sums over the
// whole batch.
//
// Tiles are processed in chunks whose transformed data stay in the second cache; sums grow over the chunks in
// order, so the bits depend on no number of threads. f32, any layout; vectors lie along C and K.
#pragma once

#include <cstddef>

#include "kernels/common/convolution_bwd.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

using kernels::BwdFilterParams;

struct WinogradBwdFilter {
    BwdFilterParams gradient;
    int tile = 4;                            // side of a tile of dy, 2 or 4
    int window = 3;                          // side of the filter; 5 with tile 2 only
    std::int64_t tiles_y = 0, tiles_x = 0;   // of one image
    std::int64_t tiles = 0;                  // of the batch
    std::int64_t chunk = 0;                  // tiles of a chunk
    std::int64_t src_row = 0, diff_row = 0;  // floats of a tile at one position: C and K in whole vectors
    std::int64_t width = 0;                  // channels of a block of sums

    int side() const { return tile + window - 1; }
    std::int64_t positions() const { return static_cast<std::int64_t>(side()) * side(); }
    std::int64_t blocks() const { return (src_row + width - 1) / width; }
};

// gradient: one group, window 1x3x3, or 1x5x5 with tile 2, strides and dilations 1, no depth, f32.
WinogradBwdFilter winograd_bwd_filter(const BwdFilterParams& gradient, int tile);
std::size_t winograd_bwd_filter_workspace_bytes(const WinogradBwdFilter& params);
// Operations of the products and of all transforms.
double winograd_bwd_filter_operations(const WinogradBwdFilter& params);

// Host memory; the workspace is 64-byte aligned. dst overlaps no source.
void convolution_winograd_bwd_filter(const WinogradBwdFilter& params, const float* src, const float* diff,
                                     float* dst, void* workspace, ThreadPool& pool);

}  // namespace convlens::cpu

// The complex matrix products of fft_bwd_filter.h: for each frequency d[k][c] = sum over tiles t of
// conj(diff[t][k]) * src[t][c], on pairs (re, im) as they lie, with the accuracy of f32.
//
// On GPUs since compute capability 8.0 by the matrix instructions of a warp: factors are split into two TF32
// parts, three products; an instruction's rows g and g + 8 are the two parts of one k, so that a thread holds
// the four real products of a complex one. The instructions' accumulators truncate: sums leave them after
// every stage. Before, by multiply-adds of f32. The order of a sum is that of the tiles.
#pragma once

#include "kernels/cuda/stream.h"

namespace convlens::cuda::fft {

struct FilterProducts {
    std::int64_t frequencies = 0, tiles = 0;  // without tiles d is zeros
    // Floats of a row of diff, and of src and d: twice the channels, padded with zeros to multiples of 4.
    std::int64_t diff_row = 0, src_row = 0;
    std::int64_t diff_plane = 0, src_plane = 0, d_plane = 0;  // floats from frequency to frequency
    // Device memory, 16-byte aligned.
    const float* diff = nullptr;
    const float* src = nullptr;
    float* d = nullptr;       // diff_row / 2 rows a frequency
    bool accumulate = false;  // add to what is in d
};

void filter_products(const FilterProducts& products, bool early, Stream stream);

}  // namespace convlens::cuda::fft

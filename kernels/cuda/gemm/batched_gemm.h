// Matrix products of equal shape side by side: d[i][m][n] = sum over k of a[i][m][k] * b[i][k][n], in single
// precision, rows of every matrix contiguous.
//
// A block's tiles of a and b go through shared memory, filled asynchronously some stages ahead. Two engines:
// multiply-adds of f32, and the matrix instructions of a warp on each factor split into two TF32 parts (three
// products; sums leave the matrix instructions' accumulators, which truncate, after every stage). The second
// keeps the accuracy of f32 but turns an infinity into NaN. Shapes with few tiles divide the depth among the
// warps of a block. The order of a sum depends on the shape and the device only.
#pragma once

#include <cstddef>

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

struct BatchedGemm {
    std::int64_t batch = 0, rows = 0, columns = 0, depth = 0;  // batch M N K
    // Device memory. Rows of b begin at multiples of 16 bytes and may be read up to the next such multiple; a
    // has no needs, but is read fastest where its rows begin so too and the depth is a multiple of 4.
    const float* a = nullptr;
    const float* b = nullptr;
    float* d = nullptr;
    std::int64_t a_row = 0, b_row = 0, d_row = 0;        // floats from row to row
    std::int64_t a_batch = 0, b_batch = 0, d_batch = 0;  // floats from matrix to matrix
    // The engine of split factors may be taken, where the device has it and rows of a allow vectors.
    bool may_split = false;
    // The kernel before in the stream may not have ended when this one starts to set up (GPUs since 9.0).
    bool overlaps_previous = false;
    int tile = -1;  // of the table in batched_gemm.cu; -1: chosen by shape
};

void batched_gemm(const BatchedGemm& gemm, const DeviceTraits& traits, Stream stream);

}  // namespace convlens::cuda

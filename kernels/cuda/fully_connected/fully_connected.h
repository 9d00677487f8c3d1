// Fully connected layers: dst[m][n] = activation(sum over k of src[m][k] * weights[n][k] + bias[n] +
// residual).
//   gemv    dot products along rows of weights that lie as they came (no packing), by one to eight warps
//   each;
//           up to eight rows of src at a time share each load of weights, so few rows run at the speed of
//           memory. src rows must be contiguous. Partial sums are joined in a fixed order.
//   direct  the reference: one f32 sum in rising k without fused multiply-add, any strides; one thread an
//   output.
// The product by tiles is kernels/cuda/gemm with one cell an image. f32.
#pragma once

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

struct FullyConnected {
    std::int64_t m = 0, n = 0, k = 0;
    std::int64_t src_row = 0, src_column = 1;  // strides in elements
    std::int64_t dst_row = 0, dst_column = 1;  // of residual too
    const float* src = nullptr;
    const float* weights = nullptr;   // n x k, packed
    const float* bias = nullptr;      // n values, or null
    const float* residual = nullptr;  // laid out as dst, or null
    float* dst = nullptr;
    Activation activation;
    bool overlap = false;  // see kernels/cuda/dependent_launch.cuh; gemv only
};

// src_column must be 1.
void fully_connected_gemv(const FullyConnected& params, Stream stream);
void fully_connected_direct(const FullyConnected& params, Stream stream);

}  // namespace convlens::cuda

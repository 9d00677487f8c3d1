// Fully connected layers: dst[m][n] = activation(sum over k of src[m][k] * weights[n][k] + bias[n] +
// residual). Host memory, f32.
//   gemv    dot products along rows of weights that lie as they came (no packing); each weight is read once
//   for all
//           rows of src, so it runs at the speed of memory. src rows must be contiguous.
//   direct  the reference: one single-precision sum in rising k without fused multiply-add, any strides.
// The product by panels is kernels/cpu/convolution/pointwise.h with one cell an image.
#pragma once

#include <cstdint>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

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
};

// src_column must be 1.
void fully_connected_gemv(const FullyConnected& params, ThreadPool& pool);
void fully_connected_direct(const FullyConnected& params, ThreadPool& pool);

}  // namespace convlens::cpu

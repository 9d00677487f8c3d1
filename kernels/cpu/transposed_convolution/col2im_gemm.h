// Transposed convolution as one matrix product and a gathering sum: columns[cell][tap][k] = src[cell][c] *
// weights[c][tap][k] for all source cells of an image, then each output cell adds the columns that reach it.
// Each output row gathers what source rows send to it: rows are independent, and sums have a fixed order.
#pragma once

#include <cstddef>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/geometry.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

// Floats of the packed filter.
std::size_t transposed_convolution_packed_size(const ConvolutionGeometry& geometry);
// From C x K/groups x window, packed. Allocates a buffer of that size.
void transposed_convolution_pack(const ConvolutionGeometry& geometry, const float* weights, float* packed);
// Bytes for the columns of one image, and for a channels-last copy of it where src lies otherwise. A double:
// the caller refuses what leaves 63 bits.
double transposed_convolution_workspace_bytes(const ConvolutionGeometry& geometry);

// Host memory; bias (K values) and residual (laid out as dst, perhaps dst itself) may be null. src and dst
// don't overlap; the workspace is 64-byte aligned.
void transposed_convolution_col2im_gemm(const ConvolutionGeometry& geometry, const float* src,
                                        const float* packed, const float* bias, const float* residual,
                                        const Activation& activation, float* dst, void* workspace,
                                        ThreadPool& pool);

}  // namespace convlens::cpu

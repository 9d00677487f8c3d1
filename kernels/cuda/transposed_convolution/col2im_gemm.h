// Transposed convolution as one matrix product and a gathering sum: columns[cell][tap][k] = src[cell][c] *
// weights[c][tap][k] for all source cells of some images, then each output cell adds the columns that reach
// it. Gathering instead of scattering: sums have a fixed order.
//
// The product is batched_gemm, a matrix for each group: in f32, or by split TF32 factors, where an infinite element
// of src gives NaN. Images are processed in chunks that bound the
// workspace, at least one at a time. Cells of an image, and of an output, are counted in 31 bits.
#pragma once

#include <cstddef>

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

struct Col2imGemmParams {
    ConvolutionGeometry geometry;
    Activation activation;
    DeviceTraits traits;
    bool matrix = false;      // the source's cells are rows of a matrix already; else they are copied
    std::int64_t images = 1;  // of a chunk
    bool split = false;       // by split factors
    int gemm_tile = -1;       // as BatchedGemm::tile
};

Col2imGemmParams col2im_gemm_params(const ConvolutionGeometry& geometry, const Activation& activation,
                                    const DeviceTraits& traits);
bool col2im_gemm_fits(const ConvolutionGeometry& geometry);
// Floats of the packed filter.
std::size_t col2im_gemm_packed_size(const ConvolutionGeometry& geometry);
// From C x K/groups x window, packed. Host memory.
void col2im_gemm_pack(const ConvolutionGeometry& geometry, const float* weights, float* packed);
// Bytes for the columns of a chunk, and for a channels-last copy of it where src lies otherwise.
std::size_t col2im_gemm_workspace_bytes(const Col2imGemmParams& params);

// Device memory; bias (K values) may be null. src and dst don't overlap; packed and workspace are 16-byte
// aligned.
void col2im_gemm(const Col2imGemmParams& params, const float* src, const float* packed, const float* bias,
                 float* dst, void* workspace, Stream stream);

}  // namespace convlens::cuda

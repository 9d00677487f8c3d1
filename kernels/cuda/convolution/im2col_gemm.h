// Convolution in two steps: the left matrix (a row for each output cell, columns (group, tap, channel)) is
// written to the workspace, then multiplied by the filter with the product of kernels/cuda/gemm. As many
// images at a time as fit in 1 GiB of matrix, at least one. Any strides; f32. Limits: those of
// window_gemm_shape.
#pragma once

#include "kernels/cuda/gemm/window_gemm.h"

namespace convlens::cuda {

struct Im2colGemm {
    WindowGemmShape window;   // of all images: how the matrix is made
    WindowGemmShape product;  // of the images of one step, on the matrix
    std::int64_t batch = 0;
    std::int64_t images = 0;  // of a step
    std::int64_t image_rows = 0;
    std::int64_t src_image = 0, dst_image = 0;  // strides of the batch
    std::size_t matrix_bytes = 0;
};

// Nothing where window_gemm_shape has nothing, or where sizes leave 63 bits. The filter is packed for
// `window`.
std::optional<Im2colGemm> im2col_gemm_params(const ConvolutionGeometry& geometry, const DeviceTraits& device);
// Bytes: the matrix and what the split product needs.
std::size_t im2col_gemm_workspace(const Im2colGemm& params);
// operands.table and operands.workspace are not read.
void im2col_gemm(const Im2colGemm& params, const WindowGemmOperands& operands, void* workspace,
                 Stream stream);

}  // namespace convlens::cuda

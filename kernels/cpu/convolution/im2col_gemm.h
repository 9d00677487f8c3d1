// Convolution in two steps: the left matrix (a row for each output cell of one image, k = taps x channels of
// a group, groups one behind the other) is written to the workspace, then multiplied by the filter. Any rank
// up to three, stride, pad, dilation, grouping and layout. Host memory, f32.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/cpu/convolution/implicit_gemm.h"

namespace convlens::cpu {

// Bytes of the matrix of one image; nothing when that leaves 63 bits.
std::optional<std::size_t> im2col_gemm_workspace(const ConvolutionGeometry& geometry);

// Rows [begin, end) of one group's matrix, k floats each; `image` is the group's first channel of one image.
void im2col_rows(const ConvolutionGeometry& geometry, const float* image, std::int64_t begin,
                 std::int64_t end, float* matrix);

// operands.packed comes from filter_matrix_pack().
void im2col_gemm(const ConvolutionGeometry& geometry, const ConvolutionOperands& operands, void* workspace,
                 ThreadPool& pool);

}  // namespace convlens::cpu

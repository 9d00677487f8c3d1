// The filter as the right matrix of a product: for each group B[k][n] with k = (tap, channel) and n the
// group's outputs, packed by gemm_pack_b. A flipped filter is turned here, so that the products never see it.
#pragma once

#include <cstddef>

#include "kernels/cpu/convolution/geometry.h"

namespace convlens::cpu {

// Rows of B for one group.
inline std::int64_t filter_matrix_k(const ConvolutionGeometry& g) {
    return g.taps() * (g.channels / g.groups);
}

// Floats for one group and for all.
std::size_t filter_matrix_group_size(const ConvolutionGeometry& geometry);
std::size_t filter_matrix_size(const ConvolutionGeometry& geometry);
// From K x C/groups x window, packed.
void filter_matrix_pack(const ConvolutionGeometry& geometry, const float* weights, float* packed);

// Operations of the products: outputs of a group are rounded up to whole vectors.
double filter_matrix_flops(const ConvolutionGeometry& geometry);

}  // namespace convlens::cpu

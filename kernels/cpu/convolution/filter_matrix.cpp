#include "kernels/cpu/convolution/filter_matrix.h"

#include "kernels/cpu/gemm/gemm.h"

namespace convlens::cpu {

std::size_t filter_matrix_group_size(const ConvolutionGeometry& g) {
    return gemm_packed_size(filter_matrix_k(g), g.outputs / g.groups);
}

std::size_t filter_matrix_size(const ConvolutionGeometry& g) {
    return filter_matrix_group_size(g) * static_cast<std::size_t>(g.groups);
}

void filter_matrix_pack(const ConvolutionGeometry& g, const float* weights, float* packed) {
    const std::int64_t taps = g.taps();
    const std::int64_t channels = g.channels / g.groups;
    const std::int64_t outputs = g.outputs / g.groups;
    GemmRightMatrix b;
    b.outer = taps;
    b.inner = channels;
    b.outer_stride = g.flipped ? -1 : 1;
    b.inner_stride = taps;
    b.column_stride = channels * taps;
    for (std::int64_t group = 0; group < g.groups; ++group) {
        b.data = weights + group * outputs * channels * taps + (g.flipped ? taps - 1 : 0);
        gemm_pack_b(b, outputs, packed + filter_matrix_group_size(g) * static_cast<std::size_t>(group));
    }
}

double filter_matrix_flops(const ConvolutionGeometry& g) {
    const double columns = static_cast<double>(gemm_packed_size(1, g.outputs / g.groups));
    return 2.0 * static_cast<double>(g.batch) * static_cast<double>(g.dst_cells()) *
           static_cast<double>(filter_matrix_k(g)) * columns * static_cast<double>(g.groups);
}

}  // namespace convlens::cpu

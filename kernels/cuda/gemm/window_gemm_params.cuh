// What the kernels of the window product get, and the four sources of A.
#pragma once

#include "kernels/cuda/gemm/window_gemm.h"

namespace convlens::cuda {

enum class ColumnSource { quads_computed, quads_tabulated, singles_computed, singles_tabulated };

constexpr bool is_quads(ColumnSource s) {
    return s == ColumnSource::quads_computed || s == ColumnSource::quads_tabulated;
}
constexpr bool is_tabulated(ColumnSource s) {
    return s == ColumnSource::quads_tabulated || s == ColumnSource::singles_tabulated;
}

struct WindowGemmParams {
    WindowGemmOperands operands;
    FastDivision channels, window_w, window_h, dst_w, dst_h, dst_d;
    std::int32_t rows, columns, depth, padded_columns, steps;
    std::int32_t column_tiles, splits;
    SplitForm form;
    bool even_dst, quad_dst, overlap;
    std::int32_t src[3], dilations[3], strides[3], pads[3];
    std::int32_t src_strides[4];
    std::int64_t src_steps[5], dst_steps[5];
    std::int64_t dst_cell;
    std::int64_t src_group, dst_group, packed_group;
    // The parts' rows of padded columns, in the workspace.
    std::int64_t part_row, part_group, part;
};

bool aligned_16(const void* pointer);
WindowGemmParams window_gemm_params(const WindowGemmShape& shape, const WindowGemmOperands& operands);

template <ColumnSource source>
void launch_window_gemm(int tile, const WindowGemmParams& params, unsigned blocks, unsigned groups,
                        Stream stream);

}  // namespace convlens::cuda

#include <algorithm>

#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/gemm/window_gemm_finish.cuh"

namespace convlens::cuda {
namespace {

constexpr int join_threads = 128;

// Joins the parts of split sums in their order.
template <bool clamps>
__global__ void __launch_bounds__(join_threads) join_parts(const __grid_constant__ WindowGemmParams p) {
    wait_for_previous_kernel();
    let_next_kernel_start();
    const int group = static_cast<int>(blockIdx.y);
    const std::int64_t quads = p.part_row / 4, count = p.rows * quads;
    for (std::int64_t i = blockIdx.x * std::int64_t{join_threads} + threadIdx.x; i < count;
         i += gridDim.x * std::int64_t{join_threads}) {
        const float* at = p.operands.workspace + group * p.part_group + i * 4;
        float4 sum = *reinterpret_cast<const float4*>(at);
        for (int rank = 1; rank < p.splits; ++rank) {
            const float4 part = *reinterpret_cast<const float4*>(at + rank * p.part);
            sum.x += part.x;
            sum.y += part.y;
            sum.z += part.z;
            sum.w += part.w;
        }
        finish_quad<clamps>(p, sum, static_cast<std::uint32_t>(i / quads), static_cast<int>(i % quads) * 4,
                            group);
    }
}

__global__ void code_probe() {}

}  // namespace

bool aligned_16(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

WindowGemmParams window_gemm_params(const WindowGemmShape& s, const WindowGemmOperands& operands) {
    WindowGemmParams p{};
    p.operands = operands;
    p.channels = s.channels;
    p.window_w = s.window_w;
    p.window_h = s.window_h;
    p.dst_w = s.dst_w;
    p.dst_h = s.dst_h;
    p.dst_d = s.dst_d;
    p.rows = static_cast<std::int32_t>(s.rows);
    p.columns = static_cast<std::int32_t>(s.columns);
    p.depth = static_cast<std::int32_t>(s.depth);
    p.padded_columns = static_cast<std::int32_t>(s.padded_columns());
    p.steps = static_cast<std::int32_t>(s.padded_depth() / s.tile().depth());
    p.column_tiles = static_cast<std::int32_t>(s.padded_columns() / s.tile().columns);
    p.splits = s.choice.splits;
    p.form = s.choice.form;
    p.overlap = s.overlap;
    p.even_dst = s.even_dst;
    p.quad_dst = s.quad_dst && aligned_16(operands.dst) && aligned_16(operands.residual);
    for (std::size_t axis = 0; axis < 3; ++axis) {
        p.src[axis] = static_cast<std::int32_t>(s.src[axis]);
        p.dilations[axis] = s.dilations[axis];
        p.strides[axis] = s.strides[axis];
        p.pads[axis] = s.pads[axis];
    }
    for (std::size_t i = 0; i < 4; ++i) p.src_strides[i] = s.src_strides[i];
    for (std::size_t i = 0; i < 5; ++i) {
        p.src_steps[i] = s.src_steps[i];
        p.dst_steps[i] = s.dst_steps[i];
    }
    p.dst_cell = s.dst_cell;
    p.src_group = static_cast<std::int64_t>(s.channels.divisor()) * s.src_steps[1];
    p.dst_group = s.columns * s.dst_steps[1];
    p.packed_group = s.padded_depth() * s.padded_columns();
    p.part_row = (s.columns + 3) / 4 * 4;
    p.part_group = s.rows * p.part_row;
    p.part = s.groups * p.part_group;
    return p;
}

bool window_gemm_has_clusters() {
    cudaFuncAttributes attributes{};
    if (cudaFuncGetAttributes(&attributes, code_probe) != cudaSuccess) {
        cudaGetLastError();
        return false;
    }
    return attributes.ptxVersion >= 90;
}

void window_gemm(const WindowGemmShape& s, const WindowGemmOperands& operands, Stream stream) {
    if (s.rows == 0 || s.columns == 0 || s.groups == 0) return;
    const WindowGemmParams p = window_gemm_params(s, operands);
    const std::int64_t row_tiles = (s.rows + s.tile().rows - 1) / s.tile().rows;
    const auto blocks = static_cast<unsigned>(row_tiles * p.column_tiles * p.splits);
    const auto groups = static_cast<unsigned>(s.groups);
    const bool quads = s.quads && aligned_16(operands.src), tabulated = operands.table && s.depth > 0;
    if (quads && tabulated)
        launch_window_gemm<ColumnSource::quads_tabulated>(s.choice.tile, p, blocks, groups, stream);
    else if (quads)
        launch_window_gemm<ColumnSource::quads_computed>(s.choice.tile, p, blocks, groups, stream);
    else if (tabulated)
        launch_window_gemm<ColumnSource::singles_tabulated>(s.choice.tile, p, blocks, groups, stream);
    else
        launch_window_gemm<ColumnSource::singles_computed>(s.choice.tile, p, blocks, groups, stream);
    if (p.form != SplitForm::workspace) return;
    const std::int64_t quads_in_all = s.rows * p.part_row / 4;
    const auto join_blocks = static_cast<unsigned>(
        std::min<std::int64_t>((quads_in_all + join_threads - 1) / join_threads, 1 << 16));
    launch_dependent(p.overlap, is_clamp(operands.activation) ? join_parts<true> : join_parts<false>,
                     dim3(join_blocks, groups), dim3(join_threads), 0, stream, p);
}

}  // namespace convlens::cuda

#include "kernels/cpu/convolution/pointwise.h"

#include "kernels/cpu/convolution/filter_matrix.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/gemm/gemm_grid.h"

namespace convlens::cpu {
namespace {

// The distance in memory from one output cell to the next, if it is the same for all; else 0.
std::int64_t row_distance(const ConvolutionGeometry& g, const Strides5& strides, const Axes& steps) {
    const std::array<std::int64_t, 4> lengths{g.batch, g.dst[0], g.dst[1], g.dst[2]};
    const std::array<std::int64_t, 4> distances{strides[0], strides[2] * steps[0], strides[3] * steps[1],
                                                strides[4] * steps[2]};
    std::int64_t distance = 0;
    std::int64_t cells = 1;
    for (std::size_t axis = 4; axis-- > 0;) {
        if (lengths[axis] == 1) continue;
        if (cells == 1)
            distance = distances[axis];
        else if (distances[axis] != distance * cells)
            return 0;
        cells *= lengths[axis];
    }
    return cells == 1 ? 1 : distance;
}

}  // namespace

void pointwise(const ImplicitGemm& params, const ConvolutionOperands& operands, void* workspace,
               ThreadPool& pool) {
    const ConvolutionGeometry& g = params.geometry;
    const std::int64_t lda = row_distance(g, g.src_strides, g.strides);
    const std::int64_t ldc = row_distance(g, g.dst_strides, {1, 1, 1});
    if (params.form != ImplicitGemm::Form::channels || lda == 0 || ldc == 0) {
        implicit_gemm(params, operands, {}, workspace, pool);
        return;
    }
    const std::int64_t outputs = g.outputs / g.groups;
    const std::int64_t channels = g.channels / g.groups;
    const GemmGrid grid = gemm_grid(pool, g.groups, g.batch * g.dst_cells(), outputs, channels);
    grid.run(pool, params.slots, [&](const GemmGrid::Part& part, int) {
        const std::int64_t output_offset = part.group * outputs * g.dst_strides[1] + part.row_begin * ldc;
        GemmOutput output;
        output.c = operands.dst + output_offset;
        output.ldc = ldc;
        output.column_stride = g.dst_strides[1];
        GemmEpilogue epilogue;
        if (operands.bias) epilogue.bias = operands.bias + part.group * outputs;
        if (operands.residual) epilogue.residual = operands.residual + output_offset;
        epilogue.activation = operands.activation;
        const float* a = operands.src + part.group * channels * g.src_strides[1] + part.row_begin * lda;
        const float* b = operands.packed + filter_matrix_group_size(g) * static_cast<std::size_t>(part.group);
        gemm(part.row_end - part.row_begin, outputs, channels, a, lda, b, output, epilogue, part.column_begin,
             part.column_end);
    });
}

}  // namespace convlens::cpu

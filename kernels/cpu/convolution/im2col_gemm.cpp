#include "kernels/cpu/convolution/im2col_gemm.h"

#include <algorithm>

#include "kernels/cpu/convolution/filter_matrix.h"
#include "kernels/cpu/convolution/output_cell.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/gemm/gemm_grid.h"

namespace convlens::cpu {
namespace {

// Rows of the product whose pointers exist at one time, on the stack.
constexpr std::int64_t block_rows = 112;

// A few floats without the call of a copying function.
void copy_floats(const float* from, std::int64_t stride, std::int64_t count, float* to) {
    if (stride == 1 && count >= 64)
        std::copy_n(from, count, to);
    else
        for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
}

struct RowWriter {
    const ConvolutionGeometry& g;
    std::int64_t channels = g.channels / g.groups;
    // A row of the window is contiguous in src.
    bool joined =
        g.groups == 1 && g.src_strides[1] == 1 && g.src_strides[4] == channels && g.dilations[2] == 1;

    // One row of the window: S taps of `channels` floats, zeros outside.
    float* window_row(const float* line, std::int64_t first, float* to) const {
        const std::int64_t taps = g.window[2];
        if (joined && first >= 0 && first + taps <= g.src[2]) {
            copy_floats(line + first * channels, 1, taps * channels, to);
            return to + taps * channels;
        }
        for (std::int64_t s = 0; s < taps; ++s, to += channels) {
            const std::int64_t w = first + s * g.dilations[2];
            if (w < 0 || w >= g.src[2])
                std::fill_n(to, channels, 0.0f);
            else
                copy_floats(line + w * g.src_strides[4], g.src_strides[1], channels, to);
        }
        return to;
    }

    // One row of the matrix.
    float* row(const float* image, const OutputCell& cell, float* to) const {
        const auto in = [&](std::size_t axis, std::int64_t tap) {
            return cell.out[axis] * g.strides[axis] - g.pads[axis] + tap * g.dilations[axis];
        };
        for (std::int64_t t = 0; t < g.window[0]; ++t)
            for (std::int64_t r = 0; r < g.window[1]; ++r) {
                const std::int64_t d = in(0, t);
                const std::int64_t h = in(1, r);
                if (d < 0 || d >= g.src[0] || h < 0 || h >= g.src[1])
                    to = std::fill_n(to, g.window[2] * channels, 0.0f);
                else
                    to = window_row(image + (d * g.src_strides[2] + h * g.src_strides[3]), in(2, 0), to);
            }
        return to;
    }
};

void multiply_part(const ConvolutionGeometry& g, const ConvolutionOperands& operands, const float* matrix,
                   const GemmGrid::Part& part) {
    const std::int64_t outputs = g.outputs / g.groups;
    const std::int64_t k = filter_matrix_k(g);
    const std::int64_t tile = gemm_tile_rows();
    const std::int64_t first_output = part.group * outputs;
    const float* pointers[block_rows + 16];
    std::int64_t offsets[block_rows];
    GemmOutput output;
    output.c = operands.dst + first_output * g.dst_strides[1];
    output.column_stride = g.dst_strides[1];
    GemmEpilogue epilogue;
    if (operands.bias) epilogue.bias = operands.bias + first_output;
    if (operands.residual) epilogue.residual = operands.residual + first_output * g.dst_strides[1];
    epilogue.activation = operands.activation;
    const float* b = operands.packed + filter_matrix_group_size(g) * static_cast<std::size_t>(part.group);
    const float* a = matrix + part.group * g.dst_cells() * k;
    for (std::int64_t begin = part.row_begin; begin < part.row_end; begin += block_rows) {
        GemmRows rows;
        rows.a = pointers;
        rows.m = std::min(block_rows, part.row_end - begin);
        rows.runs = 1;
        rows.length = k;
        rows.c_offsets = offsets;
        const GemmTiling tiling = gemm_tiling(rows.m);
        OutputCell cell(g, begin);
        for (std::int64_t i = 0; i < rows.m; ++i, cell.next(g)) {
            pointers[i / tiling.rows * tile + i % tiling.rows] = a + (begin + i) * k;
            offsets[i] = cell.dst_offset(g);
        }
        gemm_rows(rows, outputs, b, output, epilogue, part.column_begin, part.column_end);
    }
}

}  // namespace

void im2col_rows(const ConvolutionGeometry& g, const float* image, std::int64_t begin, std::int64_t end,
                 float* matrix) {
    const RowWriter writer{g};
    float* to = matrix + begin * filter_matrix_k(g);
    OutputCell cell(g, begin);
    for (std::int64_t row = begin; row < end; ++row, cell.next(g)) to = writer.row(image, cell, to);
}

std::optional<std::size_t> im2col_gemm_workspace(const ConvolutionGeometry& g) {
    std::int64_t size = static_cast<std::int64_t>(sizeof(float));
    for (const std::int64_t factor :
         {g.dst[0], g.dst[1], g.dst[2], g.window[0], g.window[1], g.window[2], g.channels})
        if (__builtin_mul_overflow(size, factor, &size)) return std::nullopt;
    return static_cast<std::size_t>(size);
}

void im2col_gemm(const ConvolutionGeometry& g, const ConvolutionOperands& operands, void* workspace,
                 ThreadPool& pool) {
    auto* matrix = static_cast<float*>(workspace);
    const std::int64_t cells = g.dst_cells();
    const std::int64_t k = filter_matrix_k(g);
    const std::int64_t channels = g.channels / g.groups;
    const GemmGrid grid = gemm_grid(pool, g.groups, cells, g.outputs / g.groups, k);
    // A float copied costs about as much as eight operations.
    const double copies =
        8.0 * static_cast<double>(cells) * static_cast<double>(k) * static_cast<double>(g.groups);
    const std::int64_t row_parts = task_count(pool, copies, cells);
    for (std::int64_t n = 0; n < g.batch; ++n) {
        const float* image = operands.src + n * g.src_strides[0];
        pool.parallel_for(row_parts, [&](std::int64_t part, int) {
            for (std::int64_t group = 0; group < g.groups; ++group)
                im2col_rows(g, image + group * channels * g.src_strides[1], cells * part / row_parts,
                            cells * (part + 1) / row_parts, matrix + group * cells * k);
        });
        ConvolutionOperands of_image = operands;
        of_image.dst += n * g.dst_strides[0];
        if (of_image.residual) of_image.residual += n * g.dst_strides[0];
        grid.run(pool, pool.threads(),
                 [&](const GemmGrid::Part& part, int) { multiply_part(g, of_image, matrix, part); });
    }
}

}  // namespace convlens::cpu

#include "kernels/cpu/transposed_convolution/col2im_gemm.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/transposed_convolution/hits.h"

namespace convlens::cpu {
namespace {

std::int64_t cells(const ConvolutionGeometry& g) { return g.src[0] * g.src[1] * g.src[2]; }
std::int64_t group_channels(const ConvolutionGeometry& g) { return g.channels / g.groups; }
std::int64_t group_outputs(const ConvolutionGeometry& g) { return g.outputs / g.groups; }
// Columns of one source cell, all groups.
std::int64_t row_length(const ConvolutionGeometry& g) { return g.taps() * g.outputs; }

// Whether the cells of an image are rows of a matrix already: channels side by side, one step between cells.
bool is_matrix(const ConvolutionGeometry& g) {
    const Strides5& s = g.src_strides;
    return s[1] == 1 && (g.src[1] == 1 || s[3] == g.src[2] * s[4]) &&
           (g.src[0] == 1 || s[2] == g.src[1] * g.src[2] * s[4]) && (s[4] >= g.channels || cells(g) == 1);
}

constexpr std::int64_t block = 64;

// Adds the columns that reach one output cell, for `count` (at most `block`) outputs from column `first`.
void gather(const ConvolutionGeometry& g, const float* columns, const TapHits& ds, const TapHits& hs,
            const TapHits& ws, std::int64_t first, std::int64_t count, float* sums) {
    const std::int64_t length = row_length(g), outputs = group_outputs(g);
    for (std::int64_t i = 0; i < ds.count; ++i)
        for (std::int64_t j = 0; j < hs.count; ++j) {
            const std::int64_t row = (ds.index - i * ds.index_step) * g.src[1] + hs.index - j * hs.index_step;
            const std::int64_t taps = (ds.tap + i * ds.tap_step) * g.window[1] + hs.tap + j * hs.tap_step;
            const float* from = columns + (row * g.src[2] + ws.index) * length +
                                (taps * g.window[2] + ws.tap) * outputs + first;
            const std::int64_t step = ws.tap_step * outputs - ws.index_step * length;
            for (std::int64_t l = 0; l < ws.count; ++l, from += step)
                for (std::int64_t k = 0; k < count; ++k) sums[k] += from[k];
        }
}

// One row of output cells of one image.
void gather_row(const ConvolutionGeometry& g, const float* columns, const float* bias,
                const Activation& activation, std::int64_t d, std::int64_t h, float* dst) {
    const TapHits ds = tap_hits(g, 0, d), hs = tap_hits(g, 1, h);
    const std::int64_t outputs = group_outputs(g);
    float* row = dst + d * g.dst_strides[2] + h * g.dst_strides[3];
    for (std::int64_t w = 0; w < g.dst[2]; ++w) {
        const TapHits ws = tap_hits(g, 2, w);
        for (std::int64_t k0 = 0; k0 < g.outputs;) {
            const std::int64_t group = k0 / outputs, within = k0 % outputs;
            const std::int64_t count = std::min(block, outputs - within);
            float sums[block] = {};
            gather(g, columns, ds, hs, ws, group * g.taps() * outputs + within, count, sums);
            float* cell = row + w * g.dst_strides[4] + k0 * g.dst_strides[1];
            for (std::int64_t k = 0; k < count; ++k)
                cell[k * g.dst_strides[1]] = activate(activation, bias ? sums[k] + bias[k0 + k] : sums[k]);
            k0 += count;
        }
    }
}

void copy_cell(const ConvolutionGeometry& g, const float* image, std::int64_t cell, float* to) {
    const std::int64_t w = cell % g.src[2], h = cell / g.src[2] % g.src[1], d = cell / (g.src[2] * g.src[1]);
    const float* from = image + d * g.src_strides[2] + h * g.src_strides[3] + w * g.src_strides[4];
    for (std::int64_t c = 0; c < g.channels; ++c) to[c] = from[c * g.src_strides[1]];
}

std::int64_t columns_floats(const ConvolutionGeometry& g) {
    return (cells(g) * row_length(g) + 15) / 16 * 16;
}

}  // namespace

std::size_t transposed_convolution_packed_size(const ConvolutionGeometry& g) {
    return static_cast<std::size_t>(g.groups) *
           gemm_packed_size(group_channels(g), g.taps() * group_outputs(g));
}

void transposed_convolution_pack(const ConvolutionGeometry& g, const float* weights, float* packed) {
    const std::int64_t channels = group_channels(g), outputs = group_outputs(g), taps = g.taps();
    const std::int64_t width = taps * outputs;
    std::vector<float> matrix(static_cast<std::size_t>(channels * width));
    for (std::int64_t group = 0; group < g.groups; ++group) {
        const float* from = weights + group * channels * width;
        for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t k = 0; k < outputs; ++k)
                for (std::int64_t tap = 0; tap < taps; ++tap)
                    matrix[static_cast<std::size_t>(c * width + tap * outputs + k)] =
                        from[(c * outputs + k) * taps + tap];
        gemm_pack_b(channels, width, matrix.data(), width, 1, packed);
        packed += gemm_packed_size(channels, width);
    }
}

double transposed_convolution_workspace_bytes(const ConvolutionGeometry& g) {
    const double count =
        static_cast<double>(g.src[0]) * static_cast<double>(g.src[1]) * static_cast<double>(g.src[2]);
    const double length = static_cast<double>(g.taps()) * static_cast<double>(g.outputs);
    if (count * length * 4 > 0x1p62) return count * length * 4;
    const double copy = is_matrix(g) ? 0 : count * static_cast<double>(g.channels);
    return (static_cast<double>(columns_floats(g)) + copy) * 4;
}

void transposed_convolution_col2im_gemm(const ConvolutionGeometry& g, const float* src, const float* packed,
                                        const float* bias, const Activation& activation, float* dst,
                                        void* workspace, ThreadPool& pool) {
    auto* columns = static_cast<float*>(workspace);
    float* copy = columns + columns_floats(g);
    const bool matrix = is_matrix(g);
    const std::int64_t channels = group_channels(g), width = g.taps() * group_outputs(g);
    const auto filter = static_cast<std::int64_t>(gemm_packed_size(channels, width));
    const double operations = 2.0 * static_cast<double>(cells(g) * row_length(g) * channels);
    const std::int64_t rows_in_task = 4 * gemm_tile_rows();
    const std::int64_t blocks = (cells(g) + rows_in_task - 1) / rows_in_task;
    const std::int64_t tasks = task_count(pool, operations, blocks);
    const std::int64_t rows = g.dst[0] * g.dst[1];
    const std::int64_t row_tasks =
        task_count(pool, operations / static_cast<double>(channels) + 1, rows, 2e5);
    for (std::int64_t n = 0; n < g.batch; ++n) {
        const float* image = src + n * g.src_strides[0];
        pool.parallel_for(tasks, [&](std::int64_t task, int) {
            const std::int64_t begin = blocks * task / tasks * rows_in_task;
            const std::int64_t end = std::min(cells(g), blocks * (task + 1) / tasks * rows_in_task);
            if (!matrix)
                for (std::int64_t cell = begin; cell < end; ++cell)
                    copy_cell(g, image, cell, copy + cell * g.channels);
            const float* a = matrix ? image : copy;
            const std::int64_t lda = matrix ? g.src_strides[4] : g.channels;
            for (std::int64_t group = 0; group < g.groups; ++group)
                gemm(end - begin, width, channels, a + begin * lda + group * channels, lda,
                     packed + group * filter,
                     {columns + begin * row_length(g) + group * width, row_length(g)});
        });
        pool.parallel_for(row_tasks, [&](std::int64_t task, int) {
            for (std::int64_t row = rows * task / row_tasks; row < rows * (task + 1) / row_tasks; ++row)
                gather_row(g, columns, bias, activation, row / g.dst[1], row % g.dst[1],
                           dst + n * g.dst_strides[0]);
        });
    }
}

}  // namespace convlens::cpu

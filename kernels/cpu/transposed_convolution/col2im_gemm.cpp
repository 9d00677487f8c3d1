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

// Sums of some cells of one output row and some outputs, on the stack.
constexpr std::int64_t buffer_floats = 4096;
constexpr std::int64_t most_block_outputs = 512;

void add_run(const float* from, std::int64_t count, float* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

struct Epilogue {
    const float* bias;      // or null
    const float* residual;  // laid out as dst, or null
    const Activation& activation;
    float* dst;
};

// A part of one output row: cells [cell, cell + cells), `outputs` outputs of a group from the first on.
struct RowPart {
    std::int64_t cell, cells;
    std::int64_t group, first, outputs;
};

// Adds what one source row sends through one row of taps; `from` is its first cell's columns for tap 0 and
// the part's first output.  Taps of a cell that lie side by side in the output are one run.
void add_source_row(const ConvolutionGeometry& g, const float* from, const RowPart& part, float* sums) {
    const std::int64_t stride = g.strides[2], dilation = g.dilations[2], window = g.window[2];
    const std::int64_t length = row_length(g), outputs = group_outputs(g);
    const std::int64_t reach =
        g.pads[2] + part.cell;  // what cell 0 of the part is short of tap 0 of source cell 0
    const std::int64_t before = reach - (window - 1) * dilation;
    const std::int64_t begin = before > 0 ? (before + stride - 1) / stride : 0;
    const std::int64_t end = std::min(g.src[2], (reach + part.cells - 1) / stride + 1);
    const bool joined = dilation == 1 && part.outputs == outputs;
    for (std::int64_t q = begin; q < end; ++q) {
        const std::int64_t at = q * stride - reach;
        const float* cell = from + q * length;
        if (joined) {
            const std::int64_t first = std::max<std::int64_t>(0, -at),
                               last = std::min(window, part.cells - at);
            add_run(cell + first * outputs, (last - first) * outputs, sums + (at + first) * outputs);
            continue;
        }
        for (std::int64_t s = 0; s < window; ++s) {
            const std::int64_t to = at + s * dilation;
            if (to >= 0 && to < part.cells)
                add_run(cell + s * outputs, part.outputs, sums + to * part.outputs);
        }
    }
}

void store_part(const ConvolutionGeometry& g, const Epilogue& e, std::int64_t offset, const RowPart& part,
                const float* sums) {
    const std::int64_t k = part.group * group_outputs(g) + part.first, step = g.dst_strides[1];
    const bool identity = e.activation.kind == ActivationKind::identity;
    for (std::int64_t i = 0; i < part.cells; ++i, sums += part.outputs) {
        const std::int64_t at = offset + (part.cell + i) * g.dst_strides[4] + k * step;
        for (std::int64_t j = 0; j < part.outputs; ++j) {
            float value = sums[j];
            if (e.bias) value += e.bias[k + j];
            if (e.residual) value += e.residual[at + j * step];
            e.dst[at + j * step] = identity ? value : activate(e.activation, value);
        }
    }
}

// One row of output cells of one image.
void gather_row(const ConvolutionGeometry& g, const float* columns, const Epilogue& e, std::int64_t d,
                std::int64_t h, std::int64_t image_offset) {
    const TapHits ds = tap_hits(g, 0, d), hs = tap_hits(g, 1, h);
    const std::int64_t outputs = group_outputs(g), length = row_length(g);
    const std::int64_t most_outputs = std::min(outputs, most_block_outputs),
                       most_cells = buffer_floats / most_outputs;
    const std::int64_t offset = image_offset + d * g.dst_strides[2] + h * g.dst_strides[3];
    float sums[buffer_floats];
    RowPart part{};
    for (part.group = 0; part.group < g.groups; ++part.group)
        for (part.first = 0; part.first < outputs; part.first += most_outputs)
            for (part.cell = 0; part.cell < g.dst[2]; part.cell += most_cells) {
                part.outputs = std::min(most_outputs, outputs - part.first);
                part.cells = std::min(most_cells, g.dst[2] - part.cell);
                std::fill_n(sums, part.cells * part.outputs, 0.0f);
                for (std::int64_t i = 0; i < ds.count; ++i)
                    for (std::int64_t j = 0; j < hs.count; ++j) {
                        const std::int64_t row =
                            (ds.index - i * ds.index_step) * g.src[1] + hs.index - j * hs.index_step;
                        const std::int64_t taps =
                            (ds.tap + i * ds.tap_step) * g.window[1] + hs.tap + j * hs.tap_step;
                        add_source_row(g,
                                       columns + row * g.src[2] * length +
                                           (part.group * g.taps() + taps * g.window[2]) * outputs +
                                           part.first,
                                       part, sums);
                    }
                store_part(g, e, offset, part, sums);
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
                                        const float* bias, const float* residual,
                                        const Activation& activation, float* dst, void* workspace,
                                        ThreadPool& pool) {
    const Epilogue epilogue{bias, residual, activation, dst};
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
                gather_row(g, columns, epilogue, row / g.dst[1], row % g.dst[1], n * g.dst_strides[0]);
        });
    }
}

}  // namespace convlens::cpu

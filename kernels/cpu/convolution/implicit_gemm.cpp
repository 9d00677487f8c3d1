#include "kernels/cpu/convolution/implicit_gemm.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/convolution/filter_matrix.h"
#include "kernels/cpu/convolution/output_cell.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/gemm/gemm_grid.h"

namespace convlens::cpu {
namespace {

using Form = ImplicitGemm::Form;

// Rows whose pointers exist at one time: enough for a panel of B to be used often.
constexpr std::int64_t most_block_rows = 112;
// Scratch of this size lives on the stack; larger scratch is workspace, of at most this size where possible.
constexpr std::size_t stack_bytes = 48 << 10;
constexpr std::size_t most_slot_bytes = 512 << 10;
// Below this many channels a run for each tap is too short.
constexpr std::int64_t few_channels = 32;
constexpr std::int64_t very_few_channels = 8;

constexpr std::size_t round_up_64(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// One thread's scratch: pointers, offsets in dst, copied rows.
struct Slot {
    const float** pointers;
    std::int64_t* dst_offsets;
    float* copies;
};

std::size_t pointer_bytes(std::int64_t rows, std::int64_t runs) {
    // Tiles of a block are full but for the last one or evenly cut: one more tile covers both.
    const auto slots = static_cast<std::size_t>(rows + gemm_tile_rows()) * static_cast<std::size_t>(runs);
    return round_up_64(slots * sizeof(float*));
}
std::size_t offset_bytes(std::int64_t rows) {
    return round_up_64(static_cast<std::size_t>(rows) * sizeof(std::int64_t));
}
std::size_t slot_bytes(std::int64_t rows, std::int64_t runs, std::int64_t copied) {
    return pointer_bytes(rows, runs) + offset_bytes(rows) +
           round_up_64(static_cast<std::size_t>(rows) * static_cast<std::size_t>(copied) * sizeof(float));
}

// Offsets in src along one axis, computed on the way.
struct ComputedOffsets {
    const ConvolutionGeometry& g;
    std::int64_t at(std::size_t axis, std::int64_t out, std::int64_t tap) const {
        const std::int64_t in = out * g.strides[axis] - g.pads[axis] + tap * g.dilations[axis];
        return in < 0 || in >= g.src[axis] ? implicit_gemm_outside : in * g.src_strides[axis + 2];
    }
};
struct TableOffsets {
    std::array<const std::int64_t*, 3> tables;
    const ConvolutionGeometry& g;
    std::int64_t at(std::size_t axis, std::int64_t out, std::int64_t tap) const {
        return tables[axis][out * g.window[axis] + tap];
    }
};

template <class Offsets>
class RowBuilder {
  public:
    RowBuilder(const ImplicitGemm& params, const Offsets& offsets, const float* src, const float* zeros,
               std::int64_t group)
        : p_(params),
          g_(params.geometry),
          offsets_(offsets),
          src_(src + group * (g_.channels / g_.groups) * g_.src_strides[1]),
          zeros_(zeros),
          tile_(gemm_tile_rows()) {}

    // Pointers for rows [begin, begin + count).
    void build(std::int64_t begin, std::int64_t count, const Slot& slot) const {
        const GemmTiling tiling = gemm_tiling(count);
        OutputCell cell(g_, begin);
        for (std::int64_t i = 0; i < count;) {
            // Cells of one line of dst within one tile.
            const std::int64_t place = i % tiling.rows;
            const std::int64_t cells = std::min({count - i, tiling.rows - place, g_.dst[2] - cell.out[2]});
            const std::int64_t dst_offset = cell.dst_offset(g_);
            for (std::int64_t j = 0; j < cells; ++j)
                slot.dst_offsets[i + j] = dst_offset + j * g_.dst_strides[4];
            const float** row = slot.pointers + i / tiling.rows * p_.runs * tile_ + place;
            float* copies = slot.copies + i * p_.runs * p_.length;
            if (p_.form == Form::channels)
                point_channels(cell, cells, row);
            else if (p_.form == Form::window)
                point_window(cell, cells, row, copies);
            else
                for (std::int64_t j = 0; j < cells; ++j) row[j] = copies + j * p_.length;
            i += cells;
            cell.advance(g_, cells);
        }
        if (p_.form == Form::gathered) gather(begin, count, slot.copies);
    }

  private:
    const float* image(const OutputCell& cell) const { return src_ + cell.n * g_.src_strides[0]; }

    void point_channels(const OutputCell& cell, std::int64_t cells, const float** row) const {
        const float* base = image(cell);
        for (std::int64_t t = 0; t < g_.window[0]; ++t) {
            const std::int64_t d = offsets_.at(0, cell.out[0], t);
            for (std::int64_t r = 0; r < g_.window[1]; ++r) {
                const std::int64_t h = offsets_.at(1, cell.out[1], r);
                const bool inside = d != implicit_gemm_outside && h != implicit_gemm_outside;
                for (std::int64_t s = 0; s < g_.window[2]; ++s, row += tile_) {
                    for (std::int64_t j = 0; j < cells; ++j) {
                        const std::int64_t w = offsets_.at(2, cell.out[2] + j, s);
                        row[j] = inside && w != implicit_gemm_outside ? base + (d + h + w) : zeros_;
                    }
                }
            }
        }
    }

    // A run is a row of the window: S * C floats from the first tap's cell on.
    void point_window(const OutputCell& cell, std::int64_t cells, const float** row, float* copies) const {
        const std::int64_t row_floats = p_.runs * p_.length;
        const std::int64_t start = cell.out[2] * g_.strides[2] - g_.pads[2];
        const std::int64_t step = g_.strides[2];
        // Cells [low, high) see no end of the line.
        const std::int64_t low = start >= 0 ? 0 : std::min(cells, (-start + step - 1) / step);
        const std::int64_t room = g_.src[2] - g_.window[2] - start;
        const std::int64_t high = room < 0 ? low : std::clamp(room / step + 1, low, cells);
        for (std::int64_t t = 0; t < g_.window[0]; ++t) {
            const std::int64_t d = offsets_.at(0, cell.out[0], t);
            for (std::int64_t r = 0; r < g_.window[1]; ++r, row += tile_, copies += p_.length) {
                const std::int64_t h = offsets_.at(1, cell.out[1], r);
                if (d == implicit_gemm_outside || h == implicit_gemm_outside) {
                    std::fill_n(row, cells, zeros_);
                    continue;
                }
                const float* line = image(cell) + (d + h);
                for (std::int64_t j = 0; j < low; ++j)
                    row[j] = copy_edge(line, start + j * step, copies + j * row_floats);
                for (std::int64_t j = low; j < high; ++j)
                    row[j] = line + (start + j * step) * g_.src_strides[4];
                for (std::int64_t j = high; j < cells; ++j)
                    row[j] = copy_edge(line, start + j * step, copies + j * row_floats);
            }
        }
    }

    // A row of the window that reaches over an end of the line.
    const float* copy_edge(const float* line, std::int64_t first, float* copy) const {
        const std::int64_t last = first + g_.window[2];
        const std::int64_t from = std::max<std::int64_t>(first, 0);
        const std::int64_t to = std::min(last, g_.src[2]);
        if (from >= to) return zeros_;
        float* end = std::fill_n(copy, (from - first) * g_.channels, 0.0f);
        end = std::copy_n(line + from * g_.src_strides[4], (to - from) * g_.channels, end);
        std::fill_n(end, (last - to) * g_.channels, 0.0f);
        return copy;
    }

    // Rows change first, because cells that follow each other often lie side by side where channels do not.
    void gather(std::int64_t begin, std::int64_t count, float* copies) const {
        const std::int64_t channels = g_.channels / g_.groups;
        std::int64_t tap = 0;
        for (std::int64_t t = 0; t < g_.window[0]; ++t)
            for (std::int64_t r = 0; r < g_.window[1]; ++r)
                for (std::int64_t s = 0; s < g_.window[2]; ++s, ++tap) {
                    OutputCell cell(g_, begin);
                    for (std::int64_t i = 0; i < count;) {
                        const std::int64_t cells = std::min(count - i, g_.dst[2] - cell.out[2]);
                        gather_line(cell, cells, {t, r, s}, copies + i * p_.length + tap * channels);
                        i += cells;
                        cell.advance(g_, cells);
                    }
                }
    }

    // One tap of cells of one line of dst.
    void gather_line(const OutputCell& cell, std::int64_t cells, const Axes& tap, float* to) const {
        const std::int64_t channels = g_.channels / g_.groups;
        const std::int64_t d = offsets_.at(0, cell.out[0], tap[0]);
        const std::int64_t h = offsets_.at(1, cell.out[1], tap[1]);
        const bool inside = d != implicit_gemm_outside && h != implicit_gemm_outside;
        std::array<std::int64_t, most_block_rows> from;
        for (std::int64_t j = 0; j < cells; ++j) {
            const std::int64_t w = offsets_.at(2, cell.out[2] + j, tap[2]);
            const bool here = inside && w != implicit_gemm_outside;
            from[static_cast<std::size_t>(j)] = here ? d + h + w : implicit_gemm_outside;
        }
        for (std::int64_t c = 0; c < channels; ++c) {
            const float* plane = image(cell) + c * g_.src_strides[1];
            for (std::int64_t j = 0; j < cells; ++j) {
                const std::int64_t at = from[static_cast<std::size_t>(j)];
                to[j * p_.length + c] = at == implicit_gemm_outside ? 0.0f : plane[at];
            }
        }
    }

    const ImplicitGemm& p_;
    const ConvolutionGeometry& g_;
    const Offsets& offsets_;
    const float* src_;
    const float* zeros_;
    std::int64_t tile_;
};

template <class Offsets>
void run_part(const ImplicitGemm& params, const ConvolutionOperands& operands, const Offsets& offsets,
              const GemmGrid::Part& part, const Slot& slot) {
    const ConvolutionGeometry& g = params.geometry;
    const std::int64_t outputs = g.outputs / g.groups;
    const std::size_t group_size = filter_matrix_group_size(g);
    const float* zeros = operands.packed + filter_matrix_size(g);
    const RowBuilder<Offsets> builder(params, offsets, operands.src, zeros, part.group);
    const std::int64_t first_output = part.group * outputs;
    GemmOutput output;
    output.c = operands.dst + first_output * g.dst_strides[1];
    output.column_stride = g.dst_strides[1];
    GemmEpilogue epilogue;
    if (operands.bias) epilogue.bias = operands.bias + first_output;
    if (operands.residual) epilogue.residual = operands.residual + first_output * g.dst_strides[1];
    epilogue.activation = operands.activation;
    GemmRows rows;
    rows.a = slot.pointers;
    rows.runs = params.runs;
    rows.length = params.length;
    rows.c_offsets = slot.dst_offsets;
    const std::int64_t count = part.row_end - part.row_begin;
    const std::int64_t blocks = (count + params.block_rows - 1) / params.block_rows;
    for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t begin = part.row_begin + count * block / blocks;
        rows.m = part.row_begin + count * (block + 1) / blocks - begin;
        builder.build(begin, rows.m, slot);
        gemm_rows(rows, outputs, operands.packed + group_size * static_cast<std::size_t>(part.group), output,
                  epilogue, part.column_begin, part.column_end);
    }
}

template <class Offsets>
void run(const ImplicitGemm& params, const ConvolutionOperands& operands, const Offsets& offsets,
         void* workspace, ThreadPool& pool) {
    const ConvolutionGeometry& g = params.geometry;
    const GemmGrid grid =
        gemm_grid(pool, g.groups, g.batch * g.dst_cells(), g.outputs / g.groups, filter_matrix_k(g));
    const auto with_scratch = [&](const GemmGrid::Part& part, std::byte* scratch) {
        Slot slot;
        slot.pointers = reinterpret_cast<const float**>(scratch);
        scratch += pointer_bytes(params.block_rows, params.runs);
        slot.dst_offsets = reinterpret_cast<std::int64_t*>(scratch);
        slot.copies = reinterpret_cast<float*>(scratch + offset_bytes(params.block_rows));
        run_part(params, operands, offsets, part, slot);
    };
    grid.run(pool, params.slots, [&](const GemmGrid::Part& part, int index) {
        if (params.workspace_bytes > 0) {
            with_scratch(part, static_cast<std::byte*>(workspace) +
                                   static_cast<std::size_t>(index) * params.slot_bytes);
        } else {
            alignas(64) std::byte stack[stack_bytes];
            with_scratch(part, stack);
        }
    });
}

Form choose_form(const ConvolutionGeometry& g) {
    const std::int64_t channels = g.channels / g.groups;
    const bool channels_contiguous = g.src_strides[1] == 1 || channels == 1;
    const bool cells_contiguous = g.groups == 1 && g.src_strides[4] == g.channels && g.dilations[2] == 1;
    if (channels_contiguous && cells_contiguous && g.window[2] > 1 && channels < few_channels)
        return Form::window;
    if (channels_contiguous && (channels >= very_few_channels || g.taps() == 1)) return Form::channels;
    return Form::gathered;
}

}  // namespace

ImplicitGemm implicit_gemm_params(const ConvolutionGeometry& g, int threads) {
    ImplicitGemm p;
    p.geometry = g;
    p.form = choose_form(g);
    p.slots = std::max(threads, 1);
    const std::int64_t channels = g.channels / g.groups;
    switch (p.form) {
        case Form::channels:
            p.runs = g.taps();
            p.length = channels;
            break;
        case Form::window:
            p.runs = g.window[0] * g.window[1];
            p.length = g.window[2] * channels;
            break;
        case Form::gathered:
            p.runs = 1;
            p.length = filter_matrix_k(g);
            break;
    }
    const std::int64_t copied = p.form == Form::channels ? 0 : p.runs * p.length;
    const std::int64_t tile = gemm_tile_rows();
    const std::int64_t rows = std::min(most_block_rows, std::max<std::int64_t>(g.batch * g.dst_cells(), 1));
    const auto fitting = [&](std::size_t bytes) {
        std::int64_t fit = rows;
        while (fit > tile && slot_bytes(fit, p.runs, copied) > bytes) fit -= tile;
        return fit;
    };
    p.block_rows = fitting(stack_bytes);
    if (slot_bytes(p.block_rows, p.runs, copied) <= stack_bytes &&
        (p.block_rows >= 3 * tile || p.block_rows == rows))
        return p;
    p.block_rows = fitting(most_slot_bytes);
    p.slot_bytes = slot_bytes(p.block_rows, p.runs, copied);
    p.workspace_bytes = p.slot_bytes * static_cast<std::size_t>(p.slots);
    return p;
}

std::size_t implicit_gemm_packed_size(const ImplicitGemm& p) {
    return filter_matrix_size(p.geometry) + static_cast<std::size_t>(p.length);
}

void implicit_gemm_pack(const ImplicitGemm& p, const float* weights, float* packed) {
    filter_matrix_pack(p.geometry, weights, packed);
    std::fill_n(packed + filter_matrix_size(p.geometry), p.length, 0.0f);
}

std::size_t implicit_gemm_table_size(const ConvolutionGeometry& g) {
    std::size_t size = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        std::size_t entries = 0;
        if (__builtin_mul_overflow(static_cast<std::size_t>(g.dst[axis]),
                                   static_cast<std::size_t>(g.window[axis]), &entries) ||
            __builtin_add_overflow(size, entries, &size))
            return 0;
    }
    return size;
}

void implicit_gemm_fill_table(const ConvolutionGeometry& g, std::span<std::int64_t> table) {
    const ComputedOffsets offsets{g};
    std::size_t at = 0;
    for (std::size_t axis = 0; axis < 3; ++axis)
        for (std::int64_t out = 0; out < g.dst[axis]; ++out)
            for (std::int64_t tap = 0; tap < g.window[axis]; ++tap) table[at++] = offsets.at(axis, out, tap);
}

void implicit_gemm(const ImplicitGemm& params, const ConvolutionOperands& operands,
                   std::span<const std::int64_t> table, void* workspace, ThreadPool& pool) {
    const ConvolutionGeometry& g = params.geometry;
    if (table.empty()) {
        run(params, operands, ComputedOffsets{g}, workspace, pool);
        return;
    }
    const std::int64_t* depth = table.data();
    const std::int64_t* height = depth + g.dst[0] * g.window[0];
    const std::int64_t* width = height + g.dst[1] * g.window[1];
    run(params, operands, TableOffsets{{depth, height, width}, g}, workspace, pool);
}

}  // namespace convlens::cpu

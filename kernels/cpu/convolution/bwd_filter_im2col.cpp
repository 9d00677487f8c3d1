#include "kernels/cpu/convolution/bwd_filter_im2col.h"

#include <algorithm>

#include "kernels/cpu/convolution/filter_matrix.h"
#include "kernels/cpu/convolution/im2col_gemm.h"
#include "kernels/cpu/gemm/outer_product.h"

namespace convlens::cpu {
namespace {

// Cells of one product: their rows of a panel of dy stay in the first cache.
constexpr std::int64_t block_cells = 256;
// Rows of dw of one task: a few register tiles.
constexpr std::int64_t task_rows = 112;

std::int64_t round_up_16(std::int64_t floats) { return (floats + 15) / 16 * 16; }

struct Job {
    const BwdFilterParams& f;
    const ConvolutionGeometry& g = f.geometry;
    std::int64_t cells = g.dst_cells();
    std::int64_t k = filter_matrix_k(g);
    std::int64_t channels = g.channels / g.groups, outputs = g.outputs / g.groups;
    std::int64_t lanes = outer_product_lanes();
    std::int64_t panel = outputs <= lanes ? lanes : 2 * lanes;
    std::int64_t panels = (outputs + panel - 1) / panel;
    float* matrix = nullptr;  // [group][cell][k]
    float* packed = nullptr;  // [group][panel][cell][width]
    float* sums = nullptr;    // [group][panel][k][width]

    std::int64_t group_panels() const { return g.groups * panels; }
    std::int64_t width(std::int64_t group_panel) const {
        return outputs - group_panel % panels * panel <= lanes ? lanes : panel;
    }

    void pack(const float* image, std::int64_t begin, std::int64_t end) const {
        for (std::int64_t group_panel = 0; group_panel < group_panels(); ++group_panel) {
            LinePacking packing;
            const std::int64_t first = group_panel % panels * panel;
            packing.channel_stride = g.dst_strides[1];
            packing.cell_stride = g.dst_strides[4];
            packing.channels = std::min(panel, outputs - first);
            packing.width = width(group_panel);
            for (std::int64_t cell = begin; cell < end;) {
                const std::int64_t q = cell % g.dst[2], p = cell / g.dst[2] % g.dst[1],
                                   o = cell / (g.dst[2] * g.dst[1]);
                packing.length = packing.positions = std::min(end - cell, g.dst[2] - q);
                const std::int64_t offset = (group_panel / panels * outputs + first) * g.dst_strides[1] +
                                            o * g.dst_strides[2] + p * g.dst_strides[3] +
                                            q * g.dst_strides[4];
                pack_line(ElementType::f32, image, offset, packing,
                          packed + group_panel * cells * panel + cell * packing.width);
                cell += packing.length;
            }
        }
    }

    void multiply(std::int64_t group_panel, std::int64_t row, std::int64_t rows, bool add) const {
        const std::int64_t columns = width(group_panel);
        const float* a = matrix + group_panel / panels * cells * k + row;
        const float* b = packed + group_panel * cells * panel;
        float* c = sums + group_panel * k * panel + row * columns;
        for (std::int64_t begin = 0; begin < cells; begin += block_cells) {
            const float* a_line = a + begin * k;
            const float* b_line = b + begin * columns;
            const OuterLines lines{&a_line, &b_line, 1, std::min(block_cells, cells - begin), k, columns};
            outer_product(lines, rows, static_cast<int>(columns / lanes), add || begin > 0, c);
        }
    }

    void store(std::int64_t group_panel, std::int64_t channel, std::int64_t count, float* dw) const {
        FilterBlock block;
        block.width = width(group_panel);
        block.sums = sums + group_panel * k * panel + channel * block.width;
        block.row_channels = channels;
        block.channels = count;
        const std::int64_t first = group_panel % panels * panel;
        block.outputs = std::min(panel, outputs - first);
        block.offset =
            (group_panel / panels * outputs + first) * f.filter_strides[0] + channel * f.filter_strides[1];
        store_filter_block(f, block, dw);
    }
};

// body(index, begin, end) over parts of `count` things in each of `groups`.
template <class Body>
void in_parts(ThreadPool& pool, bool threaded, std::int64_t groups, std::int64_t count, std::int64_t most,
              const Body& body) {
    const std::int64_t parts = (count + most - 1) / most;
    const auto part = [&](std::int64_t task) {
        const std::int64_t i = task % parts;
        body(task / parts, count * i / parts, count * (i + 1) / parts);
    };
    if (threaded)
        pool.parallel_for(groups * parts, [&](std::int64_t task, int) { part(task); });
    else
        for (std::int64_t task = 0; task < groups * parts; ++task) part(task);
}

}  // namespace

std::optional<std::size_t> bwd_filter_im2col_workspace(const BwdFilterParams& f) {
    const Job job{f};
    const auto cells = static_cast<double>(job.cells), k = static_cast<double>(job.k);
    const auto groups = static_cast<double>(job.g.groups);
    const double outputs = static_cast<double>(job.panels) * static_cast<double>(job.panel);
    if (groups * (cells * k + (cells + k) * outputs) > 0x1p59) return std::nullopt;
    const std::int64_t columns = job.group_panels() * job.panel;
    const std::int64_t floats = round_up_16(job.g.groups * job.cells * job.k) + (job.cells + job.k) * columns;
    return static_cast<std::size_t>(floats) * sizeof(float);
}

void bwd_filter_im2col(const BwdFilterParams& f, const float* x, const float* dy, float* dw, void* workspace,
                       ThreadPool& pool) {
    x += f.src_offset;
    dy += f.diff_offset;
    Job job{f};
    const ConvolutionGeometry& g = f.geometry;
    job.matrix = static_cast<float*>(workspace);
    job.packed = job.matrix + round_up_16(g.groups * job.cells * job.k);
    job.sums = job.packed + job.cells * job.group_panels() * job.panel;
    const bool threaded = pool.threads() > 1 && filter_gradient_operations(g) >= 1e6;
    if (g.batch == 0 || job.cells == 0) std::fill_n(job.sums, job.group_panels() * job.k * job.panel, 0.0f);
    for (std::int64_t n = 0; n < g.batch && job.cells > 0; ++n) {
        const float* image = x + n * g.src_strides[0];
        const std::int64_t part = std::max<std::int64_t>(1, job.cells / (4 * pool.threads()));
        in_parts(pool, threaded, 1, job.cells, part, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
            for (std::int64_t group = 0; group < g.groups; ++group)
                im2col_rows(g, image + group * job.channels * g.src_strides[1], begin, end,
                            job.matrix + group * job.cells * job.k);
            job.pack(dy + n * g.dst_strides[0], begin, end);
        });
        in_parts(pool, threaded, job.group_panels(), job.k, task_rows,
                 [&](std::int64_t group_panel, std::int64_t begin, std::int64_t end) {
                     job.multiply(group_panel, begin, end - begin, n > 0);
                 });
    }
    in_parts(pool, threaded, job.group_panels(), job.channels, 64,
             [&](std::int64_t group_panel, std::int64_t begin, std::int64_t end) {
                 job.store(group_panel, begin, end - begin, dw);
             });
}

}  // namespace convlens::cpu

#include "kernels/cpu/convolution/bwd_filter_gemm.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/cpu/gemm/outer_product.h"

namespace convlens::cpu {
namespace {

// Lines whose pointers exist at one time, on the stack.
constexpr std::int64_t most_lines = 128;
// Sums of a block and panel that stay in the second cache beside packed lines.
constexpr std::int64_t most_task_floats = 16 << 10;
// Packed floats of a chunk: of all threads together, or of one.
constexpr double shared_chunk_floats = 384 << 10, own_chunk_floats = 96 << 10;
// A copy of dw for each split costs little up to here.
constexpr double most_split_floats = 16 << 10;
constexpr double split_operations = 2e6;
constexpr std::int64_t most_splits = 32;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_up_16(std::int64_t floats) { return (floats + 15) / 16 * 16; }

// Packed places along one axis for `outs` outputs: all that lie under a window, or, where windows have gaps
// or lie apart, each window's own.
std::int64_t places(const BwdFilterGemm& p, std::size_t axis, std::int64_t outs) {
    const ConvolutionGeometry& g = p.gradient.geometry;
    if (p.apart[axis]) return outs * g.window[axis];
    return (outs - 1) * g.strides[axis] + (g.window[axis] - 1) * g.dilations[axis] + 1;
}
std::int64_t place_of(const BwdFilterGemm& p, std::size_t axis, std::int64_t out, std::int64_t tap) {
    const ConvolutionGeometry& g = p.gradient.geometry;
    return p.apart[axis] ? out * g.window[axis] + tap : out * g.strides[axis] + tap * g.dilations[axis];
}
std::int64_t first_source(const ConvolutionGeometry& g, std::size_t axis, std::int64_t out) {
    return out * g.strides[axis] - g.pads[axis];
}

// The source's index at a packed place of a chunk that begins with output `out`.
std::int64_t source_at(const BwdFilterGemm& p, std::size_t axis, std::int64_t out, std::int64_t place) {
    const ConvolutionGeometry& g = p.gradient.geometry;
    if (!p.apart[axis]) return first_source(g, axis, out) + place;
    return first_source(g, axis, out + place / g.window[axis]) + place % g.window[axis] * g.dilations[axis];
}

// One chunk: outputs [begin, end) of N D H W, and the packed places that they read.
struct Chunk {
    std::array<std::int64_t, 4> begin, end;
    std::int64_t depths, heights, widths;

    Chunk(const BwdFilterGemm& p, std::int64_t index) {
        const ConvolutionGeometry& g = p.gradient.geometry;
        const std::array<std::int64_t, 4> lengths{g.batch, g.dst[0], g.dst[1], g.dst[2]};
        for (std::size_t axis = 4; axis-- > 0;) {
            const std::int64_t i = index % p.chunks[axis];
            index /= p.chunks[axis];
            begin[axis] = lengths[axis] * i / p.chunks[axis];
            end[axis] = lengths[axis] * (i + 1) / p.chunks[axis];
        }
        depths = places(p, 0, count(1));
        heights = places(p, 1, count(2));
        widths = places(p, 2, count(3));
    }
    std::int64_t count(std::size_t axis) const { return end[axis] - begin[axis]; }
    std::int64_t src_lines() const { return count(0) * depths * heights; }
    std::int64_t dst_lines() const { return count(0) * count(1) * count(2); }
};

struct ComputedPlaces {
    const ConvolutionGeometry& g;
    bool inside(std::size_t axis, std::int64_t out, std::int64_t tap) const {
        const std::int64_t in = first_source(g, axis, out) + tap * g.dilations[axis];
        return in >= 0 && in < g.src[axis];
    }
};
struct TabulatedPlaces {
    const ConvolutionGeometry& g;
    std::array<const std::int64_t*, 2> tables;
    bool inside(std::size_t axis, std::int64_t out, std::int64_t tap) const {
        return tables[axis][out * g.window[axis] + tap] >= 0;
    }
};

template <class Places>
class Worker {
  public:
    Worker(const BwdFilterGemm& params, const Places& places_of, const void* x, const void* dy, void* dw)
        : p_(params),
          g_(params.gradient.geometry),
          places_(places_of),
          x_(x),
          dy_(dy),
          dw_(dw),
          lanes_(outer_product_lanes()),
          channels_(g_.channels / g_.groups),
          outputs_(g_.outputs / g_.groups) {}

    // Line `line` of the chunk's x, all channels.
    void pack_src(const Chunk& chunk, std::int64_t line, float* packed) const {
        if (p_.src_in_place) return;
        const std::int64_t h = source_at(p_, 1, chunk.begin[2], line % chunk.heights);
        const std::int64_t d = source_at(p_, 0, chunk.begin[1], line / chunk.heights % chunk.depths);
        if (h < 0 || h >= g_.src[1] || d < 0 || d >= g_.src[0]) return;  // never read
        const std::int64_t n = chunk.begin[0] + line / (chunk.heights * chunk.depths);
        const std::int64_t offset = n * g_.src_strides[0] + d * g_.src_strides[2] + h * g_.src_strides[3];
        LinePacking packing;
        // Windows that lie apart are packed one by one.
        const bool apart = p_.apart[2] && g_.window[2] > 1;
        const std::int64_t runs = apart ? chunk.count(3) : 1;
        packing.step = apart ? g_.dilations[2] : g_.window[2] == 1 ? g_.strides[2] : 1;
        packing.length = g_.src[2];
        packing.positions = chunk.widths / runs;
        packing.cell_stride = g_.src_strides[4];
        packing.channel_stride = g_.src_strides[1];
        packing.width = p_.block;
        const std::int64_t line_floats = chunk.widths * p_.block;
        for (std::int64_t i = 0; i < g_.groups * p_.blocks; ++i) {
            const std::int64_t first = i % p_.blocks * p_.block;
            packing.channels = std::min(p_.block, channels_ - first);
            float* to = packed + (i * chunk.src_lines() + line) * line_floats;
            for (std::int64_t run = 0; run < runs; ++run, to += packing.positions * p_.block) {
                packing.first = first_source(g_, 2, chunk.begin[3] + run);
                pack_line(p_.gradient.type, x_,
                          offset + (i / p_.blocks * channels_ + first) * g_.src_strides[1], packing, to);
            }
        }
    }

    void pack_dst(const Chunk& chunk, std::int64_t line, float* packed) const {
        if (p_.dst_in_place) return;
        const std::int64_t h = chunk.begin[2] + line % chunk.count(2);
        const std::int64_t d = chunk.begin[1] + line / chunk.count(2) % chunk.count(1);
        const std::int64_t n = chunk.begin[0] + line / (chunk.count(2) * chunk.count(1));
        const std::int64_t offset = n * g_.dst_strides[0] + d * g_.dst_strides[2] + h * g_.dst_strides[3] +
                                    chunk.begin[3] * g_.dst_strides[4];
        LinePacking packing;
        packing.length = packing.positions = chunk.count(3);
        packing.cell_stride = g_.dst_strides[4];
        packing.channel_stride = g_.dst_strides[1];
        for (std::int64_t i = 0; i < g_.groups * p_.panels; ++i) {
            const std::int64_t first = i % p_.panels * p_.panel;
            packing.channels = std::min(p_.panel, outputs_ - first);
            packing.width = panel_width(i % p_.panels);
            pack_line(p_.gradient.type, dy_, offset + (i / p_.panels * outputs_ + first) * g_.dst_strides[1],
                      packing,
                      packed + chunk.count(3) * (i * chunk.dst_lines() * p_.panel + line * packing.width));
        }
    }

    // Adds the chunk's products of one block and panel to `sums`; not `add`: writes them.
    void multiply(const Chunk& chunk, std::int64_t task, const float* src, const float* dst, bool add,
                  float* sums) const {
        const std::int64_t group_panel = task / p_.blocks, group = group_panel / p_.panels;
        Operands o;
        o.first_channel = task % p_.blocks * p_.block;
        const std::int64_t first_output = group_panel % p_.panels * p_.panel;
        o.width = panel_width(group_panel % p_.panels);
        if (p_.src_in_place)
            o.src = static_cast<const float*>(x_) + (group * channels_ + o.first_channel) * g_.src_strides[1];
        else
            o.src =
                src + (group * p_.blocks + task % p_.blocks) * chunk.src_lines() * chunk.widths * p_.block;
        if (p_.dst_in_place)
            o.dst = static_cast<const float*>(dy_) + (group * outputs_ + first_output) * g_.dst_strides[1];
        else
            o.dst = dst + group_panel * chunk.dst_lines() * chunk.count(3) * p_.panel;
        const std::int64_t row_floats = g_.window[2] * p_.block * o.width;
        for (std::int64_t t = 0; t < g_.window[0]; ++t)
            for (std::int64_t r = 0; r < g_.window[1]; ++r, sums += row_floats)
                multiply_row(chunk, o, t, r, add, sums);
    }

    void store(std::int64_t task, const float* sums) const {
        const std::int64_t group_panel = task / p_.blocks;
        const std::int64_t first_output = group_panel % p_.panels * p_.panel;
        const std::int64_t first_channel = task % p_.blocks * p_.block;
        FilterBlock block;
        block.sums = sums;
        block.row_channels = p_.block;
        block.width = panel_width(group_panel % p_.panels);
        block.channels = std::min(p_.block, channels_ - first_channel);
        block.outputs = std::min(p_.panel, outputs_ - first_output);
        block.offset = group_panel / p_.panels * p_.group_distance +
                       first_output * p_.gradient.filter_strides[0] +
                       first_channel * p_.gradient.filter_strides[1];
        store_filter_block(p_.gradient, block, dw_);
    }

  private:
    std::int64_t panel_width(std::int64_t panel) const {
        return outputs_ - panel * p_.panel <= lanes_ ? lanes_ : p_.panel;
    }

    // What one task reads: packed lines of the chunk, or the tensors from the task's first channel and output
    // on.
    struct Operands {
        const float* src;
        const float* dst;
        std::int64_t width, first_channel;
    };

    // Line of image n (of the chunk) under tap t r for the chunk's outputs o y.
    const float* src_line(const Chunk& chunk, const Operands& from, std::int64_t n, std::int64_t o,
                          std::int64_t y, std::int64_t t, std::int64_t r) const {
        if (!p_.src_in_place)
            return from.src +
                   ((n * chunk.depths + place_of(p_, 0, o, t)) * chunk.heights + place_of(p_, 1, y, r)) *
                       chunk.widths * p_.block;
        const Strides5& s = g_.src_strides;
        return from.src + (chunk.begin[0] + n) * s[0] +
               (first_source(g_, 0, chunk.begin[1] + o) + t * g_.dilations[0]) * s[2] +
               (first_source(g_, 1, chunk.begin[2] + y) + r * g_.dilations[1]) * s[3] +
               first_source(g_, 2, chunk.begin[3]) * s[4];
    }
    const float* dst_line(const Chunk& chunk, const Operands& from, std::int64_t n, std::int64_t o,
                          std::int64_t y) const {
        if (!p_.dst_in_place)
            return from.dst + ((n * chunk.count(1) + o) * chunk.count(2) + y) * chunk.count(3) * from.width;
        const Strides5& s = g_.dst_strides;
        return from.dst + (chunk.begin[0] + n) * s[0] + (chunk.begin[1] + o) * s[2] +
               (chunk.begin[2] + y) * s[3] + chunk.begin[3] * s[4];
    }

    // One row of the window: S taps of a block's channels.
    void multiply_row(const Chunk& chunk, const Operands& from, std::int64_t t, std::int64_t r, bool add,
                      float* sums) const {
        const float* a[most_lines];
        const float* b[most_lines];
        OuterLines lines;
        lines.a = a;
        lines.b = b;
        lines.cells = chunk.count(3);
        const std::int64_t cell = p_.src_in_place ? g_.src_strides[4] : p_.block;
        const bool apart = p_.apart[2] && !p_.src_in_place;
        lines.a_step = (apart ? g_.window[2] : g_.strides[2]) * cell;
        lines.b_step = p_.dst_in_place ? g_.dst_strides[4] : from.width;
        const int vectors = static_cast<int>(from.width / lanes_);
        // Taps lie side by side in packed lines unless they are dilated.
        const std::int64_t runs = g_.dilations[2] == 1 || apart ? 1 : g_.window[2];
        const std::int64_t rows = g_.window[2] == 1 ? std::min(p_.block, channels_ - from.first_channel)
                                                    : g_.window[2] / runs * p_.block;
        const auto flush = [&] {
            if (lines.lines == 0) return;
            for (std::int64_t s = 0; s < runs; ++s) {
                if (s > 0)
                    for (std::int64_t i = 0; i < lines.lines; ++i) a[i] += g_.dilations[2] * cell;
                outer_product(lines, rows, vectors, add, sums + s * p_.block * from.width);
            }
            add = true;
            lines.lines = 0;
        };
        for (std::int64_t n = 0; n < chunk.count(0); ++n)
            for (std::int64_t o = 0; o < chunk.count(1); ++o) {
                if (!places_.inside(0, chunk.begin[1] + o, t)) continue;
                for (std::int64_t y = 0; y < chunk.count(2); ++y) {
                    if (!places_.inside(1, chunk.begin[2] + y, r)) continue;
                    a[lines.lines] = src_line(chunk, from, n, o, y, t, r);
                    b[lines.lines] = dst_line(chunk, from, n, o, y);
                    if (++lines.lines == most_lines) flush();
                }
            }
        flush();
        if (!add) std::fill_n(sums, g_.window[2] * p_.block * from.width, 0.0f);
    }

    const BwdFilterGemm& p_;
    const ConvolutionGeometry& g_;
    const Places& places_;
    const void* x_;
    const void* dy_;
    void* dw_;
    std::int64_t lanes_, channels_, outputs_;
};

// body(task, slot): no two calls at the same time have the same slot in [0, slots).
template <class Body>
void in_slots(ThreadPool& pool, int slots, std::int64_t tasks, bool threaded, const Body& body) {
    if (!threaded) {
        for (std::int64_t task = 0; task < tasks; ++task) body(task, 0);
    } else if (pool.threads() <= slots) {
        pool.parallel_for(tasks, [&](std::int64_t task, int thread) { body(task, thread); });
    } else {
        pool.parallel_for(slots, [&](std::int64_t slot, int) {
            for (std::int64_t task = slot; task < tasks; task += slots) body(task, static_cast<int>(slot));
        });
    }
}

template <class Places>
void by_tiles(const BwdFilterGemm& p, const Worker<Places>& worker, float* memory, bool threaded,
              ThreadPool& pool) {
    float* src = memory;
    float* dst = src + p.src_floats;
    float* sums = dst + p.dst_floats;
    const std::int64_t chunks = p.chunk_count();
    for (std::int64_t i = 0; i < chunks; ++i) {
        const Chunk chunk(p, i);
        const std::int64_t src_lines = chunk.src_lines(), lines = src_lines + chunk.dst_lines();
        const std::int64_t parts =
            threaded ? std::min<std::int64_t>(lines, pool.threads() * std::int64_t{4}) : 1;
        pool.parallel_for(parts, [&](std::int64_t part, int) {
            for (std::int64_t line = lines * part / parts; line < lines * (part + 1) / parts; ++line)
                line < src_lines ? worker.pack_src(chunk, line, src)
                                 : worker.pack_dst(chunk, line - src_lines, dst);
        });
        in_slots(pool, p.slots, p.tasks(), threaded, [&](std::int64_t task, int slot) {
            float* own = sums + (chunks == 1 ? slot : task) * p.task_floats;
            worker.multiply(chunk, task, src, dst, i > 0, own);
            if (i + 1 == chunks) worker.store(task, own);
        });
    }
}

template <class Places>
void by_splits(const BwdFilterGemm& p, const Worker<Places>& worker, float* memory, bool threaded,
               ThreadPool& pool) {
    const std::int64_t chunks = p.chunk_count(), slot_floats = p.src_floats + p.dst_floats;
    const std::int64_t copy = p.tasks() * p.task_floats;
    float* sums = memory + p.slots * slot_floats;
    in_slots(pool, p.slots, p.splits, threaded, [&](std::int64_t split, int slot) {
        float* src = memory + slot * slot_floats;
        float* dst = src + p.src_floats;
        const std::int64_t begin = chunks * split / p.splits, end = chunks * (split + 1) / p.splits;
        for (std::int64_t i = begin; i < end; ++i) {
            const Chunk chunk(p, i);
            for (std::int64_t line = 0; line < chunk.src_lines(); ++line) worker.pack_src(chunk, line, src);
            for (std::int64_t line = 0; line < chunk.dst_lines(); ++line) worker.pack_dst(chunk, line, dst);
            for (std::int64_t task = 0; task < p.tasks(); ++task)
                worker.multiply(chunk, task, src, dst, i > begin, sums + split * copy + task * p.task_floats);
        }
    });
    in_slots(pool, p.slots, p.tasks(), threaded, [&](std::int64_t task, int) {
        float* own = sums + task * p.task_floats;
        for (std::int64_t split = 1; split < p.splits; ++split)
            add_floats(own + split * copy, p.task_floats, own);
        worker.store(task, own);
    });
}

template <class Places>
void run(const BwdFilterGemm& p, const Places& places_of, const void* x, const void* dy, void* dw,
         void* workspace, ThreadPool& pool) {
    const Worker<Places> worker(p, places_of, x, dy, dw);
    auto* memory = static_cast<float*>(workspace);
    const bool threaded = pool.threads() > 1 && filter_gradient_operations(p.gradient.geometry) >= 1e6;
    if (p.chunk_count() == 0) {
        std::fill_n(memory, p.task_floats, 0.0f);
        for (std::int64_t task = 0; task < p.tasks(); ++task) worker.store(task, memory);
    } else if (p.splits > 0) {
        by_splits(p, worker, memory, threaded, pool);
    } else {
        by_tiles(p, worker, memory, threaded, pool);
    }
}

// Balanced blocks of at most `most` channels with the fewest register tiles; at least `wanted` of them where
// they are large enough to cut.
void choose_blocks(BwdFilterGemm& p, std::int64_t most, std::int64_t wanted) {
    const ConvolutionGeometry& g = p.gradient.geometry;
    const std::int64_t channels = g.channels / g.groups,
                       taps = g.dilations[2] == 1 || p.apart[2] ? g.window[2] : 1;
    constexpr std::int64_t rows = 14;
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    const std::int64_t least = std::max<std::int64_t>(1, ceil_div(channels, most));
    const std::int64_t from =
        std::clamp<std::int64_t>(wanted, least, std::max(least, ceil_div(channels, rows)));
    for (std::int64_t count = from;
         count <= from + from / 2 + 1 && count <= std::max<std::int64_t>(channels, 1); ++count) {
        const std::int64_t block = ceil_div(channels, count), blocks = ceil_div(channels, block);
        // Rows that are computed, and what a tile costs besides.
        const std::int64_t cost = blocks * (taps * block + ceil_div(taps * block, rows));
        if (cost >= best) continue;
        best = cost;
        p.block = block;
        p.blocks = blocks;
    }
}

// Packing pays where a packed float is read often: by this many rows or outputs.
constexpr std::int64_t few_uses = 96;

void choose_places(BwdFilterGemm& p) {
    const ConvolutionGeometry& g = p.gradient.geometry;
    const std::int64_t channels = g.channels / g.groups, outputs = g.outputs / g.groups;
    if (p.gradient.type != ElementType::f32) return;
    p.dst_in_place =
        g.dst_strides[1] == 1 && outputs % outer_product_lanes() == 0 && g.taps() * channels <= few_uses;
    const std::int64_t last = first_source(g, 2, g.dst[2] - 1) + (g.window[2] - 1) * g.dilations[2];
    const bool inside = g.pads[2] == 0 && last < g.src[2];
    const bool joined =
        g.window[2] == 1 || (g.dilations[2] == 1 && p.block == channels && g.src_strides[4] == channels);
    p.src_in_place = (g.src_strides[1] == 1 || channels == 1) && inside && joined && outputs <= few_uses;
}

// Floats of a chunk of `lengths` outputs of N D H W, as a double; without the last block's padding, which
// depends on the number of threads.
double packed_floats(const BwdFilterGemm& p, const std::array<std::int64_t, 4>& lengths) {
    const ConvolutionGeometry& g = p.gradient.geometry;
    double src = static_cast<double>(lengths[0]), dst = src;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        src *= static_cast<double>(places(p, axis, lengths[axis + 1]));
        dst *= static_cast<double>(lengths[axis + 1]);
    }
    return static_cast<double>(g.groups) *
           (src * static_cast<double>(g.channels / g.groups) + dst * static_cast<double>(p.panels * p.panel));
}

// The longest chunks within `most` floats, at least one line of `least_cells` cells; then balanced.
void choose_chunks(BwdFilterGemm& p, double most, std::int64_t parts) {
    const ConvolutionGeometry& g = p.gradient.geometry;
    const std::array<std::int64_t, 4> lengths{g.batch, g.dst[0], g.dst[1], g.dst[2]};
    std::array<std::int64_t, 4> chunk{1, 1, 1, 1};
    constexpr std::int64_t least_cells = 64;
    std::int64_t outer = g.batch * g.dst_cells();
    for (std::size_t axis = 4; axis-- > 0;) {
        // Chunks along the axes outside this one come anyway.
        outer /= std::max<std::int64_t>(lengths[axis], 1);
        const std::int64_t wanted = ceil_div(parts, std::max<std::int64_t>(outer, 1));
        std::int64_t longest = std::max<std::int64_t>(1, lengths[axis] / wanted);
        // A shorter chunk reads more of its neighbours' lines.
        if (axis > 0 && wanted > 1)
            longest = std::min(lengths[axis],
                               std::max(longest, 2 * (g.window[axis - 1] - 1) / g.strides[axis - 1]));
        std::int64_t low = axis == 3 ? std::min(least_cells, longest) : 1, high = std::max(longest, low);
        while (low < high) {
            const std::int64_t middle = low + (high - low + 1) / 2;
            chunk[axis] = middle;
            if (packed_floats(p, chunk) <= most)
                low = middle;
            else
                high = middle - 1;
        }
        chunk[axis] = low;
        if (low < lengths[axis]) break;
    }
    for (std::size_t axis = 0; axis < 4; ++axis) {
        p.chunks[axis] = lengths[axis] > 0 ? ceil_div(lengths[axis], chunk[axis]) : 0;
        p.chunk[axis] = p.chunks[axis] > 0 ? ceil_div(lengths[axis], p.chunks[axis]) : 0;
    }
}

}  // namespace

namespace {

std::optional<BwdFilterGemm> make_params(const BwdFilterParams& gradient, bool exchanged, int threads) {
    BwdFilterGemm p;
    p.gradient = gradient;
    p.exchanged = exchanged;
    p.slots = std::max(threads, 1);
    const ConvolutionGeometry& g = gradient.geometry;
    p.group_distance = exchanged ? g.channels / g.groups * gradient.filter_strides[1]
                                 : g.outputs / g.groups * gradient.filter_strides[0];
    for (std::size_t axis = 0; axis < 3; ++axis)
        p.apart[axis] =
            g.window[axis] == 1 ||
            static_cast<double>(g.dst[axis]) * static_cast<double>(g.window[axis]) <
                static_cast<double>(g.dst[axis] - 1) * static_cast<double>(g.strides[axis]) +
                    static_cast<double>(g.window[axis] - 1) * static_cast<double>(g.dilations[axis]) + 1;
    const std::int64_t outputs = g.outputs / g.groups, lanes = outer_product_lanes();
    p.panel = outputs <= lanes ? lanes : 2 * lanes;
    p.panels = ceil_div(outputs, p.panel);
    const auto taps = static_cast<double>(g.taps());
    const double row = taps * static_cast<double>(p.panel);
    const double sums =
        row * static_cast<double>(g.channels / g.groups) * static_cast<double>(g.groups * p.panels);
    const double operations = filter_gradient_operations(g);
    const bool split = sums <= most_split_floats;
    const auto most = static_cast<std::int64_t>(std::clamp(most_task_floats / row, 1.0, 64.0));
    choose_blocks(p, most, split ? 1 : ceil_div(2 * std::int64_t{p.slots}, g.groups * p.panels));
    choose_places(p);
    const std::int64_t wanted =
        split ? std::clamp<std::int64_t>(static_cast<std::int64_t>(operations / split_operations), 1,
                                         most_splits)
              : 1;
    choose_chunks(p, split ? own_chunk_floats : shared_chunk_floats, wanted);
    p.splits = split ? std::min(wanted, p.chunk_count()) : 0;

    const double task = row * static_cast<double>(p.block);
    const double chunk = packed_floats(p, p.chunk);
    const double copies = p.splits > 0          ? static_cast<double>(p.splits * p.tasks())
                          : p.chunk_count() > 1 ? static_cast<double>(p.tasks())
                                                : p.slots;
    if (task * copies + (chunk + 32) * p.slots > 0x1p59) return std::nullopt;
    p.task_floats = round_up_16(g.taps() * p.block * p.panel);
    std::int64_t src = p.chunk[0], dst = p.chunk[0];
    for (std::size_t axis = 0; axis < 3; ++axis) {
        src *= places(p, axis, std::max<std::int64_t>(p.chunk[axis + 1], 1));
        dst *= p.chunk[axis + 1];
    }
    p.src_floats = p.src_in_place ? 0 : round_up_16(src * g.groups * p.blocks * p.block);
    p.dst_floats = p.dst_in_place ? 0 : round_up_16(dst * g.groups * p.panels * p.panel);
    const std::int64_t packs = p.splits > 0 ? p.slots : 1;
    const std::int64_t floats =
        packs * (p.src_floats + p.dst_floats) + static_cast<std::int64_t>(copies) * p.task_floats;
    p.workspace_bytes = static_cast<std::size_t>(floats) * sizeof(float);
    return p;
}

}  // namespace

std::optional<BwdFilterGemm> bwd_filter_gemm_params(const BwdFilterParams& params, int threads) {
    return make_params(params, false, threads);
}

std::optional<BwdFilterGemm> bwd_filter_pointwise_params(const BwdFilterParams& params, int threads) {
    const ConvolutionGeometry& g = params.geometry;
    const std::int64_t lanes = outer_product_lanes(), channels = g.channels / g.groups,
                       outputs = g.outputs / g.groups;
    // Products with the lanes that are padded.
    if (ceil_div(outputs, lanes) * channels < ceil_div(channels, lanes) * outputs)
        return make_params(params, false, threads);
    BwdFilterParams p = params;
    ConvolutionGeometry& e = p.geometry;
    std::swap(e.channels, e.outputs);
    std::swap(e.src_strides, e.dst_strides);
    std::swap(p.filter_strides[0], p.filter_strides[1]);
    std::swap(p.src_offset, p.diff_offset);
    for (std::size_t axis = 0; axis < 3; ++axis) {
        e.dst_strides[axis + 2] *= g.strides[axis];
        e.src[axis] = g.dst[axis];
    }
    e.strides = {1, 1, 1};
    e.dilations = {1, 1, 1};
    e.pads = {0, 0, 0};
    return make_params(p, true, threads);
}

double bwd_filter_gemm_operations(const BwdFilterGemm& p) {
    const ConvolutionGeometry& g = p.gradient.geometry;
    const std::int64_t lanes = outer_product_lanes();
    return 2.0 * static_cast<double>(g.batch) * static_cast<double>(g.dst_cells()) *
           static_cast<double>(g.taps()) * static_cast<double>(p.blocks * p.block) *
           static_cast<double>(g.groups) * static_cast<double>(ceil_div(g.outputs / g.groups, lanes) * lanes);
}

std::size_t bwd_filter_table_size(const ConvolutionGeometry& g) {
    std::size_t depth = 0, height = 0, size = 0;
    if (__builtin_mul_overflow(static_cast<std::size_t>(g.dst[0]), static_cast<std::size_t>(g.window[0]),
                               &depth) ||
        __builtin_mul_overflow(static_cast<std::size_t>(g.dst[1]), static_cast<std::size_t>(g.window[1]),
                               &height) ||
        __builtin_add_overflow(depth, height, &size))
        return 0;
    return size;
}

void bwd_filter_fill_table(const ConvolutionGeometry& g, std::span<std::int64_t> table) {
    std::size_t at = 0;
    for (std::size_t axis = 0; axis < 2; ++axis)
        for (std::int64_t out = 0; out < g.dst[axis]; ++out)
            for (std::int64_t tap = 0; tap < g.window[axis]; ++tap) {
                const std::int64_t in = first_source(g, axis, out) + tap * g.dilations[axis];
                table[at++] = in >= 0 && in < g.src[axis] ? in : -1;
            }
}

void bwd_filter_gemm(const BwdFilterGemm& params, const void* src, const void* diff, void* dst,
                     std::span<const std::int64_t> table, void* workspace, ThreadPool& pool) {
    if (params.exchanged) std::swap(src, diff);
    const BwdFilterParams& p = params.gradient;
    const ConvolutionGeometry& g = p.geometry;
    const void* x = advance(p.type, src, p.src_offset);
    const void* dy = advance(p.type, diff, p.diff_offset);
    if (table.empty()) return run(params, ComputedPlaces{g}, x, dy, dst, workspace, pool);
    run(params, TabulatedPlaces{g, {table.data(), table.data() + g.dst[0] * g.window[0]}}, x, dy, dst,
        workspace, pool);
}

}  // namespace convlens::cpu

// The processor's part: what can be done, choice of the tile and of the parts of t, launches.
#include "kernels/cuda/convolution/bwd_filter.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/cuda/convolution/bwd_filter_args.h"

namespace convlens::cuda {
namespace {

using namespace filter_gradient;

constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t step) {
    return (value + step - 1) / step * step;
}
constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

bool is_narrow(FilterMath math) { return math == FilterMath::fp16 || math == FilterMath::bf16; }

// Whether four neighbours along `inner` can be loaded at once, of a tensor with these strides.
bool quads_are_possible(std::int64_t inner, std::int64_t length, const std::array<std::int64_t, 4>& lengths,
                        const std::array<std::int64_t, 4>& strides) {
    if (inner != 1 || length % 4 != 0) return false;
    for (std::size_t i = 0; i < 4; ++i)
        if (lengths[i] > 1 && strides[i] % 4 != 0) return false;
    return true;
}

// Nanoseconds of a step of 128 rows by 64 and by 128 outputs on one multiprocessor, shared by its blocks
// (measured on H200): what brings the operands to shared memory counts more than the products.
struct StepTime {
    double narrow, wide;
};
StepTime step_time(const BwdFilter& p) {
    const bool group = p.engine == FilterEngine::warp_group, own = p.problem.type != ElementType::f32;
    switch (p.math) {
        case FilterMath::fp32:
            return {2380, 2380};
        case FilterMath::tf32:
            return group ? StepTime{1380, 1660} : StepTime{1520, 2260};
        case FilterMath::split_tf32:
            return group ? StepTime{1540, 2120} : StepTime{2080, 3340};
        default:
            return group ? StepTime{own ? 1970.0 : 2310.0, 2280} : StepTime{2690, 2830};
    }
}
int blocks_an_sm(const BwdFilter& p, int tile) {
    if (p.engine == FilterEngine::multiply_add) return 2;
    return p.engine == FilterEngine::warp && tile <= 64 ? 2 : 1;
}

struct Choice {
    int tile = 64, splits = 1;
    double ns = 0;
};

Choice choose(const BwdFilter& p, const DeviceTraits& traits) {
    const bool wide =
        !(is_narrow(p.math) && !(p.src_quads && p.diff_quads && p.problem.type != ElementType::f32));
    const std::int64_t sms = std::max(1, traits.multiprocessors), groups = p.problem.geometry.groups;
    Choice best;
    for (const int tile : {128, 96, 64}) {
        if (tile != 64 && (!wide || p.engine == FilterEngine::multiply_add)) continue;
        if (tile == 96 && p.engine != FilterEngine::warp_group) continue;
        const std::int64_t tiles = p.padded_rows / tile_rows * ceil_divide(p.outputs, tile) * groups;
        const StepTime time = step_time(p);
        const double step_ns = time.narrow + (time.wide - time.narrow) * (tile - 64) / 64;
        const std::int64_t places = sms * blocks_an_sm(p, tile);
        for (std::int64_t splits = 1; splits <= p.steps && splits <= 1024; ++splits) {
            const std::int64_t blocks = tiles * splits;
            if (splits > 1 && (blocks > 6 * places || blocks >= (1 << 30))) break;
            // Blocks that share a multiprocessor share its pace.
            const std::int64_t waves = ceil_divide(blocks, places);
            const double crowd = static_cast<double>(std::min(ceil_divide(blocks, sms), places / sms));
            const double block_ns =
                static_cast<double>(ceil_divide(p.steps, splits)) * step_ns * crowd + 2500;
            const double parts =
                static_cast<double>(splits + 1) * static_cast<double>(p.rows * p.outputs * groups) * 4;
            const double ns =
                static_cast<double>(waves) * block_ns + parts / 1500 + static_cast<double>(splits) * 8;
            if (best.ns == 0 || ns < best.ns) best = {tile, static_cast<int>(splits), ns};
        }
    }
    return best;
}

Access access_of(bool quads, const void* pointer, std::int64_t element, std::int64_t row, std::int64_t cell) {
    if (quads && reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(4 * element) == 0)
        return Access::quads;
    return std::abs(row) <= std::abs(cell) ? Access::along_rows : Access::along_cells;
}

void launch_products(const BwdFilter& p, const Args& a, int tile, unsigned blocks, Stream stream) {
    const ElementType type = p.problem.type;
    if (p.engine == FilterEngine::multiply_add) return launch_fma(a, type, blocks, stream);
    const bool group = p.engine == FilterEngine::warp_group;
    switch (p.math) {
        case FilterMath::tf32:
            return group ? launch_wgmma_tf32(a, tile, blocks, stream)
                         : launch_mma_tf32(a, tile, blocks, stream);
        case FilterMath::split_tf32:
            return group ? launch_wgmma_split_tf32(a, tile, blocks, stream)
                         : launch_mma_split_tf32(a, tile, blocks, stream);
        case FilterMath::fp16:
            return group ? launch_wgmma_fp16(a, type, tile, blocks, stream)
                         : launch_mma_fp16(a, type, tile, blocks, stream);
        default:
            return group ? launch_wgmma_bf16(a, type, tile, blocks, stream)
                         : launch_mma_bf16(a, type, tile, blocks, stream);
    }
}

}  // namespace

std::string bwd_filter_reject(const BwdFilterParams& problem) {
    const ConvolutionGeometry& g = problem.geometry;
    constexpr std::int64_t most = outside / 2;
    for (std::size_t axis = 0; axis < 3; ++axis)
        if (g.src[axis] >= most || g.dst[axis] >= most || g.pads[axis] >= most || g.strides[axis] >= most ||
            g.dilations[axis] >= most || (g.window[axis] - 1) * g.dilations[axis] >= most ||
            (g.dst[axis] - 1) * g.strides[axis] >= most)
            return "an axis has 2^29 places or more";
    constexpr double limit = 0x1p31 - 128;
    double cells = static_cast<double>(g.batch);
    for (const std::int64_t length : g.dst) cells *= static_cast<double>(length);
    if (cells >= limit) return "diff has 2^31 cells or more";
    const double rows = static_cast<double>(g.channels / g.groups) * static_cast<double>(g.taps());
    const double outputs = static_cast<double>(g.outputs / g.groups);
    if (rows >= limit || outputs >= limit) return "a filter of 2^31 values or more";
    if ((rows / tile_rows + 1) * (outputs / 64 + 1) * static_cast<double>(g.groups) >= 0x1p30)
        return "more than 2^30 tiles";
    return {};
}

BwdFilter bwd_filter_params(const BwdFilterParams& problem, FilterEngine engine, FilterMath math,
                            const DeviceTraits& traits) {
    const ConvolutionGeometry& g = problem.geometry;
    BwdFilter p;
    p.problem = problem;
    p.engine = engine, p.math = math;
    p.early = traits.major >= 9;
    const std::array<std::int64_t, 4> of_src{g.batch, g.src[0], g.src[1], g.src[2]};
    const std::array<std::int64_t, 4> of_diff{g.batch, g.dst[0], g.dst[1], g.dst[2]};
    const Strides5 &x = g.src_strides, &y = g.dst_strides;
    p.src_quads = quads_are_possible(x[1], g.channels / g.groups, of_src, {x[0], x[2], x[3], x[4]});
    p.diff_quads = quads_are_possible(y[1], g.outputs / g.groups, of_diff, {y[0], y[2], y[3], y[4]});
    p.channels_inner = p.src_quads || std::abs(x[1]) <= std::abs(x[4]);
    p.rows = g.channels / g.groups * g.taps();
    p.outputs = g.outputs / g.groups;
    p.cells = g.batch * g.dst_cells();
    p.steps = ceil_divide(p.cells, is_narrow(math) ? 64 : 32);
    p.padded_rows = rounded_up(p.rows, tile_rows);
    const Choice choice = choose(p, traits);
    bwd_filter_set(p, choice.tile, choice.splits, false, false);
    p.ns = choice.ns;
    return p;
}

void bwd_filter_set(BwdFilter& p, int outputs_tile, int splits, bool table, bool atomic) {
    const ConvolutionGeometry& g = p.problem.geometry;
    p.outputs_tile = outputs_tile;
    p.splits = splits;
    p.table = table, p.atomic = atomic;
    // Narrow tiles take the place of wide ones where a pointer is not aligned.
    p.padded_outputs = std::max(rounded_up(p.outputs, outputs_tile), rounded_up(p.outputs, 64));
    p.table_bytes = table ? static_cast<std::size_t>(
                                rounded_up(g.dst_cells() * static_cast<std::int64_t>(sizeof(Cell)), 256))
                          : 0;
    const std::int64_t matrix = p.padded_rows * p.padded_outputs * g.groups;
    p.workspace_bytes =
        p.table_bytes + (atomic ? 0 : static_cast<std::size_t>(matrix * splits) * sizeof(float));
    p.executed_flops = 2.0 * static_cast<double>(p.padded_rows) *
                       static_cast<double>(rounded_up(p.outputs, outputs_tile)) *
                       static_cast<double>(g.groups) * static_cast<double>(p.steps) *
                       (is_narrow(p.math) ? 64 : 32) * (p.math == FilterMath::split_tf32 ? 3 : 1);
}

void bwd_filter(const BwdFilter& p, const void* src, const void* diff, void* dst, void* workspace,
                Stream stream) {
    auto* parts = reinterpret_cast<float*>(static_cast<unsigned char*>(workspace) + p.table_bytes);
    Finish finish = finish_of(p.problem, dst, parts, p.splits, p.early);
    finish.padded_rows = p.padded_rows, finish.padded_outputs = p.padded_outputs;
    finish.channels_inner = p.channels_inner;
    if (p.rows * p.outputs * p.problem.geometry.groups == 0) return;
    if (p.steps == 0) return launch_scale(finish, stream);
    bwd_filter_products(p, finish, src, diff, workspace, stream);
}

namespace filter_gradient {

Args bwd_filter_args(const BwdFilter& p, const void* src, const void* diff) {
    const ConvolutionGeometry& g = p.problem.geometry;
    const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    const auto element = static_cast<std::int64_t>(size_of(p.problem.type));
    Args a;
    a.src = static_cast<const unsigned char*>(src), a.diff = static_cast<const unsigned char*>(diff);
    a.parts = nullptr, a.table = nullptr;
    a.dst_w = FastDivision(g.dst[2]), a.dst_h = FastDivision(g.dst[1]), a.dst_d = FastDivision(g.dst[0]);
    a.image = FastDivision(g.dst_cells());
    a.cells = p.cells;
    a.steps = narrow(p.steps), a.splits = p.splits;
    a.row_tiles = narrow(p.padded_rows / tile_rows);
    a.size_d = narrow(g.src[0]), a.size_h = narrow(g.src[1]), a.size_w = narrow(g.src[2]);
    a.step_d = narrow(g.strides[0]), a.step_h = narrow(g.strides[1]), a.step_w = narrow(g.strides[2]);
    a.pad_d = narrow(g.pads[0]), a.pad_h = narrow(g.pads[1]), a.pad_w = narrow(g.pads[2]);
    a.dilation_d = narrow(g.dilations[0]), a.dilation_h = narrow(g.dilations[1]);
    a.dilation_w = narrow(g.dilations[2]);
    const Strides5 &x = g.src_strides, &y = g.dst_strides;
    a.src_n = x[0] * element, a.src_c = x[1] * element, a.src_d = x[2] * element, a.src_h = x[3] * element;
    a.src_w = x[4] * element, a.src_group = a.src_c * (g.channels / g.groups);
    a.diff_n = y[0] * element, a.diff_k = y[1] * element, a.diff_d = y[2] * element,
    a.diff_h = y[3] * element;
    a.diff_w = y[4] * element, a.diff_group = a.diff_k * p.outputs;
    a.src_access = access_of(p.src_quads, src, element, p.channels_inner ? x[1] : x[4], x[4]);
    if (!p.src_quads && !p.channels_inner) a.src_access = Access::along_cells;
    a.diff_access = access_of(p.diff_quads, diff, element, y[1], y[4]);
    a.deep = g.window[0] > 1 || g.src[0] > 1 || g.dst[0] > 1 || g.pads[0] > 0;
    a.atomic = p.atomic, a.early = p.early;
    return a;
}

void bwd_filter_products(const BwdFilter& p, const Finish& finish, const void* src, const void* diff,
                         void* workspace, Stream stream) {
    Args a = bwd_filter_args(p, src, diff);
    a.parts = reinterpret_cast<float*>(static_cast<unsigned char*>(workspace) + p.table_bytes);
    // Rows are those of these operands, wherever `finish` puts them.
    a.finish = finish_of(p.problem, finish.dst, a.parts, p.splits, p.early);
    a.finish.padded_rows = p.padded_rows, a.finish.padded_outputs = p.padded_outputs;
    a.finish.channels_inner = p.channels_inner;
    int tile = p.outputs_tile;
    const bool quads = a.src_access == Access::quads && a.diff_access == Access::quads;
    if (is_narrow(p.math) && !quads) tile = 64;
    a.output_tiles = static_cast<std::int32_t>(ceil_divide(p.outputs, tile));
    if (p.table) {
        auto* table = static_cast<Cell*>(workspace);
        launch_table(a, table, stream);
        a.table = table;
    }
    if (p.atomic) launch_scale(finish, stream);
    const std::int64_t blocks = a.output_tiles * p.problem.geometry.groups * a.row_tiles * p.splits;
    launch_products(p, a, tile, static_cast<unsigned>(blocks), stream);
    if (!p.atomic) launch_finish(finish, stream);
}

}  // namespace filter_gradient

}  // namespace convlens::cuda

// The processor's part of bwd_filter_bulk.h.
#include "kernels/cuda/convolution/bwd_filter_bulk.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/cuda/convolution/bwd_filter_bulk.cuh"
#include "kernels/cuda/convolution/bwd_filter_stage.h"
#include "kernels/cuda/tensor_map.h"

namespace convlens::cuda {
namespace {

using namespace filter_gradient;

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t step) {
    return ceil_divide(value, step) * step;
}

// Whether tensor maps can read a tensor of 16-bit elements where it lies.
bool is_mappable(std::int64_t batch, std::int64_t channels, const Axes& size, const Strides5& s) {
    const auto fits = [](std::int64_t length, std::int64_t stride) {
        return length == 1 || (stride > 0 && stride % 8 == 0 && stride < (std::int64_t{1} << 36));
    };
    return channels % 8 == 0 && s[1] == 1 && fits(batch, s[0]) && fits(size[1], s[3]) && fits(size[2], s[4]);
}

// Of a tensor whose cells are visited with these steps, from -pads on, `cells` in each axis.
bool make_map(const void* at, bool bfloat, std::int64_t batch, std::int64_t channels, const Axes& size,
              const Strides5& s, const Axes& pads, const Axes& steps, const Axes& cells, CUtensorMap& map) {
    static const auto encode = reinterpret_cast<EncodeIm2col>(driver_function("cuTensorMapEncodeIm2col"));
    if (encode == nullptr) return false;
    const auto wide = [](std::int64_t value) { return static_cast<cuuint64_t>(value); };
    // Strides of axes of length 1 are never used, but must be valid.
    const auto bytes = [&](std::int64_t length, std::int64_t stride) {
        return wide(2 * (length == 1 ? channels : stride));
    };
    const cuuint64_t dims[] = {wide(channels), wide(size[2]), wide(size[1]), wide(batch)};
    const cuuint64_t strides[] = {bytes(size[2], s[4]), bytes(size[1], s[3]), bytes(batch, s[0])};
    int lower[2], upper[2];
    for (int i = 0; i < 2; ++i) {
        const auto axis = static_cast<std::size_t>(2 - i);
        lower[i] = static_cast<int>(-pads[axis]);
        upper[i] = static_cast<int>((cells[axis] - 1) * steps[axis] - pads[axis] - (size[axis] - 1));
    }
    const cuuint32_t element_steps[] = {1, static_cast<cuuint32_t>(steps[2]),
                                        static_cast<cuuint32_t>(steps[1]), 1};
    return encode(&map, bfloat ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4,
                  const_cast<void*>(at), dims, strides, lower, upper, 64, bulk_depth, element_steps,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

bool is_aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

// Sums of so many t in the tensor core, which truncates, stay within the bound of 16-bit classes.
constexpr std::int64_t most_steps_a_part = 2048;

struct Choice {
    int row_tiles = 1, outputs = 64, splits = 1;
    double ns = 0;
};

Choice choose(const BwdFilterBulk& p, const DeviceTraits& traits) {
    const std::int64_t sms = std::max(1, traits.multiprocessors), outputs = p.problem.geometry.outputs;
    Choice best;
    for (const int rows : {2, 1})
        for (const int tile : {128, 96, 64}) {
            if (rows == 2 && p.planes == 2) continue;
            const std::int64_t tiles = ceil_divide(p.row_blocks, 2 * rows) * ceil_divide(outputs, tile);
            // The tensor core's time of a step, or the copies'.
            const double products = 128.0 * rows * tile * 64 * (p.planes == 2 ? 3 : 1) / 2900;
            const double copies = (2.0 * rows + (tile + 63) / 64) * bulk_block * p.planes / 75;
            const double step_ns = std::max(products, copies);
            for (std::int64_t splits = 1; splits <= p.steps && splits <= 1024; ++splits) {
                const std::int64_t blocks = tiles * splits, steps = ceil_divide(p.steps, splits);
                if (steps > most_steps_a_part) continue;
                if (best.ns > 0 && blocks > 6 * sms) break;
                const double parts = static_cast<double>((splits + 1) * p.row_blocks * 64 * outputs) * 4;
                const double ns = static_cast<double>(ceil_divide(blocks, sms)) *
                                      (static_cast<double>(steps) * step_ns + 2500.0 * rows) +
                                  parts / 1500 + static_cast<double>(splits) * 8;
                if (best.ns == 0 || ns < best.ns) best = {rows, tile, static_cast<int>(splits), ns};
            }
        }
    return best;
}

// Bytes an element is copied with, and the launches before it.
double stage_ns(const BulkOperand& operand, const BwdFilterBulk& p) {
    if (!operand.staged) return 0;
    const bool scaled = p.math == BulkMath::scaled || p.math == BulkMath::split;
    return (scaled ? 5000 : 2500) + static_cast<double>(operand.bytes) * (p.planes == 2 ? 3.0 : 4.0) / 3000;
}

// Where a row of the window has few channels.
bool folds(const ConvolutionGeometry& g) {
    const std::int64_t apart = g.window[2] * ceil_divide(g.channels, 64);
    return g.channels <= 32 && g.window[2] > 1 && 4 * ceil_divide(g.channels * g.window[2], 64) <= 3 * apart;
}

Strides5 dense(std::int64_t cell, const Axes& size) {
    return {cell * size[1] * size[2], 1, cell * size[1] * size[2], cell * size[2], cell};
}

Stage stage_of(const BwdFilterBulk& p, bool source, const void* from, unsigned char* workspace) {
    const ConvolutionGeometry& g = p.problem.geometry;
    const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    const BulkOperand& o = source ? p.src : p.diff;
    const Strides5& s = source ? g.src_strides : g.dst_strides;
    const Axes& size = source ? p.view.src : g.dst;
    const std::int64_t channels = source ? g.channels : g.outputs;
    const bool fold = source && p.folded;
    Stage st;
    st.src = from, st.staged = workspace + o.at, st.largest = nullptr;
    if (p.math == BulkMath::scaled || p.math == BulkMath::split)
        st.largest = reinterpret_cast<const unsigned*>(workspace + p.largest_at) + (source ? 0 : g.channels);
    st.stride_n = s[0], st.stride_c = s[1], st.stride_h = s[3], st.stride_w = s[4];
    st.cells = g.batch * size[1] * size[2];
    st.w = FastDivision(size[2]), st.h = FastDivision(size[1]);
    st.eights = FastDivision(o.channels / 8), st.real_channels = FastDivision(channels);
    st.channels = narrow(o.channels), st.src_w = narrow(source ? g.src[2] : g.dst[2]);
    st.used = narrow(fold ? channels * g.window[2] : channels);
    st.step = fold ? narrow(g.strides[2]) : 1, st.pad = fold ? narrow(g.pads[2]) : 0;
    st.dilation = fold ? narrow(g.dilations[2]) : 0;
    st.vector = p.problem.type == ElementType::f32 && is_aligned(from) && s[1] == 1 && channels % 8 == 0 &&
                !fold && s[0] % 4 == 0 && s[3] % 4 == 0 && s[4] % 4 == 0;
    st.channels_fastest = std::abs(s[1]) <= std::abs(s[4]);
    return st;
}

void launch_copies(const BwdFilterBulk& p, const void* src, const void* diff, unsigned char* workspace,
                   Stream stream) {
    const ConvolutionGeometry& g = p.problem.geometry;
    if (p.math == BulkMath::scaled || p.math == BulkMath::split) {
        auto* largest = reinterpret_cast<unsigned*>(workspace + p.largest_at);
        launch_zero(largest, g.channels + g.outputs, stream);
        const auto launch = [&](const void* from, const Strides5& s, const Axes& size, std::int64_t channels,
                                unsigned* to) {
            launch_largest({static_cast<const float*>(from), to, s[0], s[1], s[3], s[4], g.batch * size[1],
                            static_cast<std::int32_t>(channels), static_cast<std::int32_t>(size[2]),
                            FastDivision(size[1])},
                           stream);
        };
        launch(src, g.src_strides, g.src, g.channels, largest);
        launch(diff, g.dst_strides, g.dst, g.outputs, largest + g.channels);
    }
    if (p.src.staged) launch_stage(stage_of(p, true, src, workspace), p.problem.type, p.math, stream);
    if (p.diff.staged) launch_stage(stage_of(p, false, diff, workspace), p.problem.type, p.math, stream);
}

}  // namespace

std::string bwd_filter_bulk_reject(const BwdFilterParams& problem) {
    const ConvolutionGeometry& g = problem.geometry;
    if (g.groups != 1) return "takes one group only";
    if (g.window[0] != 1 || g.src[0] != 1 || g.dst[0] != 1 || g.pads[0] != 0)
        return "takes two spatial axes only";
    for (const std::size_t axis : {std::size_t{1}, std::size_t{2}}) {
        const std::int64_t upper = (g.dst[axis] - 1) * g.strides[axis] - g.pads[axis] - (g.src[axis] - 1);
        if (g.strides[axis] > 8 || g.pads[axis] > 128 || upper < -128 || upper > 127 ||
            (g.window[axis] - 1) * g.dilations[axis] > 255)
            return "a stride above 8 or a window beyond 128 cells";
    }
    if (g.channels > 65535 || g.outputs > 65535) return "more than 65535 channels or outputs";
    constexpr double limit = 0x1p31 - 128;
    const auto count = [&](const Axes& size, std::int64_t channels) {
        return static_cast<double>(g.batch) * static_cast<double>(size[1]) * static_cast<double>(size[2]) *
               static_cast<double>(channels / 8 + 8);
    };
    if (count(g.src, g.channels * g.window[2]) >= limit || count(g.dst, g.outputs) >= limit ||
        count({1, g.src[1], g.dst[2]}, g.channels * g.window[2]) >= limit)
        return "src or diff has 2^31 groups of eight channels or more";
    if (static_cast<double>(g.taps()) * static_cast<double>(g.channels / 64 + 1) *
            static_cast<double>(g.outputs / 64 + 1) >=
        0x1p20)
        return "a filter of more than 2^20 tiles";
    return {};
}

BwdFilterBulk bwd_filter_bulk_params(const BwdFilterParams& problem, BulkMath math,
                                     const DeviceTraits& traits) {
    const ConvolutionGeometry& g = problem.geometry;
    BwdFilterBulk p;
    p.problem = problem;
    p.math = math;
    p.planes = math == BulkMath::split ? 2 : 1;
    p.folded = folds(g);
    const bool narrow = problem.type != ElementType::f32;
    p.src.staged = !narrow || p.folded || !is_mappable(g.batch, g.channels, g.src, g.src_strides);
    p.diff.staged = !narrow || !is_mappable(g.batch, g.outputs, g.dst, g.dst_strides);
    // Rows of whole blocks are copied more quickly; of a row of the window that costs little memory.
    p.src.channels = p.folded ? rounded_up(g.channels * g.window[2], 64) : rounded_up(g.channels, 8);
    p.diff.channels = rounded_up(g.outputs, 8);
    p.view = g;
    if (p.folded) {
        p.view.src[2] = g.dst[2];
        p.view.window[2] = p.view.strides[2] = p.view.dilations[2] = 1;
        p.view.pads[2] = 0;
    }
    if (p.src.staged) p.view.src_strides = dense(p.src.channels * p.planes, p.view.src);
    if (p.diff.staged) p.view.dst_strides = dense(p.diff.channels * p.planes, g.dst);
    p.largest_at = 0;
    const bool scaled = math == BulkMath::scaled || math == BulkMath::split;
    std::size_t at = scaled ? static_cast<std::size_t>(rounded_up((g.channels + g.outputs) * 4, 256)) : 0;
    const auto place = [&](BulkOperand& o, const Axes& size) {
        o.at = at;
        if (!o.staged) return;
        o.bytes = static_cast<std::size_t>(
            rounded_up(g.batch * size[1] * size[2] * o.channels * p.planes * 2, 256));
        at += o.bytes;
    };
    place(p.src, p.view.src);
    place(p.diff, g.dst);
    p.parts_at = at;
    p.channel_blocks = ceil_divide(p.src.channels, 64);
    p.row_blocks = p.view.taps() * p.channel_blocks;
    p.steps = ceil_divide(g.batch * g.dst_cells(), bulk_depth);
    const Choice choice = choose(p, traits);
    bwd_filter_bulk_set(p, choice.row_tiles, choice.outputs, choice.splits);
    p.ns = choice.ns + stage_ns(p.src, p) + stage_ns(p.diff, p);
    return p;
}

void bwd_filter_bulk_set(BwdFilterBulk& p, int row_tiles, int outputs, int splits) {
    const std::int64_t blocks = 2 * row_tiles;
    p.row_tiles_a_group = row_tiles, p.outputs_tile = outputs, p.splits = splits;
    p.padded_rows = rounded_up(p.row_blocks, blocks) * 64;
    p.padded_outputs = rounded_up(p.problem.geometry.outputs, outputs);
    p.workspace_bytes =
        p.parts_at + static_cast<std::size_t>(p.padded_rows * p.padded_outputs * splits) * sizeof(float);
    p.executed_flops = 2.0 * static_cast<double>(p.padded_rows * p.padded_outputs) *
                       static_cast<double>(p.steps * bulk_depth) * (p.planes == 2 ? 3 : 1);
}

bool bwd_filter_bulk(const BwdFilterBulk& p, const void* src, const void* diff, void* dst, void* workspace,
                     Stream stream) {
    const ConvolutionGeometry &g = p.problem.geometry, &v = p.view;
    const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    auto* bytes = static_cast<unsigned char*>(workspace);
    Finish f = finish_of(p.problem, dst, reinterpret_cast<const float*>(bytes + p.parts_at), p.splits, true);
    if (p.row_blocks * g.outputs == 0) return true;
    if (p.steps == 0) {
        launch_scale(f, stream);
        return true;
    }
    const void* x = p.src.staged ? bytes + p.src.at : src;
    const void* y = p.diff.staged ? bytes + p.diff.at : diff;
    if (!is_aligned(x) || !is_aligned(y)) return false;
    const bool bfloat = p.math == BulkMath::bf16;
    CUtensorMap source_map, diff_map;
    const Axes none{0, 0, 0}, single{1, 1, 1};
    if (!make_map(x, bfloat, g.batch, p.src.channels * p.planes, v.src, v.src_strides, v.pads, v.strides,
                  v.dst, source_map) ||
        !make_map(y, bfloat, g.batch, p.diff.channels * p.planes, v.dst, v.dst_strides, none, single, v.dst,
                  diff_map))
        return false;
    launch_copies(p, src, diff, bytes, stream);
    BulkArgs a;
    a.parts = reinterpret_cast<float*>(bytes + p.parts_at);
    a.padded_outputs = p.padded_outputs, a.padded_rows = p.padded_rows;
    a.steps = narrow(p.steps), a.splits = p.splits;
    a.output_tiles = narrow(p.padded_outputs / p.outputs_tile);
    a.row_tiles = narrow(p.padded_rows / (128 * p.row_tiles_a_group));
    a.channel_blocks = narrow(p.channel_blocks), a.row_blocks = narrow(p.row_blocks);
    a.window_w = narrow(v.window[2]);
    a.step_h = narrow(v.strides[1]), a.step_w = narrow(v.strides[2]);
    a.pad_h = narrow(v.pads[1]), a.pad_w = narrow(v.pads[2]);
    a.dilation_h = narrow(v.dilations[1]), a.dilation_w = narrow(v.dilations[2]);
    a.src_plane = narrow(p.src.channels), a.diff_plane = narrow(p.diff.channels);
    a.dst_w = FastDivision(v.dst[2]), a.dst_h = FastDivision(v.dst[1]);
    if (p.math == BulkMath::split)
        launch_bulk_split(a, source_map, diff_map, p.outputs_tile, stream);
    else
        (bfloat ? launch_bulk_bf16 : launch_bulk_fp16)(a, source_map, diff_map, p.row_tiles_a_group,
                                                       p.outputs_tile, stream);
    f.padded_rows = p.padded_rows, f.padded_outputs = p.padded_outputs;
    f.rows = p.row_blocks * 64;
    f.channels = FastDivision(p.channel_blocks * 64);
    if (p.folded) {
        f.folded = true, f.fold = FastDivision(g.channels);
        f.real_channels = narrow(g.channels * g.window[2]);
        f.window_w = FastDivision(1);
    }
    if (p.math == BulkMath::scaled || p.math == BulkMath::split) {
        f.src_largest = reinterpret_cast<const unsigned*>(bytes + p.largest_at);
        f.diff_largest = f.src_largest + g.channels;
    }
    launch_finish(f, stream);
    return true;
}

}  // namespace convlens::cuda

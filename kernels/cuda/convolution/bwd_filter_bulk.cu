// The processor's part of bwd_filter_bulk.h.
#include "kernels/cuda/convolution/bwd_filter_bulk.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/cuda/convolution/bwd_filter_bulk.cuh"
#include "kernels/cuda/tensor_map.h"

namespace convlens::cuda {
namespace {

using namespace filter_gradient;

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Whether tensor maps can read a tensor of 16-bit elements where it lies.
bool is_mappable(std::int64_t batch, std::int64_t channels, const Axes& size, const Strides5& s) {
    const auto fits = [](std::int64_t length, std::int64_t stride) {
        return length == 1 || (stride > 0 && stride % 8 == 0 && stride < (std::int64_t{1} << 36));
    };
    return channels % 8 == 0 && s[1] == 1 && fits(batch, s[0]) && fits(size[1], s[3]) && fits(size[2], s[4]);
}

// Of a tensor whose cells are visited with these steps, from -pads on, `cells` in each axis.
bool make_map(const void* at, ElementType type, std::int64_t batch, std::int64_t channels, const Axes& size,
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
    return encode(
               &map,
               type == ElementType::f16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
               4, const_cast<void*>(at), dims, strides, lower, upper, 64, bulk_depth, element_steps,
               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

bool is_aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

// Sums of so many t in the tensor core, which truncates, stay within the bound of 16-bit classes.
constexpr std::int64_t most_steps_a_part = 2048;

struct Choice {
    int row_tiles = 2, outputs = 128, splits = 1;
    double ns = 0;
};

Choice choose(const BwdFilterBulk& p, const DeviceTraits& traits) {
    const std::int64_t sms = std::max(1, traits.multiprocessors), outputs = p.problem.geometry.outputs;
    Choice best;
    for (const int rows : {2, 1})
        for (const int tile : {128, 96, 64}) {
            const std::int64_t tiles = ceil_divide(p.row_blocks, 2 * rows) * ceil_divide(outputs, tile);
            // The tensor core's time of a step, or the copies'.
            const double products = 128.0 * rows * tile * 64 / 2900;
            const double copies = (2.0 * rows + (tile + 63) / 64) * bulk_block / 75;
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

}  // namespace

bool bwd_filter_bulk_is_possible(const BwdFilterParams& problem) {
    const ConvolutionGeometry& g = problem.geometry;
    if (problem.type != ElementType::f16 && problem.type != ElementType::bf16) return false;
    if (g.groups != 1 || g.window[0] != 1 || g.src[0] != 1 || g.dst[0] != 1 || g.pads[0] != 0) return false;
    if (!is_mappable(g.batch, g.channels, g.src, g.src_strides) ||
        !is_mappable(g.batch, g.outputs, g.dst, g.dst_strides))
        return false;
    for (const std::size_t axis : {std::size_t{1}, std::size_t{2}}) {
        const std::int64_t upper = (g.dst[axis] - 1) * g.strides[axis] - g.pads[axis] - (g.src[axis] - 1);
        if (g.strides[axis] > 8 || g.pads[axis] > 128 || upper < -128 || upper > 127 ||
            (g.window[axis] - 1) * g.dilations[axis] > 255 || g.src[axis] >= (1 << 29))
            return false;
    }
    const std::int64_t cells = g.batch * g.dst_cells();
    return cells > 0 && cells < (std::int64_t{1} << 31) - 64 && g.channels < (1 << 26) &&
           g.outputs < (1 << 26) &&
           g.taps() * ceil_divide(g.channels, 64) * ceil_divide(g.outputs, 64) < (1 << 20);
}

BwdFilterBulk bwd_filter_bulk_params(const BwdFilterParams& problem, const DeviceTraits& traits) {
    const ConvolutionGeometry& g = problem.geometry;
    BwdFilterBulk p;
    p.problem = problem;
    p.channel_blocks = ceil_divide(g.channels, 64);
    p.row_blocks = g.taps() * p.channel_blocks;
    p.steps = ceil_divide(g.batch * g.dst_cells(), bulk_depth);
    const Choice choice = choose(p, traits);
    bwd_filter_bulk_set(p, choice.row_tiles, choice.outputs, choice.splits);
    return p;
}

void bwd_filter_bulk_set(BwdFilterBulk& p, int row_tiles, int outputs, int splits) {
    const std::int64_t blocks = 2 * row_tiles;
    p.row_tiles_a_group = row_tiles, p.outputs_tile = outputs, p.splits = splits;
    p.padded_rows = ceil_divide(p.row_blocks, blocks) * blocks * 64;
    p.padded_outputs = ceil_divide(p.problem.geometry.outputs, outputs) * outputs;
    p.workspace_bytes = static_cast<std::size_t>(p.padded_rows * p.padded_outputs * splits) * sizeof(float);
    p.executed_flops = 2.0 * static_cast<double>(p.padded_rows * p.padded_outputs) *
                       static_cast<double>(p.steps * bulk_depth);
}

bool bwd_filter_bulk(const BwdFilterBulk& p, const void* src, const void* diff, void* dst, void* workspace,
                     Stream stream) {
    const ConvolutionGeometry& g = p.problem.geometry;
    const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    if (!is_aligned(src) || !is_aligned(diff)) return false;
    CUtensorMap source_map, diff_map;
    const Axes none{0, 0, 0}, single{1, 1, 1};
    if (!make_map(src, p.problem.type, g.batch, g.channels, g.src, g.src_strides, g.pads, g.strides, g.dst,
                  source_map) ||
        !make_map(diff, p.problem.type, g.batch, g.outputs, g.dst, g.dst_strides, none, single, g.dst,
                  diff_map))
        return false;
    BulkArgs a;
    a.parts = static_cast<float*>(workspace);
    a.padded_outputs = p.padded_outputs, a.padded_rows = p.padded_rows;
    a.steps = narrow(p.steps), a.splits = p.splits;
    a.output_tiles = narrow(p.padded_outputs / p.outputs_tile);
    a.row_tiles = narrow(p.padded_rows / (128 * p.row_tiles_a_group));
    a.channel_blocks = narrow(p.channel_blocks), a.row_blocks = narrow(p.row_blocks);
    a.window_w = narrow(g.window[2]);
    a.step_h = narrow(g.strides[1]), a.step_w = narrow(g.strides[2]);
    a.pad_h = narrow(g.pads[1]), a.pad_w = narrow(g.pads[2]);
    a.dilation_h = narrow(g.dilations[1]), a.dilation_w = narrow(g.dilations[2]);
    a.dst_w = FastDivision(g.dst[2]), a.dst_h = FastDivision(g.dst[1]);
    const auto launch = p.problem.type == ElementType::f16 ? launch_bulk_fp16 : launch_bulk_bf16;
    launch(a, source_map, diff_map, p.row_tiles_a_group, p.outputs_tile, stream);
    Finish f = finish_of(p.problem, dst, a.parts, p.splits);
    f.padded_rows = p.padded_rows, f.padded_outputs = p.padded_outputs;
    f.rows = p.row_blocks * 64, f.outputs = g.outputs, f.groups = 1;
    f.channels = FastDivision(p.channel_blocks * 64);
    launch_finish(f, stream);
    return true;
}

}  // namespace convlens::cuda

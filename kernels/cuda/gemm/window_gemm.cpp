#include "kernels/cuda/gemm/window_gemm.h"

#include <algorithm>
#include <cstdlib>

namespace convlens::cuda {
namespace {

constexpr std::int64_t most_31 = (std::int64_t{1} << 31) - 1024;
// So that a row's start plus a tap plus column_outside stays within 32 bits.
constexpr std::int64_t most_coordinate = std::int64_t{1} << 28;
constexpr std::int64_t most_groups = 65535;

// False once a product of lengths left the bound.
bool within(std::int64_t a, std::int64_t b, std::int64_t most) {
    std::int64_t product = 0;
    return !__builtin_mul_overflow(a, b, &product) && product <= most && product >= -most;
}

bool coordinates_fit(const ConvolutionGeometry& g) {
    for (std::size_t axis = 0; axis < 3; ++axis)
        if (g.src[axis] > most_coordinate || g.pads[axis] > most_coordinate ||
            !within(g.window[axis], g.dilations[axis], most_coordinate) ||
            !within(g.dst[axis], g.strides[axis], most_coordinate))
            return false;
    return true;
}

// Strides of axes of length 1 say nothing.
Strides5 effective_src_strides(const ConvolutionGeometry& g) {
    Strides5 strides = g.src_strides;
    if (g.batch <= 1) strides[0] = 0;
    for (std::size_t axis = 0; axis < 3; ++axis)
        if (g.src[axis] <= 1) strides[axis + 2] = 0;
    if (g.channels <= 1) strides[1] = 1;
    return strides;
}

bool offsets_fit(const ConvolutionGeometry& g, const Strides5& s) {
    std::int64_t sum = 0;
    const auto add = [&](std::int64_t steps, std::int64_t stride) {
        if (!within(steps, stride, most_31)) return false;
        sum += std::abs(steps * stride);
        return sum <= most_31;
    };
    if (!add(g.channels / g.groups, s[1])) return false;
    for (std::size_t axis = 0; axis < 3; ++axis)
        if (!add((g.window[axis] - 1) * g.dilations[axis], s[axis + 2])) return false;
    return true;
}

bool all_quads(const Strides5& s, std::int64_t channels) {
    return s[1] == 1 && channels % 4 == 0 && s[0] % 4 == 0 && s[2] % 4 == 0 && s[3] % 4 == 0 && s[4] % 4 == 0;
}

}  // namespace

std::optional<WindowGemmShape> window_gemm_shape(const ConvolutionGeometry& g, const DeviceTraits& device,
                                                 const TileChoice* forced) {
    const Strides5 strides = effective_src_strides(g);
    if (g.groups > most_groups || !coordinates_fit(g) || !offsets_fit(g, strides)) return std::nullopt;
    WindowGemmShape s;
    std::int64_t rows = g.batch, depth = g.channels / g.groups;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (!within(rows, g.dst[axis], most_31) || !within(depth, g.window[axis], most_31))
            return std::nullopt;
        rows *= g.dst[axis];
        depth *= g.window[axis];
        s.src[axis] = g.src[axis];
        s.dilations[axis] = static_cast<std::int32_t>(g.dilations[axis]);
        s.strides[axis] = static_cast<std::int32_t>(g.strides[axis]);
        s.pads[axis] = static_cast<std::int32_t>(g.pads[axis]);
        s.src_strides[axis + 1] = static_cast<std::int32_t>(strides[axis + 2]);
    }
    s.rows = rows;
    s.columns = g.outputs / g.groups;
    if (s.columns > most_31) return std::nullopt;
    s.depth = depth;
    s.groups = g.groups;
    s.src_strides[0] = static_cast<std::int32_t>(strides[1]);
    const auto division = [](std::int64_t divisor) {
        return FastDivision(std::max<std::int64_t>(divisor, 1));
    };
    s.channels = division(g.channels / g.groups);
    s.window_w = division(g.window[2]);
    s.window_h = division(g.window[1]);
    s.dst_w = division(g.dst[2]);
    s.dst_h = division(g.dst[1]);
    s.dst_d = division(g.dst[0]);
    s.src_steps = strides;
    s.dst_steps = g.dst_strides;
    s.quads = all_quads(strides, g.channels / g.groups);
    // A cell's step is that of the last axis longer than 1; each axis before must follow without a gap.
    s.even_dst = true;
    std::int64_t cells = 1;
    for (const std::size_t axis : {4, 3, 2, 0}) {
        const std::int64_t length = axis == 0 ? g.batch : g.dst[axis - 2];
        if (length <= 1) continue;
        if (cells == 1) s.dst_cell = g.dst_strides[axis];
        s.even_dst = s.even_dst && g.dst_strides[axis] == s.dst_cell * cells;
        cells *= length;
    }
    const Strides5& d = g.dst_strides;
    s.quad_dst = d[1] == 1 && s.columns % 4 == 0 && (g.batch <= 1 || d[0] % 4 == 0) &&
                 (g.dst[0] <= 1 || d[2] % 4 == 0) && (g.dst[1] <= 1 || d[3] % 4 == 0) &&
                 (g.dst[2] <= 1 || d[4] % 4 == 0);
    s.overlap = window_gemm_has_clusters();
    s.choice = forced ? *forced
                      : choose_tile(s.rows, s.columns, s.depth, s.groups, device.major == 9 && s.overlap,
                                    device.multiprocessors);
    const std::int64_t tiles = (s.rows / s.tile().rows + 1) * (s.padded_columns() / s.tile().columns);
    if (!within(tiles, s.choice.splits, most_31)) return std::nullopt;
    if (!within(s.padded_depth(), s.padded_columns(), INT64_MAX / 64) ||
        !within(s.padded_depth() * s.padded_columns(), s.groups, INT64_MAX / 64))
        return std::nullopt;
    return s;
}

double window_gemm_flops(const WindowGemmShape& s) {
    return 2.0 * static_cast<double>(s.rows) * static_cast<double>(s.padded_columns()) *
           static_cast<double>(s.depth) * static_cast<double>(s.groups);
}

std::int64_t window_gemm_packed_size(const WindowGemmShape& s) {
    return s.groups * s.padded_depth() * s.padded_columns();
}

void window_gemm_pack(const WindowGemmShape& s, const ConvolutionGeometry& g, const float* weights,
                      float* packed) {
    const std::int64_t channels = g.channels / g.groups, taps = g.taps(), columns = s.padded_columns();
    const std::int64_t group_size = s.padded_depth() * columns;
    std::fill_n(packed, s.groups * group_size, 0.0f);
    for (std::int64_t group = 0; group < s.groups; ++group)
        for (std::int64_t tap = 0; tap < taps; ++tap) {
            const std::int64_t from_tap = g.flipped ? taps - 1 - tap : tap;
            for (std::int64_t c = 0; c < channels; ++c) {
                float* to = packed + group * group_size + (tap * channels + c) * columns;
                const float* from = weights + (group * s.columns * channels + c) * taps + from_tap;
                for (std::int64_t k = 0; k < s.columns; ++k) to[k] = from[k * channels * taps];
            }
        }
}

void window_gemm_fill_table(const WindowGemmShape& s, const ConvolutionGeometry& g, ColumnEntry* table) {
    const std::int64_t channels = g.channels / g.groups;
    for (std::int64_t k = 0; k < s.padded_depth(); ++k) {
        if (k >= s.depth) {
            table[k] = {0, column_outside, column_outside, column_outside};
            continue;
        }
        const std::int64_t tap = k / channels, c = k % channels;
        const std::int64_t w = tap % g.window[2] * g.dilations[2];
        const std::int64_t h = tap / g.window[2] % g.window[1] * g.dilations[1];
        const std::int64_t d = tap / (g.window[2] * g.window[1]) * g.dilations[0];
        const std::int64_t offset =
            c * s.src_strides[0] + d * s.src_strides[1] + h * s.src_strides[2] + w * s.src_strides[3];
        table[k] = {static_cast<std::int32_t>(offset), static_cast<std::int32_t>(d),
                    static_cast<std::int32_t>(h), static_cast<std::int32_t>(w)};
    }
}

std::size_t window_gemm_workspace(const WindowGemmShape& s) {
    if (s.choice.form != SplitForm::workspace) return 0;
    const std::int64_t columns = (s.columns + 3) / 4 * 4;
    return static_cast<std::size_t>(s.choice.splits * s.groups * s.rows * columns) * sizeof(float);
}

}  // namespace convlens::cuda

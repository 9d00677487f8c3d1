#include "kernels/cuda/convolution/few_channels.h"

#include <algorithm>
#include <array>

namespace convlens::cuda {
namespace {

// The kernel is compiled for these: windows of 3, 5, 7 and 11 cells of three channels, of 3, 5 and 7 of one.
constexpr std::array<std::int64_t, 7> runs = {3, 5, 7, 9, 15, 21, 33};
constexpr int tile_cells = 128;
constexpr std::int64_t most_patch_floats = 8192;

int patch_lines(const ConvolutionGeometry& g, std::int64_t tile_h) {
    return static_cast<int>((tile_h - 1) * g.strides[1] + (g.window[1] - 1) * g.dilations[1] + 1);
}
int patch_pitch(const ConvolutionGeometry& g, std::int64_t tile_w) {
    return static_cast<int>(((tile_w - 1) * g.strides[2] + g.window[2]) * g.channels);
}

bool applies(const ConvolutionGeometry& g) {
    const std::int64_t run = g.window[2] * g.channels;
    return g.groups == 1 && g.channels <= 3 && g.src[0] == 1 && g.window[0] == 1 && g.dst[0] == 1 &&
           g.pads[0] == 0 && g.dilations[2] == 1 && (g.channels == 1 || g.src_strides[1] == 1) &&
           g.src_strides[4] == g.channels && std::find(runs.begin(), runs.end(), run) != runs.end() &&
           g.strides[1] <= 16 && g.strides[2] <= 16 && g.window[1] <= 64 && g.dilations[1] <= 64 &&
           g.outputs > 0;
}

// The rectangle of cells with the least waste, the widest of equals.
bool choose_tile(FewChannels& p) {
    const ConvolutionGeometry& g = p.geometry;
    std::int64_t least = INT64_MAX;
    for (int width = tile_cells; width >= 4; width /= 2) {
        const int height = tile_cells / width;
        if (std::int64_t{patch_lines(g, height)} * patch_pitch(g, width) > most_patch_floats) continue;
        const std::int64_t cells =
            (g.dst[1] + height - 1) / height * ((g.dst[2] + width - 1) / width) * tile_cells;
        if (cells >= least) continue;
        least = cells;
        p.tile_h = height;
        p.tile_w = width;
    }
    return p.tile_h > 0;
}

}  // namespace

std::optional<FewChannels> few_channels_params(const ConvolutionGeometry& g, const DeviceTraits& device) {
    if (!applies(g) || !window_gemm_shape(g, device)) return std::nullopt;
    FewChannels p;
    p.geometry = g;
    p.run = static_cast<int>(g.window[2] * g.channels);
    if (!choose_tile(p)) return std::nullopt;
    p.lines = patch_lines(g, p.tile_h);
    p.pitch = patch_pitch(g, p.tile_w);
    p.overlap = window_gemm_has_clusters();
    // Wide tiles read the cells less often, narrow ones make more blocks and waste fewer columns.
    const std::int64_t cell_tiles = g.batch * p.tiles_h() * p.tiles_w();
    const std::int64_t quarter_tiles = (g.outputs + 31) / 32;
    const std::int64_t many = 2 * device.multiprocessors;
    p.thread_columns = 4;
    if (quarter_tiles % 3 == 0 && cell_tiles * quarter_tiles / 3 >= many) {
        p.thread_columns = 12;
    } else if (quarter_tiles % 2 == 0 && cell_tiles * quarter_tiles / 2 >= many / 3) {
        p.thread_columns = 8;
        p.slices = cell_tiles * quarter_tiles / 2 < many && g.window[1] > 1 ? 2 : 1;
    }
    const std::int64_t blocks = cell_tiles * p.padded_columns() / (8 * p.thread_columns);
    if (blocks > INT32_MAX) return std::nullopt;
    return p;
}

std::int64_t few_channels_packed_size(const FewChannels& p) {
    return p.geometry.window[1] * p.run * p.padded_columns();
}

void few_channels_pack(const FewChannels& p, const float* weights, float* packed) {
    const ConvolutionGeometry& g = p.geometry;
    const std::int64_t taps = g.taps(), columns = p.padded_columns();
    std::fill_n(packed, few_channels_packed_size(p), 0.0f);
    for (std::int64_t tap = 0; tap < taps; ++tap)
        for (std::int64_t c = 0; c < g.channels; ++c)
            for (std::int64_t k = 0; k < g.outputs; ++k)
                packed[(tap * g.channels + c) * columns + k] =
                    weights[(k * g.channels + c) * taps + (g.flipped ? taps - 1 - tap : tap)];
}

double few_channels_flops(const FewChannels& p) {
    const ConvolutionGeometry& g = p.geometry;
    return 2.0 * static_cast<double>(g.batch * g.dst_cells()) * static_cast<double>(p.padded_columns()) *
           static_cast<double>(g.window[1] * p.run);
}

}  // namespace convlens::cuda

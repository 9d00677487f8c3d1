// What a map looks like on screen, without a Vulkan type: shared by ui (which asks) and render (which draws).
#pragma once

#include <cstdint>

namespace convlens::render {

enum class ColorMap : std::uint32_t {
    diverging = 0,
    viridis = 1,
    natural = 2,
    weights = 3,
    grey = 4,
    diverging_light = 5,
    turbo = 6
};
inline constexpr std::uint32_t color_map_count = 7;

enum class TileKind : std::uint32_t {
    map = 0,        // one channel through a colour map
    aggregate = 1,  // mean of |x| over `channels` channels through a colour map
    picture = 2,    // three channels as red, green, blue, 0 to 1 from lo to hi
    overlay = 3,    // heat map: colour with alpha = value
};

// A rectangle of an atlas filled from a tensor in memory that shaders can read. Strides in elements. Nearest
// filter: screen pixel (x, y) of the rectangle shows map pixel floor(source_x + (x + 0.5) * source_w /
// dst_w).
struct AtlasTile {
    std::uint64_t address = 0;  // of element (0, 0) of the first channel; float32
    std::int64_t stride_x = 1, stride_y = 1, stride_c = 1;
    std::int32_t width = 0, height = 0, channels = 1;              // of the map
    float source_x = 0, source_y = 0, source_w = 0, source_h = 0;  // part shown, in map pixels
    std::int32_t dst_x = 0, dst_y = 0, dst_w = 0, dst_h = 0;       // in the atlas; clipped to it
    float lo = 0, hi = 1;  // range of the colour map; lo == hi: the map's defined constant colour
    ColorMap color_map = ColorMap::viridis;
    TileKind kind = TileKind::map;
};

// The colour that the shaders give a value, for bars and tooltips: 0xAABBGGRR as ImGui packs it. t in [0, 1].
std::uint32_t color_at(ColorMap map, float t);

}  // namespace convlens::render

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "app/render/atlas_tile.h"

namespace convlens::render {
namespace {

// GLSL's names for what the shared text uses.
struct vec3 {
    float r, g, b;
    vec3(float red, float green, float blue) : r(red), g(green), b(blue) {}
};
using unsigned_int = std::uint32_t;
using std::abs;

#include "shaders/color_maps.h"

std::uint32_t byte_of(float v) {
    return static_cast<std::uint32_t>(std::clamp(v, 0.0f, 1.0f) * 255.0f + 0.5f);
}

}  // namespace

std::uint32_t color_at(ColorMap map, float t) {
    const std::uint32_t index = static_cast<std::uint32_t>(map);
    if (std::isnan(t)) return 0xffff00ffu;
    const vec3 c = map_color(std::min(index, color_map_count - 1), std::clamp(t, 0.0f, 1.0f));
    return byte_of(c.r) | byte_of(c.g) << 8 | byte_of(c.b) << 16 | 0xff000000u;
}

}  // namespace convlens::render

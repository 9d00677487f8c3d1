// Colours rectangles of an atlas from tensors that are reached by address. One dispatch colours many tiles of
// one kind and one colour map; both are specialisation constants, so no invocation pays for the others.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int32 : require
#extension GL_GOOGLE_include_directive : require

#define unsigned_int uint
#include "color_maps.h"
#include "tile.h"

layout(local_size_x = TILE_GROUP_WIDTH) in;
layout(constant_id = 0) const uint kind = TILE_KIND_MAP;
layout(constant_id = 1) const uint color_map = COLOR_MAP_VIRIDIS;

// Values come through a typed view of their block where one view spans the tile (software Vulkan loads eight at
// once that way), else by address.
layout(constant_id = 2) const bool use_view = false;

layout(set = 0, binding = 0, rgba8) uniform writeonly image2D atlas;
layout(set = 1, binding = 0) uniform samplerBuffer values;

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Element { float value; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Tiles { TileRecord tiles[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Groups { TileGroup groups[]; };

layout(push_constant) uniform Push {
    uint64_t tiles;
    uint64_t groups;
    uint first_group;
} push;

bool is_nan(float v) { return (floatBitsToUint(v) & 0x7fffffffu) > 0x7f800000u; }
bool is_infinite(float v) { return (floatBitsToUint(v) & 0x7fffffffu) == 0x7f800000u; }

// With a view, addresses and strides count elements of the view, else bytes.
float load(uint64_t address) { return use_view ? texelFetch(values, int(address)).r : Element(address).value; }

float position(float v, TileRecord tile) { return clamp((v - tile.lo) * tile.inverse_range, 0.0f, 1.0f); }

// The colour of a value: its position on the map, or the mark of a value that no map can show.
vec4 color_of(float v, TileRecord tile) {
    float t = tile.inverse_range == 0.0f ? constant_position(color_map) : position(v, tile);
    vec4 color = vec4(clamp(map_color(color_map, t), 0.0f, 1.0f), kind == TILE_KIND_OVERLAY ? t : 1.0f);
    color = is_infinite(v) ? vec4(1.0f, 1.0f, 0.0f, 1.0f) : color;
    return is_nan(v) ? vec4(1.0f, 0.0f, 1.0f, 1.0f) : color;
}

// The colour of a pixel whose map pixel starts at `address` in the first channel.
vec4 pixel_color(uint64_t address, TileRecord tile) {
    if (kind == TILE_KIND_PICTURE) {
        uint64_t step = tile.channels >= 3 ? uint64_t(tile.stride_c) : uint64_t(0);
        vec3 v = vec3(load(address), load(address + step), load(address + 2ul * step));
        vec4 color = vec4(clamp((v - tile.lo) * tile.inverse_range, 0.0f, 1.0f), 1.0f);
        if (is_infinite(v.x) || is_infinite(v.y) || is_infinite(v.z)) color = vec4(1.0f, 1.0f, 0.0f, 1.0f);
        if (is_nan(v.x) || is_nan(v.y) || is_nan(v.z)) color = vec4(1.0f, 0.0f, 1.0f, 1.0f);
        return color;
    }
    if (kind == TILE_KIND_AGGREGATE) {
        float sum = 0.0f;
        for (int c = 0; c < tile.channels; ++c) {
            sum += abs(load(address));
            address += uint64_t(tile.stride_c);
        }
        return color_of(sum / float(tile.channels), tile);
    }
    return color_of(load(address), tile);
}

// An invocation colours a column of its workgroup's rectangle: the tile's description is loaded once for all
// its pixels, and neighbouring invocations write neighbouring pixels.
void main() {
    TileGroup group = Groups(push.groups).groups[push.first_group + gl_WorkGroupID.x];
    TileRecord tile = Tiles(push.tiles).tiles[group.tile];
    int x = tile.clip_x0 + int(group.x) * TILE_GROUP_WIDTH + int(gl_LocalInvocationID.x);
    int y = tile.clip_y0 + int(group.y) * TILE_GROUP_HEIGHT;
    int end = min(y + TILE_GROUP_HEIGHT, tile.clip_y1);
    if (x >= tile.clip_x1) return;
    if (kind == TILE_KIND_CLEAR) {
        for (; y < end; ++y) imageStore(atlas, ivec2(x, y), unpackUnorm4x8(uint(tile.channels)));
        return;
    }
    int column = int(floor(tile.source_x + (float(x - tile.dst_x) + 0.5f) * tile.scale_x));
    bool in_columns = column >= 0 && column < tile.width;
    uint64_t column_address = tile.address + uint64_t(int64_t(column) * tile.stride_x);
    for (; y < end; ++y) {
        int row = int(floor(tile.source_y + (float(y - tile.dst_y) + 0.5f) * tile.scale_y));
        vec4 color = vec4(0.0f);
        if (in_columns && row >= 0 && row < tile.height)
            color = pixel_color(column_address + uint64_t(int64_t(row) * tile.stride_y), tile);
        imageStore(atlas, ivec2(x, y), color);
    }
}

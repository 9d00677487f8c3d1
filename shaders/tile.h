// Layout of what the tile shader reads, shared by GLSL and C++ (std430 and natural C++ alignment agree).
#ifndef CONVLENS_SHADERS_TILE_H
#define CONVLENS_SHADERS_TILE_H

#define TILE_KIND_MAP 0u
#define TILE_KIND_AGGREGATE 1u
#define TILE_KIND_PICTURE 2u
#define TILE_KIND_OVERLAY 3u
// Fills a rectangle with one colour: `channels` holds it, 0xAABBGGRR.
#define TILE_KIND_CLEAR 4u

// A workgroup colours TILE_GROUP_WIDTH x TILE_GROUP_HEIGHT pixels of one tile.
#define TILE_GROUP_WIDTH 64
#define TILE_GROUP_HEIGHT 32

// Address and strides in bytes, or in elements of the view that the dispatch binds. The rectangle clip_x0 <= x < clip_x1 (and y) is what is written.
struct TileRecord {
    uint64_t address;
    int64_t stride_x, stride_y, stride_c;
    int32_t width, height, channels, padding;
    float source_x, source_y, scale_x, scale_y;
    int32_t dst_x, dst_y;
    int32_t clip_x0, clip_y0, clip_x1, clip_y1;
    float lo, inverse_range;  // inverse_range 0: no spread
};

// Which tile a workgroup belongs to and which of its rectangles it colours.
struct TileGroup {
    uint32_t tile, x, y, padding;
};

#endif

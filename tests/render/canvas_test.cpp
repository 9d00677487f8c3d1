// Atlases against a reference in double precision: every kind, strided tensors, marks of NaN and Inf, growth,
// clipping, hostile tiles, large blocks, uploaded pictures.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/render/scene.h"

namespace convlens::render::test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr std::uint32_t magenta = 0xff00ffu, yellow = 0xffff00u;

// A tensor of one batch item in the renderer's arena.
struct Tensor {
    Tensor(Renderer& renderer, int channels, int height, int width, bool channels_last, unsigned seed,
           std::size_t offset = 0, bool staged = false)
        : allocator(renderer.arena_allocator(staged)), c(channels), h(height), w(width) {
        const std::size_t count = offset + static_cast<std::size_t>(c) * h * w;
        block = allocator->allocate(count * sizeof(float), "test");
        data = reinterpret_cast<float*>(block.data) + offset;
        address = block.device_address + offset * sizeof(float);
        stride_c = channels_last ? 1 : std::int64_t{h} * w;
        stride_x = channels_last ? c : 1;
        stride_y = channels_last ? std::int64_t{w} * c : w;
        std::mt19937 random(seed);
        std::uniform_real_distribution<float> values(-2, 3);
        for (std::size_t i = 0; i < static_cast<std::size_t>(c) * h * w; ++i) data[i] = values(random);
    }
    ~Tensor() { allocator->release(block); }
    Tensor(const Tensor&) = delete;
    Tensor& operator=(const Tensor&) = delete;

    float& at(int channel, int y, int x) { return data[channel * stride_c + y * stride_y + x * stride_x]; }
    AtlasTile tile(int channel) {
        AtlasTile tile;
        tile.address = address + static_cast<std::uint64_t>(channel * stride_c) * sizeof(float);
        tile.stride_x = stride_x;
        tile.stride_y = stride_y;
        tile.stride_c = stride_c;
        tile.width = w;
        tile.height = h;
        tile.channels = c - channel;
        tile.source_w = static_cast<float>(w);
        tile.source_h = static_cast<float>(h);
        tile.dst_w = w;
        tile.dst_h = h;
        tile.lo = -2;
        tile.hi = 3;
        return tile;
    }

    std::shared_ptr<network::Allocator> allocator;
    network::Block block;
    int c, h, w;
    float* data;
    std::uint64_t address;
    std::int64_t stride_x, stride_y, stride_c;
};

void show(Scene& scene, const char* slot, int width, int height, const std::vector<AtlasTile>& tiles,
          bool clear = true, std::uint32_t clear_rgba = 0xff000000u) {
    scene.refresh([&](ImDrawList& list) {
        Canvas& canvas = scene.renderer();
        const std::uint64_t id = canvas.atlas(slot, width, height);
        canvas.fill(slot, tiles, clear, clear_rgba);
        const float aw = static_cast<float>(canvas.atlas_width(slot));
        const float ah = static_cast<float>(canvas.atlas_height(slot));
        list.AddImage(texture(id), ImVec2(0, 0), ImVec2(aw, ah));
    });
    scene.read();
}

// Largest difference of the three components.
int distance(std::uint32_t a, std::uint32_t b) {
    int most = 0;
    for (int shift : {0, 8, 16})
        most =
            std::max(most, std::abs(static_cast<int>(a >> shift & 255) - static_cast<int>(b >> shift & 255)));
    return most;
}

std::uint32_t expected_map(ColorMap map, double v, double lo, double hi) {
    if (std::isnan(v)) return magenta;
    if (std::isinf(v)) return yellow;
    return rgb(color_at(map, static_cast<float>(std::clamp((v - lo) / (hi - lo), 0.0, 1.0))));
}

// The map pixel that a screen pixel shows, in exact arithmetic.
int source_of(int x, int dst, int dst_size, double source, double source_size) {
    return static_cast<int>(std::floor(source + (x - dst + 0.5) * source_size / dst_size + 1e-9));
}

class Kinds : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Layouts, Kinds, testing::Bool(),
                         [](const auto& layout) { return layout.param ? "ChannelsLast" : "Packed"; });

TEST_P(Kinds, EveryColourMapGivesColorAt) {
    Scene scene(checked(160, 120));
    Tensor tensor(scene.renderer(), 5, 17, 23, GetParam(), 1);
    tensor.at(2, 3, 4) = nan;
    tensor.at(2, 5, 6) = inf;
    tensor.at(2, 7, 8) = -inf;
    tensor.at(2, 9, 10) = 1e30f;
    std::vector<AtlasTile> tiles;
    for (std::uint32_t map = 0; map < color_map_count; ++map) {
        AtlasTile tile = tensor.tile(2);
        tile.color_map = static_cast<ColorMap>(map);
        tile.dst_x = 2 + static_cast<int>(map % 4) * 37;
        tile.dst_y = 1 + static_cast<int>(map / 4) * 41;
        tile.dst_w = 35;  // not a multiple of the map
        tile.dst_h = 40;
        tiles.push_back(tile);
    }
    show(scene, "wall", 150, 90, tiles);
    for (const AtlasTile& tile : tiles)
        for (int y = tile.dst_y; y < tile.dst_y + tile.dst_h; ++y)
            for (int x = tile.dst_x; x < tile.dst_x + tile.dst_w; ++x) {
                const float v = tensor.at(2, source_of(y, tile.dst_y, tile.dst_h, 0, 17),
                                          source_of(x, tile.dst_x, tile.dst_w, 0, 23));
                const std::uint32_t wanted = expected_map(tile.color_map, v, -2, 3);
                ASSERT_LE(distance(scene.pixel(x, y), wanted), 1)
                    << "map " << static_cast<int>(tile.color_map) << " x " << x << " y " << y << " value "
                    << v;
            }
    EXPECT_EQ(scene.pixel(1, 1), 0x000000u);
    EXPECT_EQ(scene.pixel(2 + 35, 1), 0x000000u);
    scene.expect_no_messages();
}

TEST_P(Kinds, AggregateIsTheMeanOfMagnitudes) {
    Scene scene(checked(64, 64));
    Tensor tensor(scene.renderer(), 7, 19, 29, GetParam(), 2, 13);
    tensor.at(3, 2, 1) = nan;
    tensor.at(6, 4, 5) = -inf;
    AtlasTile tile = tensor.tile(0);
    tile.kind = TileKind::aggregate;
    tile.lo = 0;
    tile.hi = 2;
    show(scene, "strip", 64, 64, {tile});
    for (int y = 0; y < 19; ++y)
        for (int x = 0; x < 29; ++x) {
            double sum = 0;
            for (int c = 0; c < 7; ++c) sum += std::abs(static_cast<double>(tensor.at(c, y, x)));
            ASSERT_LE(distance(scene.pixel(x, y), expected_map(ColorMap::viridis, sum / 7, 0, 2)), 1)
                << x << " " << y;
        }
    scene.expect_no_messages();
}

TEST_P(Kinds, PictureShowsThreeChannels) {
    Scene scene(checked(64, 64));
    Tensor tensor(scene.renderer(), 3, 11, 13, GetParam(), 3);
    tensor.at(1, 2, 3) = nan;
    AtlasTile tile = tensor.tile(0);
    tile.kind = TileKind::picture;
    tile.dst_w = 26;
    tile.dst_h = 33;
    show(scene, "picture", 64, 64, {tile});
    for (int y = 0; y < 33; ++y)
        for (int x = 0; x < 26; ++x) {
            std::uint32_t wanted = 0;
            bool any_nan = false;
            for (int c = 0; c < 3; ++c) {
                const double v = tensor.at(c, y / 3, x / 2);
                any_nan = any_nan || std::isnan(v);
                if (!any_nan)
                    wanted = wanted << 8 |
                             static_cast<std::uint32_t>(std::lround(std::clamp((v + 2) / 5, 0.0, 1.0) * 255));
            }
            if (any_nan) wanted = magenta;
            ASSERT_LE(distance(scene.pixel(x, y), wanted), 1) << x << " " << y;
        }
    scene.expect_no_messages();
}

TEST_P(Kinds, OverlayBlendsByValue) {
    Scene scene(checked(64, 64));
    Tensor tensor(scene.renderer(), 2, 9, 12, GetParam(), 4);
    AtlasTile tile = tensor.tile(1);
    tile.kind = TileKind::overlay;
    tile.color_map = ColorMap::turbo;
    show(scene, "heat", 64, 64, {tile}, true, 0);
    for (int y = 0; y < 9; ++y)
        for (int x = 0; x < 12; ++x) {
            const double t = std::clamp((tensor.at(1, y, x) + 2) / 5.0, 0.0, 1.0);
            const std::uint32_t colour = expected_map(ColorMap::turbo, t, 0, 1);
            std::uint32_t wanted = 0;
            for (int shift : {16, 8, 0})
                wanted = wanted << 8 |
                         static_cast<std::uint32_t>(std::lround((colour >> shift & 255) * t +
                                                                (ground_rgb >> shift & 255) * (1 - t)));
            ASSERT_LE(distance(scene.pixel(x, y), wanted), 2) << x << " " << y;
        }
    EXPECT_EQ(scene.pixel(30, 30), ground_rgb) << "transparent where nothing was filled";
    scene.expect_no_messages();
}

TEST(Canvas, ZoomedPartsShowTheRightPixels) {
    Scene scene(checked(200, 160));
    Tensor tensor(scene.renderer(), 3, 31, 37, true, 5);
    struct Part {
        float x, y, w, h;
        int dst_w, dst_h;
    };
    for (const Part& part : {Part{5, 7, 20, 10, 140, 90}, Part{2.25f, 3.5f, 7.5f, 9.25f, 113, 150},
                             Part{-4, -2, 45, 40, 90, 80}}) {
        AtlasTile tile = tensor.tile(1);
        tile.color_map = ColorMap::grey;
        tile.source_x = part.x;
        tile.source_y = part.y;
        tile.source_w = part.w;
        tile.source_h = part.h;
        tile.dst_x = 3;
        tile.dst_y = 2;
        tile.dst_w = part.dst_w;
        tile.dst_h = part.dst_h;
        show(scene, "wall", 200, 160, {tile});
        for (int y = 2; y < 2 + part.dst_h; ++y)
            for (int x = 3; x < 3 + part.dst_w; ++x) {
                const int column = source_of(x, 3, part.dst_w, part.x, part.w);
                const int row = source_of(y, 2, part.dst_h, part.y, part.h);
                const bool inside = column >= 0 && column < 37 && row >= 0 && row < 31;
                const std::uint32_t wanted =
                    inside ? expected_map(ColorMap::grey, tensor.at(1, row, column), -2, 3) : ground_rgb;
                ASSERT_LE(distance(scene.pixel(x, y), wanted), 1) << x << " " << y;
            }
    }
    scene.expect_no_messages();
}

TEST(Canvas, ConstantMapsHaveADefinedLook) {
    Scene scene(checked(64, 64));
    Tensor tensor(scene.renderer(), 1, 6, 5, false, 6);
    const struct {
        ColorMap map;
        float t;
    } looks[] = {{ColorMap::diverging, 0.5f}, {ColorMap::weights, 0.5f}, {ColorMap::diverging_light, 0.5f},
                 {ColorMap::viridis, 0},      {ColorMap::grey, 0},       {ColorMap::turbo, 0}};
    for (const float bound : {0.0f, 3.0f, 1e-42f, nan, inf})
        for (const auto& look : looks) {
            AtlasTile tile = tensor.tile(0);
            tile.color_map = look.map;
            tile.lo = tile.hi = bound;
            show(scene, "wall", 64, 64, {tile});
            EXPECT_LE(distance(scene.pixel(2, 3), rgb(color_at(look.map, look.t))), 1) << bound;
        }
    // Ranges at the edge of what float holds.
    AtlasTile tile = tensor.tile(0);
    tile.color_map = ColorMap::grey;
    tile.lo = -std::numeric_limits<float>::max();
    tile.hi = std::numeric_limits<float>::max();
    show(scene, "wall", 64, 64, {tile});
    EXPECT_LE(distance(scene.pixel(2, 3), 0x808080u), 1);
    scene.expect_no_messages();
}

TEST(Canvas, TilesAreClippedToTheAtlas) {
    Scene scene(checked(128, 128));
    Tensor tensor(scene.renderer(), 1, 8, 8, false, 7);
    AtlasTile corner = tensor.tile(0);
    corner.color_map = ColorMap::grey;
    corner.dst_x = -5;
    corner.dst_y = -3;
    corner.dst_w = corner.dst_h = 16;
    AtlasTile far = corner;
    far.dst_x = 100000;
    AtlasTile huge = corner;
    huge.dst_x = std::numeric_limits<std::int32_t>::min();
    huge.dst_y = 40;
    huge.dst_w = std::numeric_limits<std::int32_t>::max();
    AtlasTile wide = corner;
    wide.dst_x = 60;
    wide.dst_y = 60;
    wide.dst_w = wide.dst_h = std::numeric_limits<std::int32_t>::max();
    AtlasTile empty = corner;
    empty.dst_w = -4;
    show(scene, "wall", 64, 64, {corner, far, huge, wide, empty});
    for (int y = 0; y < 13; ++y)
        for (int x = 0; x < 11; ++x)
            ASSERT_LE(distance(scene.pixel(x, y),
                               expected_map(ColorMap::grey, tensor.at(0, (y + 3) / 2, (x + 5) / 2), -2, 3)),
                      1);
    EXPECT_EQ(scene.pixel(20, 20), 0u);
    EXPECT_LE(distance(scene.pixel(63, 63), expected_map(ColorMap::grey, tensor.at(0, 0, 0), -2, 3)), 1);
    scene.expect_no_messages();
}

// Addresses that no block of the arena holds are never read.
TEST(Canvas, TilesOutsideTheArenaStayEmpty) {
    Scene scene(checked(64, 64));
    auto tensor = std::make_unique<Tensor>(scene.renderer(), 4, 8, 8, false, 8);
    std::vector<AtlasTile> tiles;
    const auto hostile = [&](auto change) {
        AtlasTile tile = tensor->tile(0);
        change(tile);
        tiles.push_back(tile);
    };
    hostile([](AtlasTile& t) { t.address = 0; });
    hostile([](AtlasTile& t) { t.address = 64; });
    hostile([](AtlasTile& t) { t.address = ~std::uint64_t{0} - 8; });
    hostile([](AtlasTile& t) { t.address -= 4; });
    hostile([](AtlasTile& t) { t.stride_y = 1 << 20; });
    hostile([](AtlasTile& t) { t.stride_x = std::numeric_limits<std::int64_t>::max(); });
    hostile([](AtlasTile& t) { t.stride_y = std::numeric_limits<std::int64_t>::min(); });
    hostile([](AtlasTile& t) { t.width = -3; });
    hostile([](AtlasTile& t) { t.height = std::numeric_limits<std::int32_t>::max(); });
    hostile([](AtlasTile& t) { t.kind = TileKind::aggregate, t.channels = 0; });
    hostile([](AtlasTile& t) { t.kind = TileKind::aggregate, t.channels = 1 << 20; });
    hostile([](AtlasTile& t) { t.kind = static_cast<TileKind>(99); });
    hostile([](AtlasTile& t) { t.source_w = nan; });
    hostile([](AtlasTile& t) { t.source_x = inf; });
    for (const AtlasTile& tile : tiles) {
        show(scene, "wall", 64, 64, {tile}, true, 0);
        EXPECT_EQ(scene.pixel(4, 4), ground_rgb) << &tile - tiles.data();
    }
    AtlasTile released = tensor->tile(0);
    tensor.reset();
    show(scene, "wall", 64, 64, {released}, true, 0);
    EXPECT_EQ(scene.pixel(4, 4), ground_rgb);
    scene.expect_no_messages();
}

TEST(Canvas, MemoryReleasedWhileItIsReadStaysUntilThen) {
    Scene scene(checked(64, 64));
    for (int round = 0; round < 20; ++round) {
        auto tensor = std::make_unique<Tensor>(scene.renderer(), 3, 40, 50, round % 2 == 0, 9);
        const float value = tensor->at(0, 0, 0);
        const auto fence = scene.refresh([&](ImDrawList& list) {
            const std::uint64_t id = scene.renderer().atlas("wall", 64, 64);
            const AtlasTile tile = tensor->tile(0);
            scene.renderer().fill("wall", {&tile, 1}, true, 0xff000000u);
            list.AddImage(texture(id), ImVec2(0, 0), ImVec2(64, 64));
        });
        tensor.reset();
        fence();
        scene.read();
        EXPECT_LE(distance(scene.pixel(0, 0), expected_map(ColorMap::viridis, value, -2, 3)), 1);
    }
    scene.expect_no_messages();
}

TEST(Canvas, ReadsBeyondHalfAGibibyte) {
    Scene scene(checked(64, 64));
    std::unique_ptr<Tensor> tensor;
    const int height = 9, width = 11;
    const std::size_t offset = (std::size_t{650} << 20) / sizeof(float);
    const auto allocator = scene.renderer().arena_allocator();
    network::Block block;
    try {
        block = allocator->allocate(offset * sizeof(float) + 4096, "large");
    } catch (const Error& error) {
        GTEST_SKIP() << error.what();
    }
    float* data = reinterpret_cast<float*>(block.data) + offset;
    for (int i = 0; i < height * width; ++i) data[i] = static_cast<float>(i);
    AtlasTile tile;
    tile.address = block.device_address + offset * sizeof(float);
    tile.stride_y = width;
    tile.width = tile.dst_w = width;
    tile.height = tile.dst_h = height;
    tile.source_w = width;
    tile.source_h = height;
    tile.hi = height * width;
    tile.color_map = ColorMap::grey;
    show(scene, "wall", 64, 64, {tile});
    // The same tensor with its rows far apart: strides beyond 31 bits of bytes.
    EXPECT_LE(distance(scene.pixel(10, 8), expected_map(ColorMap::grey, 98, 0, 99)), 1);
    reinterpret_cast<float*>(block.data)[0] = 50;
    tile.address = block.device_address;
    tile.stride_y = static_cast<std::int64_t>(offset);
    tile.height = 2;
    tile.source_h = tile.dst_h = 2;
    show(scene, "wall", 64, 64, {tile});
    EXPECT_LE(distance(scene.pixel(0, 0), expected_map(ColorMap::grey, 50, 0, 99)), 1);
    EXPECT_LE(distance(scene.pixel(10, 1), expected_map(ColorMap::grey, 10, 0, 99)), 1);
    allocator->release(block);
    scene.expect_no_messages();
}

TEST(Canvas, AtlasesGrowAndKeepWhatTheyShow) {
    Scene scene(checked(300, 300));
    Canvas& canvas = scene.renderer();
    Tensor tensor(scene.renderer(), 1, 8, 8, false, 10);
    AtlasTile tile = tensor.tile(0);
    tile.color_map = ColorMap::grey;
    show(scene, "wall", 20, 20, {tile});
    const std::uint32_t before = scene.pixel(3, 3);
    const std::uint64_t id = canvas.atlas("wall", 20, 20);
    const int small = canvas.atlas_width("wall");
    scene.refresh([&](ImDrawList& list) {
        EXPECT_EQ(canvas.atlas("wall", 250, 70), id) << "the number stays";
        EXPECT_GE(canvas.atlas_width("wall"), 250);
        list.AddImage(texture(id), ImVec2(0, 0),
                      ImVec2(static_cast<float>(canvas.atlas_width("wall")),
                             static_cast<float>(canvas.atlas_height("wall"))));
    });
    scene.read();
    EXPECT_EQ(scene.pixel(3, 3), before);
    EXPECT_EQ(scene.pixel(small + 20, 3), ground_rgb) << "new parts are transparent";
    EXPECT_EQ(canvas.atlas("wall", 1, 1), id);
    EXPECT_GE(canvas.atlas_width("wall"), 250) << "never shrunk";
    // Hostile sizes are brought within the device's limits.
    canvas.atlas("hostile", -5, 0);
    EXPECT_GE(canvas.atlas_width("hostile"), 1);
    canvas.atlas("thin", 1 << 30, 1);
    EXPECT_LE(canvas.atlas_width("thin"), 1 << 16);
    canvas.fill("never made", {&tile, 1}, true, 0);
    EXPECT_EQ(canvas.atlas_width("never made"), 0);
    scene.refresh();
    scene.expect_no_messages();
}

TEST(Canvas, LaterFillsWinAndKeepTheRest) {
    Scene scene(checked(64, 64));
    Canvas& canvas = scene.renderer();
    Tensor tensor(scene.renderer(), 2, 8, 8, false, 11);
    std::fill_n(tensor.data, 64, -2.0f);
    std::fill_n(tensor.data + 64, 64, 3.0f);
    scene.refresh([&](ImDrawList& list) {
        const std::uint64_t id = canvas.atlas("wall", 64, 64);
        for (const bool high : {false, true, false, true}) {
            AtlasTile tile = tensor.tile(high ? 1 : 0);
            tile.color_map = ColorMap::grey;
            tile.dst_x = high ? 4 : 0;
            canvas.fill("wall", {&tile, 1}, false, 0);
        }
        list.AddImage(texture(id), ImVec2(0, 0), ImVec2(64, 64));
    });
    scene.read();
    EXPECT_EQ(scene.pixel(3, 3), 0x000000u);
    EXPECT_EQ(scene.pixel(4, 3), 0xffffffu);
    EXPECT_EQ(scene.pixel(11, 3), 0xffffffu);
    EXPECT_EQ(scene.pixel(12, 3), ground_rgb);
    scene.expect_no_messages();
}

// Opaque pictures are drawn without blending only where that gives the same pixels.
TEST(Canvas, TintsAndTransparencyAreBlended) {
    Scene scene(checked(64, 64));
    Canvas& canvas = scene.renderer();
    Tensor tensor(scene.renderer(), 1, 16, 16, false, 13);
    std::fill_n(tensor.data, 256, 3.0f);
    AtlasTile tile = tensor.tile(0);
    tile.color_map = ColorMap::grey;
    const auto draw = [&](ImU32 tint) {
        scene.refresh([&](ImDrawList& list) {
            const std::uint64_t id = canvas.atlas("wall", 64, 64);
            canvas.fill("wall", {&tile, 1}, true, 0xff000000u);
            list.AddImage(texture(id), ImVec2(0, 0), ImVec2(64, 64), ImVec2(0, 0), ImVec2(1, 1), tint);
        });
        scene.read();
    };
    draw(IM_COL32(255, 255, 255, 128));
    EXPECT_LE(distance(scene.pixel(3, 3), 0x8a8b8eu), 2);
    EXPECT_LE(distance(scene.pixel(40, 40), 0x0a0c0eu), 2);
    draw(IM_COL32(128, 255, 0, 255));
    EXPECT_LE(distance(scene.pixel(3, 3), 0x80ff00u), 1);
    // A tile that reaches beyond its map leaves transparent pixels.
    tile.source_w = 32;
    tile.dst_w = 32;
    draw(IM_COL32_WHITE);
    EXPECT_EQ(scene.pixel(15, 3), 0xffffffu);
    EXPECT_EQ(scene.pixel(16, 3), ground_rgb);
    EXPECT_EQ(scene.pixel(40, 3), 0x000000u);
    scene.expect_no_messages();
}

TEST(Canvas, PicturesAreUploadedOncePerKey) {
    Scene scene(checked(64, 64));
    Canvas& canvas = scene.renderer();
    std::vector<std::uint8_t> rgb_bytes(13 * 7 * 3);
    for (std::size_t i = 0; i < rgb_bytes.size(); ++i) rgb_bytes[i] = static_cast<std::uint8_t>(i * 37 % 256);
    std::uint64_t id = 0;
    const auto draw = [&](std::uint64_t key) {
        scene.refresh([&](ImDrawList& list) {
            id = canvas.picture("input", key, 13, 7, rgb_bytes.data());
            list.AddImage(texture(id), ImVec2(0, 0), ImVec2(13, 7));
        });
        scene.read();
    };
    const auto expect_picture = [&] {
        for (int y = 0; y < 7; ++y)
            for (int x = 0; x < 13; ++x) {
                const std::uint8_t* p = &rgb_bytes[static_cast<std::size_t>(y * 13 + x) * 3];
                ASSERT_EQ(scene.pixel(x, y), static_cast<std::uint32_t>(p[0] << 16 | p[1] << 8 | p[2]));
            }
    };
    draw(1);
    expect_picture();
    const std::uint64_t first = id;
    const std::vector<std::uint8_t> old = scene.pixels();
    const std::uint64_t idle_upload = [&] {
        draw(1);
        return scene.renderer().figures().upload_bytes;
    }();
    rgb_bytes[0] ^= 255;
    draw(1);
    EXPECT_EQ(scene.pixels(), old) << "the same key is not uploaded again";
    draw(2);
    expect_picture();
    EXPECT_EQ(id, first);
    EXPECT_EQ(scene.renderer().figures().upload_bytes, idle_upload + 13 * 7 * 4);
    // Bytes that are missing give an empty picture.
    canvas.picture("empty", 1, 5, 5, nullptr);
    canvas.picture("empty", 2, -1, 5, rgb_bytes.data());
    scene.refresh();
    // Many slots: the oldest leave, those of this refresh stay.
    for (int slot = 0; slot < 300; ++slot)
        canvas.picture(("slot " + std::to_string(slot)).c_str(), 1, 13, 7, rgb_bytes.data());
    scene.refresh();
    for (int round = 0; round < 3; ++round) scene.refresh();
    draw(3);
    expect_picture();
    scene.expect_no_messages();
}

// The staged way copies what is shown, counts it, and gives the same picture.
TEST(Canvas, StagedArenaShowsTheSame) {
    std::vector<std::vector<std::uint8_t>> pictures;
    for (const bool staged : {false, true}) {
        Scene scene(checked(64, 64));
        Tensor tensor(scene.renderer(), 6, 21, 18, true, 12, 100, staged);
        std::vector<AtlasTile> tiles{tensor.tile(2), tensor.tile(4)};
        tiles[1].dst_x = 30;
        show(scene, "wall", 64, 64, tiles);
        const std::uint64_t copied = scene.renderer().figures().copied_bytes;
        if (staged) {
            EXPECT_GE(copied, 21u * 18 * 6 * 4 - 5 * 4 - 4);
            EXPECT_LE(copied, 21u * 18 * 6 * 4);
        } else {
            EXPECT_EQ(copied, 0u);
        }
        pictures.push_back(scene.pixels());
        tensor.at(2, 0, 0) = nan;
        show(scene, "wall", 64, 64, tiles);
        EXPECT_EQ(scene.pixel(0, 0), magenta) << "each refresh copies anew";
        scene.expect_no_messages();
    }
    EXPECT_EQ(pictures[0], pictures[1]);
}

TEST(ColorMaps, KeyColours) {
    EXPECT_EQ(color_at(ColorMap::grey, 0), 0xff000000u);
    EXPECT_EQ(color_at(ColorMap::grey, 1), 0xffffffffu);
    EXPECT_EQ(color_at(ColorMap::grey, 2), 0xffffffffu);
    EXPECT_EQ(color_at(ColorMap::grey, nan), 0xffff00ffu);
    for (const ColorMap map : {ColorMap::diverging, ColorMap::weights}) {
        const std::uint32_t zero = color_at(map, 0.5f);
        EXPECT_LT(zero & 255, 20u);
        EXPECT_LT(zero >> 8 & 255, 20u);
        EXPECT_LT(zero >> 16 & 255, 20u);
    }
    EXPECT_LE(distance(color_at(ColorMap::viridis, 0), 0x540144u), 4);
    EXPECT_LE(distance(color_at(ColorMap::viridis, 0.5f), 0x8c9121u), 4);
    EXPECT_LE(distance(color_at(ColorMap::viridis, 1), 0x25e7fdu), 4);
    // No jumps between neighbouring values.
    for (std::uint32_t map = 0; map < color_map_count; ++map)
        for (int i = 0; i < 1000; ++i) {
            const auto a = color_at(static_cast<ColorMap>(map), static_cast<float>(i) / 1000);
            const auto b = color_at(static_cast<ColorMap>(map), static_cast<float>(i + 1) / 1000);
            ASSERT_LE(distance(a, b), 4) << map << " " << i;
        }
}

}  // namespace
}  // namespace convlens::render::test

// Geometry of the map wall against plain walks over every pixel.
#include "app/ui/wall_layout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <tuple>

#include "app/ui/tensor_maps.h"

namespace convlens::ui {
namespace {

struct Case {
    int pane_w, pane_h;
    std::int64_t maps, map_w, map_h;
    double scale;
};

const Case cases[] = {
    {918, 460, 24, 56, 56, 1},    {918, 460, 96, 56, 56, 1},  {918, 460, 1280, 7, 7, 1},
    {918, 460, 1000, 1, 1, 1},    {400, 300, 3, 5, 9, 1},     {183, 71, 17, 13, 4, 1},
    {200, 60, 32, 112, 112, 1},   {1836, 920, 40, 28, 31, 2}, {60, 40, 4096, 1, 1, 1},
    {918, 460, 1, 224, 100, 1.5}, {37, 29, 2, 3, 3, 1},
};

TEST(WallLayout, TilesDoNotOverlapAndFillThePaneAtZoomOne) {
    for (const Case& c : cases) {
        const WallLayout layout(c.pane_w, c.pane_h, c.maps, c.map_w, c.map_h, c.scale);
        ASSERT_FALSE(layout.empty());
        EXPECT_GE(layout.columns() * layout.rows(), c.maps);
        EXPECT_LT((layout.rows() - 1) * layout.columns(), c.maps) << "an empty row";
        const WallView fit;
        for (std::int64_t m = 0; m < c.maps; ++m) {
            const TileEdges t = layout.tile(m, fit);
            EXPECT_GE(t.x0, 0);
            if (layout.columns() > 1) {
                EXPECT_LE(t.x1, c.pane_w);
            }
            if (m + 1 < c.maps && (m + 1) % layout.columns() != 0) {
                EXPECT_LE(t.x1 + 1, layout.tile(m + 1, fit).x0);
            }
            if (m + layout.columns() < c.maps) {
                EXPECT_LE(t.y1 + 1, layout.tile(m + layout.columns(), fit).y0);
            }
        }
        // The aspect of a map is kept to the pixel.
        EXPECT_NEAR(layout.tile_width() * static_cast<double>(c.map_h),
                    layout.tile_height() * static_cast<double>(c.map_w),
                    static_cast<double>(std::max(c.map_w, c.map_h)) + 1);
    }
}

TEST(WallLayout, MagnifiesByWholeNumbersWhereThatLosesLittle) {
    const WallLayout layout(1000, 1000, 4, 100, 100, 1);  // 4.98 at most
    EXPECT_EQ(layout.tile_width(), 498);
    const WallLayout whole(1070, 270, 16, 62, 62, 1);  // 2.1 at most
    EXPECT_EQ(whole.tile_width(), 124);
}

TEST(WallLayout, EveryPixelShowsTheElementThatTheTileRuleSays) {
    const WallView views[] = {{}, {1.7, 13, -9}, {4.3, -50, 21}, {11, 3.3, 7.7}};
    for (const Case& c : cases) {
        const WallLayout layout(c.pane_w, c.pane_h, c.maps, c.map_w, c.map_h, c.scale);
        for (const WallView& wanted : views) {
            const WallView view = layout.clamped(wanted);
            // Owner of each pixel by painting all tiles.
            std::map<std::pair<int, int>, WallCell> painted;
            for (std::int64_t m = 0; m < c.maps; ++m) {
                const TileEdges t = layout.tile(m, view);
                for (std::int64_t y = std::max<std::int64_t>(0, t.y0);
                     y < std::min<std::int64_t>(c.pane_h, t.y1); y += 3)
                    for (std::int64_t x = std::max<std::int64_t>(0, t.x0);
                         x < std::min<std::int64_t>(c.pane_w, t.x1); x += 3)
                        painted[{static_cast<int>(x), static_cast<int>(y)}] = {
                            m, std::min(c.map_h - 1, (2 * (y - t.y0) + 1) * c.map_h / (2 * t.height())),
                            std::min(c.map_w - 1, (2 * (x - t.x0) + 1) * c.map_w / (2 * t.width()))};
            }
            ASSERT_FALSE(painted.empty());
            for (const auto& [pixel, cell] : painted) {
                const auto found = layout.at(pixel.first, pixel.second, view);
                ASSERT_TRUE(found.has_value()) << pixel.first << "," << pixel.second << " zoom " << view.zoom;
                ASSERT_EQ(*found, cell) << pixel.first << "," << pixel.second << " zoom " << view.zoom;
            }
        }
        EXPECT_FALSE(layout.at(-1, 3, {}).has_value());
        EXPECT_FALSE(layout.at(c.pane_w, 3, {}).has_value());
    }
}

TEST(WallLayout, GapsBelongToNoMap) {
    const WallLayout layout(918, 460, 24, 56, 56, 1);
    const TileEdges t = layout.tile(0, {});
    EXPECT_TRUE(layout.at(static_cast<int>(t.x1) - 1, 1, {}).has_value());
    EXPECT_FALSE(layout.at(static_cast<int>(t.x1), 1, {}).has_value());
    EXPECT_FALSE(layout.at(1, static_cast<int>(t.y1), {}).has_value());
}

TEST(WallLayout, PositionAndPixelAreInverse) {
    std::mt19937 random(3);
    for (const Case& c : cases) {
        const WallLayout layout(c.pane_w, c.pane_h, c.maps, c.map_w, c.map_h, c.scale);
        for (int i = 0; i < 200; ++i) {
            const WallCell cell{static_cast<std::int64_t>(random()) % c.maps,
                                static_cast<std::int64_t>(random()) % c.map_h,
                                static_cast<std::int64_t>(random()) % c.map_w};
            WallView view = layout.clamped({1.0 + static_cast<double>(random() % 20), 0, 0});
            view = layout.revealed(view, cell.map);
            double x = 0, y = 0;
            layout.position(cell, view, x, y);
            const TileEdges t = layout.tile(cell.map, view);
            if (t.width() < 2 * c.map_w || t.height() < 2 * c.map_h) continue;  // no pixel of its own
            if (x < 0 || y < 0 || x >= c.pane_w || y >= c.pane_h) continue;
            const auto found = layout.at(static_cast<int>(x), static_cast<int>(y), view);
            ASSERT_TRUE(found.has_value());
            EXPECT_EQ(*found, cell);
        }
    }
}

TEST(WallLayout, ZoomKeepsThePlaceUnderTheMouse) {
    const WallLayout layout(918, 460, 96, 56, 56, 1);
    WallView view;
    const int x = 411, y = 203;
    const auto before = layout.at(x, y, view);
    ASSERT_TRUE(before.has_value());
    for (int i = 0; i < 12; ++i) {
        view = layout.zoomed(view, 1.25, x, y);
        double cx = 0, cy = 0;
        layout.position(*before, view, cx, cy);
        // Half an element, and a pixel of rounding.
        EXPECT_NEAR(cx, x, 0.5 * view.zoom * layout.tile_width() / 56 + 1.5);
        EXPECT_NEAR(cy, y, 0.5 * view.zoom * layout.tile_height() / 56 + 1.5);
    }
    for (int i = 0; i < 14; ++i) view = layout.zoomed(view, 0.8, x, y);
    EXPECT_EQ(view.zoom, 1);
    EXPECT_EQ(view.x, 0);
    EXPECT_EQ(view.y, 0);
}

TEST(WallLayout, ViewsStayInsideWhateverIsAsked) {
    for (const Case& c : cases) {
        const WallLayout layout(c.pane_w, c.pane_h, c.maps, c.map_w, c.map_h, c.scale);
        for (const WallView& wanted : {WallView{0, 0, 0}, WallView{1e9, 1e9, -1e9}, WallView{NAN, 0, 0},
                                       WallView{3, INFINITY, 2}, WallView{2, -1e9, 1e9}}) {
            const WallView view = layout.clamped(wanted);
            EXPECT_GE(view.zoom, 1);
            EXPECT_LE(view.zoom, layout.largest_zoom());
            std::int64_t c0 = 0, c1 = 0, r0 = 0, r1 = 0;
            EXPECT_TRUE(layout.visible(view, c0, c1, r0, r1));
        }
    }
}

TEST(WallLayout, EmptyOnesAreQuiet) {
    const WallLayout none(900, 400, 0, 5, 5, 1), flat(900, 400, 3, 0, 5, 1), no_pane(0, 400, 3, 5, 5, 1);
    for (const WallLayout& layout : {none, flat, no_pane, WallLayout()}) {
        EXPECT_TRUE(layout.empty());
        EXPECT_FALSE(layout.at(3, 3, {}).has_value());
        EXPECT_EQ(layout.clamped({4, 3, 2}).zoom, 1);
    }
}

TEST(TensorMaps, EveryElementOfEveryRankAndLayoutIsFound) {
    const TensorDesc descs[] = {
        TensorDesc::packed({2, 3, 4, 5}),
        TensorDesc::channels_last({2, 3, 4, 5}),
        TensorDesc::packed({1, 7}),
        TensorDesc::packed({6}),
        TensorDesc::packed({2, 3, 5}),
        TensorDesc::packed({2, 3, 4, 5, 6}),
        TensorDesc::channels_last({1, 3, 2, 5, 4}),
        TensorDesc::packed({}),
    };
    for (const TensorDesc& desc : descs) {
        const TensorMaps maps(desc);
        std::int64_t per_item = 1;
        for (int axis = desc.rank() > 1 ? 1 : 0; axis < desc.rank(); ++axis) per_item *= desc.dims[axis];
        ASSERT_EQ(maps.count * maps.height * maps.width, per_item) << desc.text();
        // Logical order of batch item 0: last axis fastest.
        for (std::int64_t i = 0; i < per_item; ++i) {
            std::int64_t rest = i, offset = 0;
            for (int axis = desc.rank() - 1; axis >= (desc.rank() > 1 ? 1 : 0); --axis) {
                offset += rest % desc.dims[axis] * desc.strides[axis];
                rest /= desc.dims[axis];
            }
            const std::int64_t x = i % maps.width, y = i / maps.width % maps.height,
                               m = i / maps.width / maps.height;
            ASSERT_EQ(maps.offset(m, y, x), offset) << desc.text() << " element " << i;
        }
        if (maps.uniform_stride() != 0) {
            for (std::int64_t m = 0; m < maps.count; ++m)
                EXPECT_EQ(maps.offset(m), m * maps.uniform_stride());
        }
        EXPECT_EQ(maps.count % maps.maps_per_channel, 0);
    }
    EXPECT_EQ(TensorMaps(TensorDesc::packed({1, 0, 4, 4})).count, 0);
}

}  // namespace
}  // namespace convlens::ui

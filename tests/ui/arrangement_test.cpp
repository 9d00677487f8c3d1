#include "app/ui/arrangement.h"

#include <gtest/gtest.h>

#include <random>

namespace convlens::ui {
namespace {

TEST(Arrangement, PanesCoverTheWindowOnceAtAnySize) {
    std::mt19937 random(5);
    for (int i = 0; i < 3000; ++i) {
        const auto w = static_cast<float>(1 + random() % 3000), h = static_cast<float>(1 + random() % 2000);
        const float scale = 1 + static_cast<float>(random() % 3) * 0.5f;
        commands::ViewState view;
        view.left_width = static_cast<float>(random() % 900);
        view.right_width = static_cast<float>(random() % 900);
        view.strip_height = static_cast<float>(random() % 900);
        view.foot_height = static_cast<float>(random() % 900);
        const Arrangement a = arrange(w, h, scale, view);
        float area = 0;
        for (const Rect& r : {a.status, a.strip, a.left, a.wall, a.right, a.foot}) {
            EXPECT_GE(r.x0, 0);
            EXPECT_GE(r.y0, 0);
            EXPECT_LE(r.x1, w);
            EXPECT_LE(r.y1, h);
            EXPECT_LE(r.x0, r.x1);
            EXPECT_LE(r.y0, r.y1);
            area += r.w() * r.h();
        }
        EXPECT_NEAR(area, w * h, w * h * 1e-4f + 1);
    }
}

TEST(Arrangement, TheWallIsTheLastToGo) {
    const commands::ViewState view;
    const Arrangement full = arrange(1600, 900, 1, view);
    EXPECT_EQ(full.left.w(), 248);
    EXPECT_EQ(full.right.w(), 408);
    EXPECT_EQ(full.foot.h(), 175);
    EXPECT_EQ(full.strip.h(), 160);
    const Arrangement tiny = arrange(200, 100, 1, view);
    EXPECT_TRUE(tiny.left.empty() && tiny.right.empty() && tiny.strip.empty() && tiny.foot.empty());
    EXPECT_GE(tiny.wall.h(), 40);
    const Arrangement twice = arrange(3200, 1800, 2, view);
    EXPECT_EQ(twice.left.w(), 496);
}

TEST(Arrangement, HiddenSidesLeaveTheirRoomToTheWall) {
    commands::ViewState view;
    view.sides_hidden = true;
    for (const float w : {200.0f, 800.0f, 1600.0f}) {
        const Arrangement a = arrange(w, 900, 1, view);
        EXPECT_TRUE(a.left.empty() && a.right.empty());
        EXPECT_EQ(a.wall.w(), w);
    }
}

TEST(Arrangement, TheWallIsWiderThanEachSide) {
    for (const float w : {640.0f, 800.0f, 1024.0f, 1280.0f, 1600.0f}) {
        const Arrangement a = arrange(w, 800, 1, {});
        EXPECT_GT(a.wall.w(), a.left.w()) << w;
        EXPECT_GE(a.wall.w() + 70, a.right.w()) << w;
    }
}

}  // namespace
}  // namespace convlens::ui

// Draw lists to pixels: rectangles, blending, clipping, text, many vertices, clear rectangles.
#include "tests/render/scene.h"

namespace convlens::render::test {
namespace {

TEST(Drawing, RectanglesCoverExactlyTheirPixels) {
    Scene scene(checked(61, 37));
    scene.refresh([](ImDrawList& list) {
        list.AddRectFilled(ImVec2(3, 5), ImVec2(20, 9), IM_COL32(200, 100, 50, 255));
    });
    scene.read();
    for (int y = 0; y < 37; ++y)
        for (int x = 0; x < 61; ++x) {
            const bool inside = x >= 3 && x < 20 && y >= 5 && y < 9;
            ASSERT_EQ(scene.pixel(x, y), inside ? 0xc86432u : ground_rgb) << x << " " << y;
        }
    scene.expect_no_messages();
}

// Small and large rectangles go through different pipelines; their pixels must agree.
TEST(Drawing, LargeFlatStretchesBlendAsSmallOnes) {
    Scene scene(checked(300, 200));
    const ImU32 half = IM_COL32(255, 0, 100, 128), solid = IM_COL32(10, 200, 30, 255);
    scene.refresh([&](ImDrawList& list) {
        list.AddRectFilled(ImVec2(0, 0), ImVec2(8, 8), half);
        list.AddText(ImVec2(250, 150), IM_COL32_WHITE, "between");
        list.AddRectFilled(ImVec2(10, 10), ImVec2(200, 100), half);
        list.AddText(ImVec2(250, 170), IM_COL32_WHITE, "between");
        list.AddRectFilled(ImVec2(10, 100), ImVec2(200, 190), solid);
        list.AddRectFilled(ImVec2(210, 10), ImVec2(214, 14), solid);
    });
    scene.read();
    EXPECT_EQ(scene.pixel(4, 4), scene.pixel(100, 50));
    EXPECT_NE(scene.pixel(4, 4), ground_rgb);
    EXPECT_EQ(scene.pixel(100, 150), 0x0ac81eu);
    EXPECT_EQ(scene.pixel(212, 12), 0x0ac81eu);
    scene.expect_no_messages();
}

TEST(Drawing, LaterItemsLieAboveEarlierOnes) {
    Scene scene(checked(200, 200));
    scene.refresh([&](ImDrawList& list) {
        list.AddText(ImVec2(10, 10), IM_COL32_WHITE, "hidden");
        list.AddRectFilled(ImVec2(0, 0), ImVec2(200, 200), IM_COL32(1, 2, 3, 255));
        list.AddRectFilled(ImVec2(50, 50), ImVec2(60, 60), IM_COL32(9, 8, 7, 255));
    });
    scene.read();
    for (int x = 0; x < 50; ++x) ASSERT_EQ(scene.pixel(x, 15), 0x010203u);
    EXPECT_EQ(scene.pixel(55, 55), 0x090807u);
}

TEST(Drawing, ScissorCutsAndHostileClipsAreHarmless) {
    Scene scene(checked(64, 48));
    scene.refresh([](ImDrawList& list) {
        list.PushClipRect(ImVec2(10, 12), ImVec2(30, 20));
        list.AddRectFilled(ImVec2(0, 0), ImVec2(64, 48), IM_COL32(255, 255, 255, 255));
        list.PopClipRect();
        const float far = 1e9f;
        for (const ImVec4& clip : {ImVec4(-far, -far, -5, -5), ImVec4(70, 0, far, far),
                                   ImVec4(20, 20, 10, 10), ImVec4(0, 47, 64, 47)}) {
            list.PushClipRect(ImVec2(clip.x, clip.y), ImVec2(clip.z, clip.w));
            list.AddRectFilled(ImVec2(-far, -far), ImVec2(far, far), IM_COL32(255, 0, 0, 255));
            list.PopClipRect();
        }
    });
    scene.read();
    for (int y = 0; y < 48; ++y)
        for (int x = 0; x < 64; ++x) {
            const bool inside = x >= 10 && x < 30 && y >= 12 && y < 20;
            ASSERT_EQ(scene.pixel(x, y), inside ? 0xffffffu : ground_rgb) << x << " " << y;
        }
    scene.expect_no_messages();
}

TEST(Drawing, MoreVerticesThanSixteenBitsHold) {
    Scene scene(checked(256, 256));
    const int count = 40000;  // quads: 160,000 vertices in one list
    scene.refresh([&](ImDrawList& list) {
        for (int i = 0; i < count; ++i) {
            const float x = static_cast<float>(i % 200), y = static_cast<float>(i / 200);
            list.AddRectFilled(ImVec2(x, y), ImVec2(x + 1, y + 1),
                               IM_COL32(i % 251, i / 251 % 251, i / 63001, 255));
        }
    });
    scene.read();
    for (const int i : {0, 1, 16383, 16384, 16385, 32768, 33000, count - 1}) {
        const std::uint32_t expected = static_cast<std::uint32_t>(i % 251) << 16 |
                                       static_cast<std::uint32_t>(i / 251 % 251) << 8 |
                                       static_cast<std::uint32_t>(i / 63001);
        EXPECT_EQ(scene.pixel(i % 200, i / 200), expected) << i;
    }
    scene.expect_no_messages();
}

TEST(Drawing, TextIsDrawnFromTheFontPicture) {
    Scene scene(checked(120, 40));
    scene.refresh([](ImDrawList& list) { list.AddText(ImVec2(4, 4), IM_COL32_WHITE, "Maps 0123"); });
    scene.read();
    int bright = 0;
    for (int y = 0; y < 40; ++y)
        for (int x = 0; x < 120; ++x) bright += scene.pixel(x, y) == 0xffffffu;
    EXPECT_GT(bright, 50);
    EXPECT_LT(bright, 800);
    scene.expect_no_messages();
}

TEST(Drawing, ClearRectanglesLieUnderEverythingAndAreClipped) {
    Scene scene(checked(50, 30));
    scene.renderer().begin_refresh();
    ImGui::NewFrame();
    Canvas& canvas = scene.renderer();
    canvas.clear_rect(-10, -10, 20, 20, IM_COL32(1, 2, 3, 255));
    canvas.clear_rect(40, 20, 1e9f, 1e9f, IM_COL32(4, 5, 6, 255));
    canvas.clear_rect(5, 5, -3, 4, IM_COL32(255, 0, 0, 255));
    canvas.clear_rect(8, 8, 4, 4, IM_COL32(7, 8, 9, 255));
    ImGui::GetBackgroundDrawList()->AddRectFilled(ImVec2(9, 9), ImVec2(11, 11), IM_COL32(50, 60, 70, 255));
    ImGui::Render();
    scene.renderer().end_refresh(ImGui::GetDrawData());
    scene.read();
    EXPECT_EQ(scene.pixel(0, 0), 0x010203u);
    EXPECT_EQ(scene.pixel(7, 9), 0x010203u);
    EXPECT_EQ(scene.pixel(8, 8), 0x070809u);
    EXPECT_EQ(scene.pixel(9, 9), 0x323c46u);
    EXPECT_EQ(scene.pixel(12, 12), ground_rgb);
    EXPECT_EQ(scene.pixel(39, 20), ground_rgb);
    EXPECT_EQ(scene.pixel(40, 20), 0x040506u);
    EXPECT_EQ(scene.pixel(49, 29), 0x040506u);
    scene.expect_no_messages();
}

TEST(Drawing, UnknownPicturesAreLeftOut) {
    Scene scene(checked(20, 20));
    scene.refresh([](ImDrawList& list) {
        for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{77}, ~std::uint64_t{0}})
            list.AddImage(texture(id), ImVec2(0, 0), ImVec2(20, 20));
    });
    scene.read();
    EXPECT_EQ(scene.pixel(10, 10), ground_rgb);
    scene.expect_no_messages();
}

TEST(Drawing, NoDrawDataGivesAnEmptyPicture) {
    Scene scene(checked(20, 20));
    scene.renderer().begin_refresh();
    scene.renderer().end_refresh(nullptr)();
    scene.read();
    EXPECT_EQ(scene.pixel(10, 10), ground_rgb);
    scene.expect_no_messages();
}

}  // namespace
}  // namespace convlens::render::test

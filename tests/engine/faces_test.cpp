// The whole face finder on the photos, each as it is, mirrored, halved, enlarged and darkened.
#include <gtest/gtest.h>

#include <cmath>

#include "app/engine/faces.h"
#include "app/input/resize.h"
#include "app/input/source.h"
#include "convlens/convlens.hpp"

namespace convlens {
namespace {

using namespace engine;

const std::string assets = std::string(CONVLENS_SOURCE_DIR) + "/assets/";

input::Frame scaled(const input::Frame& frame, double factor) {
    input::Frame out;
    out.width = static_cast<int>(std::lround(frame.width * factor));
    out.height = static_cast<int>(std::lround(frame.height * factor));
    for (const float value : input::resize(frame, out.width, out.height).rgb)
        out.rgb.push_back(static_cast<std::uint8_t>(std::lround(value)));
    return out;
}

input::Frame mirrored(const input::Frame& frame) {
    input::Frame out = frame;
    for (int y = 0; y < frame.height; ++y)
        for (int x = 0; x < frame.width; ++x)
            for (int c = 0; c < 3; ++c)
                out.rgb[static_cast<std::size_t>((y * frame.width + x) * 3 + c)] =
                    frame.rgb[static_cast<std::size_t>((y * frame.width + frame.width - 1 - x) * 3 + c)];
    return out;
}

input::Frame darkened(input::Frame frame) {
    for (std::uint8_t& value : frame.rgb) value = static_cast<std::uint8_t>(value / 2);
    return frame;
}

std::unique_ptr<FaceFinder> bundled_finder() {
    std::string message;
    auto finder = FaceFinder::for_model(network::Model::load(assets + "models/face-finder.onnx"), message);
    EXPECT_EQ(message, "");
    return finder;
}

TEST(Faces, OneAstronautAndNobodyElse) {
    Context context;
    const auto finder = bundled_finder();
    ASSERT_NE(finder, nullptr);
    for (const char* name : {"astronaut", "chelsea", "coffee", "rocket"}) {
        const input::FramePtr photo = input::read_picture(assets + "photos/" + name + ".jpg");
        const bool face = std::string(name) == "astronaut";
        const std::pair<const char*, input::Frame> versions[] = {{"as it is", *photo},
                                                                 {"mirrored", mirrored(*photo)},
                                                                 {"halved", scaled(*photo, 0.5)},
                                                                 {"1.5 times", scaled(*photo, 1.5)},
                                                                 {"half as bright", darkened(*photo)}};
        for (const auto& [version, frame] : versions) {
            const auto found = finder->find(context, frame);
            ASSERT_EQ(found.size(), face ? 1u : 0u) << name << " " << version;
            if (!face) continue;
            // Eileen Collins' face in the photo of 512 x 512: about x 175 to 275, y 60 to 190.
            const double unit = frame.width / 512.0;
            const bool flipped = std::string(version) == "mirrored";
            const double middle = (found[0].x0 + found[0].x1) / 2 / unit;
            EXPECT_NEAR(flipped ? 512 - middle : middle, 225, 20) << version;
            EXPECT_NEAR((found[0].y0 + found[0].y1) / 2 / unit, 120, 25) << version;
            ASSERT_EQ(found[0].points.size(), 5u);
            EXPECT_LT(found[0].points[0].first, found[0].points[1].first) << version;
            EXPECT_LT(found[0].points[0].second, found[0].points[3].second) << version;
        }
    }
}

TEST(Faces, TheSameAgainAndOnTinyPictures) {
    Context context;
    const auto finder = bundled_finder();
    const input::FramePtr photo = input::read_picture(assets + "photos/astronaut.jpg");
    const auto first = finder->find(context, *photo), second = finder->find(context, *photo);
    ASSERT_EQ(first.size(), second.size());
    EXPECT_EQ(first[0].x0, second[0].x0);
    EXPECT_EQ(first[0].score, second[0].score);
    for (const char* tiny : {"checker:1x1", "checker:11x11", "noise:12x300", "noise:300x13"})
        EXPECT_NO_THROW(finder->find(context, *input::make_pattern(tiny))) << tiny;
}

TEST(Faces, OtherModelsHaveNoFinder) {
    std::string message;
    EXPECT_EQ(FaceFinder::for_model(network::Model::load(assets + "models/face-landmarks.onnx"), message),
              nullptr);
    EXPECT_EQ(FaceFinder::for_model(network::Model::load(assets + "models/efficientnet-lite0.onnx"), message),
              nullptr);
    EXPECT_EQ(message, "");
    EXPECT_THROW(FaceFinder(network::Model::load(assets + "models/face-finder.onnx"),
                            network::Model::load(assets + "models/upscale2x-photo.onnx")),
                 Error);
}

FoundBox box(double x0, double y0, double x1, double y1, double score) {
    FoundBox b;
    b.x0 = x0;
    b.y0 = y0;
    b.x1 = x1;
    b.y1 = y1;
    b.score = score;
    return b;
}

TEST(SuppressOverlaps, BetterOneStays) {
    // b overlaps a by 30 of its own 100 squares and of the 270 of both; c lies inside a; d touches only.
    const auto a = box(0, 0, 20, 10, 0.8), b = box(17, 0, 27, 10, 0.9), c = box(5, 2, 8, 5, 0.7),
               d = box(0, 10, 5, 20, 0.6);
    const auto scores = [](const std::vector<FoundBox>& boxes) {
        std::vector<double> s;
        for (const FoundBox& x : boxes) s.push_back(x.score);
        return s;
    };
    EXPECT_EQ(scores(suppress_overlaps({a, b, c, d}, 0.29, true)), (std::vector<double>{0.9, 0.7, 0.6}));
    EXPECT_EQ(scores(suppress_overlaps({a, b, c, d}, 0.31, true)), (std::vector<double>{0.9, 0.8, 0.6}));
    EXPECT_EQ(scores(suppress_overlaps({a, b, c, d}, 0.29, false)),
              (std::vector<double>{0.9, 0.8, 0.7, 0.6}));
    EXPECT_TRUE(suppress_overlaps({}, 0.3).empty());
}

}  // namespace
}  // namespace convlens

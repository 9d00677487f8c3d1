#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "app/ui/picture_scale.h"

namespace convlens::ui {
namespace {

std::vector<std::uint8_t> noise(int w, int h) {
    std::mt19937 random(static_cast<unsigned>(w * 1000 + h));
    std::vector<std::uint8_t> rgb(static_cast<std::size_t>(w) * static_cast<std::size_t>(h) * 3);
    for (auto& value : rgb) value = static_cast<std::uint8_t>(random());
    return rgb;
}

// Mean of the covered area in double precision, one pixel at a time.
double area_mean(const std::vector<std::uint8_t>& rgb, int w, int h, int nw, int nh, int x, int y, int c) {
    const double x0 = static_cast<double>(x) * w / nw, x1 = static_cast<double>(x + 1) * w / nw;
    const double y0 = static_cast<double>(y) * h / nh, y1 = static_cast<double>(y + 1) * h / nh;
    double sum = 0;
    for (int j = 0; j < h; ++j)
        for (int i = 0; i < w; ++i) {
            const double cover = std::max(0.0, std::min<double>(x1, i + 1) - std::max<double>(x0, i)) *
                                 std::max(0.0, std::min<double>(y1, j + 1) - std::max<double>(y0, j));
            sum += cover * rgb[static_cast<std::size_t>((j * w + i) * 3 + c)];
        }
    return sum / ((x1 - x0) * (y1 - y0));
}

TEST(ScalePicture, SmallerIsTheMeanOfTheArea) {
    const std::tuple<int, int, int, int> sizes[] = {
        {17, 11, 5, 4}, {40, 31, 13, 31}, {9, 20, 9, 7}, {64, 3, 1, 1}};
    for (const auto& [w, h, nw, nh] : sizes) {
        const auto rgb = noise(w, h);
        const auto out = scale_picture(rgb.data(), w, h, nw, nh);
        ASSERT_EQ(out.size(), static_cast<std::size_t>(nw * nh * 3));
        for (int y = 0; y < nh; ++y)
            for (int x = 0; x < nw; ++x)
                for (int c = 0; c < 3; ++c)
                    ASSERT_NEAR(out[static_cast<std::size_t>((y * nw + x) * 3 + c)],
                                area_mean(rgb, w, h, nw, nh, x, y, c), 0.6);
    }
}

TEST(ScalePicture, SameSizeIsTheSameAndFlatStaysFlat) {
    const auto rgb = noise(13, 7);
    EXPECT_EQ(scale_picture(rgb.data(), 13, 7, 13, 7), rgb);
    const std::vector<std::uint8_t> flat(5 * 3 * 3, 200);
    for (const auto& [nw, nh] : {std::pair{1, 1}, {40, 2}, {5, 90}, {64, 64}})
        for (const std::uint8_t value : scale_picture(flat.data(), 5, 3, nw, nh)) ASSERT_EQ(value, 200);
}

TEST(ScalePicture, LargerRisesEvenlyBetweenPixels) {
    const std::uint8_t two[] = {0, 0, 0, 240, 240, 240};
    const auto out = scale_picture(two, 2, 1, 16, 1);
    for (int x = 1; x < 16; ++x)
        EXPECT_GE(out[static_cast<std::size_t>(x * 3)], out[static_cast<std::size_t>(x * 3 - 3)]);
    EXPECT_EQ(out[0], 0);
    EXPECT_EQ(out[45], 240);
}

}  // namespace
}  // namespace convlens::ui

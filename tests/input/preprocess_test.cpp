// The resize against Pillow's numbers, and a frame on its way to a network's input.
#include <gtest/gtest.h>

#include <cmath>

#include "app/input/preprocess.h"
#include "app/input/resize.h"
#include "app/input/source.h"
#include "convlens/error.h"

namespace convlens {
namespace {

using namespace input;

FramePtr noise(int width, int height, int seed) {
    return make_pattern("noise:" + std::to_string(width) + "x" + std::to_string(height) +
                        ":seed=" + std::to_string(seed));
}

struct PillowCase {
    int width, height, seed, out_width, out_height;
    Box box;
    std::vector<float> values;
};

// Image.fromarray(plane, 'F').resize(size, Image.BILINEAR, box=box) of Pillow, on planes of pattern:noise.
const std::vector<PillowCase>& pillow_cases() {
    static const std::vector<PillowCase> cases = {
        {7, 5, 3, 3, 4, {0, 0, 7, 5}, {59.000f,  150.482f, 136.071f, 145.059f, 157.029f, 142.309f,
                                       130.643f, 106.804f, 118.536f, 158.560f, 189.839f, 80.018f,
                                       150.137f, 142.745f, 101.593f, 131.530f, 109.024f, 111.554f,
                                       134.476f, 169.673f, 96.518f,  122.789f, 118.485f, 90.270f,
                                       97.863f,  127.649f, 123.512f, 193.107f, 172.696f, 60.964f,
                                       181.250f, 105.471f, 153.074f, 147.714f, 126.893f, 112.143f}},
        {3, 2, 4, 5, 3, {0, 0, 3, 2}, {110.000f, 228.000f, 219.000f, 116.000f, 177.200f, 191.400f, 125.000f,
                                       101.000f, 150.000f, 191.000f, 108.800f, 87.600f,  235.000f, 114.000f,
                                       46.000f,  123.500f, 215.500f, 198.500f, 126.900f, 184.300f, 192.500f,
                                       132.000f, 137.500f, 183.500f, 184.200f, 135.700f, 100.100f, 219.000f,
                                       134.500f, 44.500f,  137.000f, 203.000f, 178.000f, 137.800f, 191.400f,
                                       193.600f, 139.000f, 174.000f, 217.000f, 177.400f, 162.600f, 112.600f,
                                       203.000f, 155.000f, 43.000f}},
        {13, 9, 5, 4, 3, {1.5, 0.25, 11.75, 8.5}, {150.971f, 84.688f,  151.792f, 156.267f, 134.548f,
                                                   132.625f, 144.149f, 128.029f, 141.772f, 105.756f,
                                                   104.614f, 153.807f, 161.655f, 102.916f, 135.257f,
                                                   173.408f, 128.346f, 119.531f, 188.282f, 143.256f,
                                                   128.454f, 136.868f, 107.048f, 146.140f, 150.351f,
                                                   139.143f, 154.286f, 143.369f, 100.192f, 130.232f,
                                                   138.867f, 112.559f, 124.133f, 138.640f, 99.753f,
                                                   125.662f}},

    };
    return cases;
}

TEST(Resize, AgreesWithPillow) {
    for (const PillowCase& c : pillow_cases()) {
        const FloatPicture got = resize(*noise(c.width, c.height, c.seed), c.box, c.out_width, c.out_height,
                                        {0, 0, c.out_width, c.out_height});
        ASSERT_EQ(got.rgb.size(), c.values.size());
        for (std::size_t i = 0; i < c.values.size(); ++i) EXPECT_NEAR(got.rgb[i], c.values[i], 1e-3) << i;
    }
}

TEST(Resize, SameSizeIsTheSamePicture) {
    const FramePtr frame = noise(6, 4, 6);
    const FloatPicture got = resize(*frame, 6, 4);
    for (std::size_t i = 0; i < frame->rgb.size(); ++i)
        EXPECT_EQ(got.rgb[i], static_cast<float>(frame->rgb[i]));
}

TEST(Resize, FlatStaysFlatAndMeanStays) {
    Frame flat{50, 31, std::vector<std::uint8_t>(50 * 31 * 3, 173), "flat"};
    for (const auto& [w, h] : {std::pair{7, 5}, {50, 5}, {123, 77}, {1, 1}})
        for (const float value : resize(flat, w, h).rgb) EXPECT_NEAR(value, 173, 1e-3);
}

TEST(Resize, WindowIsAPartOfTheWhole) {
    const FramePtr frame = noise(37, 23, 9);
    const FloatPicture whole = resize(*frame, 19, 14);
    const OutputWindow window{4, 3, 9, 7};
    const FloatPicture part = resize(*frame, {0, 0, 37, 23}, 19, 14, window);
    for (int y = 0; y < window.height; ++y)
        for (int x = 0; x < window.width; ++x)
            for (int c = 0; c < 3; ++c)
                EXPECT_EQ(part.rgb[static_cast<std::size_t>((y * window.width + x) * 3 + c)],
                          whole.rgb[static_cast<std::size_t>(((y + window.y) * 19 + x + window.x) * 3 + c)]);
}

TEST(Resize, BoxBeyondTheFrameRepeatsTheEdge) {
    Frame frame{2, 1, {10, 10, 10, 200, 200, 200}, "two"};
    const FloatPicture got = resize(frame, {-2, 0, 4, 1}, 6, 1, {0, 0, 6, 1});
    const float expected[] = {10, 10, 10, 200, 200, 200};
    for (int x = 0; x < 6; ++x) EXPECT_EQ(got.rgb[static_cast<std::size_t>(3 * x)], expected[x]) << x;
    EXPECT_THROW(resize(frame, {2, 0, 4, 1}, 2, 1, {0, 0, 2, 1}), Error);
    EXPECT_THROW(resize(frame, {1, 0, 1, 1}, 2, 1, {0, 0, 2, 1}), Error);
    EXPECT_THROW(resize(frame, {0, 0, 2, 1}, 2, 1, {0, 0, 3, 1}), Error);
}

TEST(Preprocess, ShorterThenCrop) {
    const Preprocessing p =
        parse_preprocessing({{"convlens.input.resize", "shorter=20 crop=16x12 filter=triangle"},
                             {"convlens.input.color", "rgb"},
                             {"convlens.input.mean", "1,2,3"},
                             {"convlens.input.scale", "0.5,0.25,2"}});
    EXPECT_TRUE(p.stated);
    const FramePtr frame = noise(67, 40, 2);  // resized to 33.5 -> 34 x 20 (rounded to nearest)
    const NetworkInput got = preprocess(*frame, p, {-1, 3, 12, 16});
    EXPECT_EQ(got.dims, (Dims{1, 3, 12, 16}));
    const FloatPicture whole = resize(*frame, 34, 20);
    for (int c = 0; c < 3; ++c)
        for (int y = 0; y < 12; ++y)
            for (int x = 0; x < 16; ++x) {
                const float pixel = whole.rgb[static_cast<std::size_t>(((y + 4) * 34 + x + 9) * 3 + c)];
                EXPECT_EQ(got.nchw[static_cast<std::size_t>((c * 12 + y) * 16 + x)],
                          (pixel - p.mean[c]) * p.scale[c]);
            }
    EXPECT_NEAR(got.seen.x0, 9 * 67.0 / 34, 1e-9);
    EXPECT_NEAR(got.seen.y1, 16 * 40.0 / 20, 1e-9);
    EXPECT_NEAR(got.scale, 34.0 / 67, 1e-9);
    EXPECT_THROW(preprocess(*frame, p, {1, 3, 12, 17}), Error);
}

TEST(Preprocess, PlanesInBlueGreenRedOrder) {
    Preprocessing p = parse_preprocessing({{"convlens.input.resize", "stretch=5x3"},
                                           {"convlens.input.color", "bgr"},
                                           {"convlens.input.mean", "10,20,30"},
                                           {"convlens.input.scale", "1,1,1"}});
    const FramePtr frame = noise(5, 3, 8);
    const NetworkInput got = preprocess(*frame, p, {1, 3, -1, -1});
    for (std::size_t i = 0; i < 15; ++i)
        for (std::size_t c = 0; c < 3; ++c)
            EXPECT_EQ(got.nchw[c * 15 + i],
                      static_cast<float>(frame->rgb[3 * i + 2 - c]) - 10.0f * static_cast<float>(c + 1));
}

TEST(Preprocess, EdgePadRepeatsOutermostPixels) {
    const Preprocessing p = parse_preprocessing({{"convlens.input.resize", "none"},
                                                 {"convlens.input.pad", "edge=3"},
                                                 {"convlens.input.mean", "0,0,0"},
                                                 {"convlens.input.scale", "1,1,1"}});
    const FramePtr frame = noise(5, 4, 11);
    const NetworkInput got = preprocess(*frame, p, {1, 3, -1, -1});
    EXPECT_EQ(got.dims, (Dims{1, 3, 10, 11}));
    for (int c = 0; c < 3; ++c)
        for (int y = 0; y < 10; ++y)
            for (int x = 0; x < 11; ++x) {
                const int sx = std::clamp(x - 3, 0, 4), sy = std::clamp(y - 3, 0, 3);
                EXPECT_EQ(got.nchw[static_cast<std::size_t>((c * 10 + y) * 11 + x)],
                          frame->rgb[static_cast<std::size_t>((sy * 5 + sx) * 3 + c)]);
            }
    EXPECT_EQ(got.seen.x1, 5);
    // A fixed size must be met, the pad included.
    EXPECT_NO_THROW(preprocess(*frame, p, {1, 3, 10, 11}));
    EXPECT_THROW(preprocess(*frame, p, {1, 3, 10, 12}), Error);
}

TEST(Preprocess, SideLimitBringsTheLongerSideDown) {
    const Preprocessing p = parse_preprocessing({{"convlens.input.resize", "none"}});
    EXPECT_EQ(preprocess(*noise(451, 300, 1), p, {1, 3, -1, -1}, 96).dims, (Dims{1, 3, 64, 96}));
    EXPECT_EQ(preprocess(*noise(30, 90, 1), p, {1, 3, -1, -1}, 96).dims, (Dims{1, 3, 90, 30}));
    EXPECT_EQ(default_side_limit({{"convlens.output", "picture:upscaled"}}), 96);
    EXPECT_EQ(default_side_limit({{"convlens.output", "heatmap:face:1"}}), 0);
    EXPECT_EQ(default_side_limit({}), 0);
}

TEST(Preprocess, PyramidScaleFollowsTheSmallestFace) {
    const Preprocessing p =
        parse_preprocessing({{"convlens.input.resize", "pyramid=0.709 smallest=12 filter=triangle"}});
    EXPECT_EQ(preprocess(*noise(200, 100, 1), p, {1, 3, -1, -1}, 0, 24).dims, (Dims{1, 3, 50, 100}));
    // Never smaller than the window, also for tiny pictures and faces larger than the picture.
    EXPECT_EQ(preprocess(*noise(200, 100, 1), p, {1, 3, -1, -1}, 0, 1000).dims, (Dims{1, 3, 12, 24}));
    EXPECT_EQ(preprocess(*noise(3, 4, 1), p, {1, 3, -1, -1}).dims, (Dims{1, 3, 16, 12}));
    EXPECT_EQ(preprocess(*noise(200, 100, 1), p, {1, 3, -1, -1}, 80, 12).dims, (Dims{1, 3, 40, 80}));
}

TEST(Preprocess, DefaultsWithoutMetadata) {
    const Preprocessing p = parse_preprocessing({{"license", "x"}});
    EXPECT_FALSE(p.stated);
    const FramePtr frame = noise(9, 6, 4);
    const NetworkInput got = preprocess(*frame, p, {1, 3, 6, 9});
    for (std::size_t i = 0; i < 54; ++i)
        for (std::size_t c = 0; c < 3; ++c)
            EXPECT_NEAR(got.nchw[c * 54 + i], static_cast<double>(frame->rgb[3 * i + c]) / 255, 1e-6);
    const NetworkInput grey = preprocess(*frame, p, {1, 1, 6, 9});
    EXPECT_EQ(grey.dims, (Dims{1, 1, 6, 9}));
    EXPECT_NEAR(grey.nchw[7],
                (0.299 * frame->rgb[21] + 0.587 * frame->rgb[22] + 0.114 * frame->rgb[23]) / 255, 1e-5);
}

TEST(PreprocessErrors, KeyAndValueAreNamed) {
    const std::pair<const char*, const char*> wrong[] = {{"mean", "1,2"},
                                                         {"mean", "1,2,x"},
                                                         {"scale", ""},
                                                         {"scale", "1,2,3,4"},
                                                         {"scale", "nan,1,1"},
                                                         {"color", "yuv"},
                                                         {"resize", ""},
                                                         {"resize", "shorter"},
                                                         {"resize", "shorter=0"},
                                                         {"resize", "stretch=5"},
                                                         {"resize", "none x"},
                                                         {"resize", "crop=3x3"},
                                                         {"pad", "7"},
                                                         {"pad", "edge=-1"},
                                                         {"pad", "edge=1.5"},
                                                         {"resize", "none filter=cubic"},
                                                         {"resize", "shorter=8 crop=9x9"},
                                                         {"resize", "pyramid=1.5"},
                                                         {"resize", "none stretch=4x4"},
                                                         {"resize", "stretch=99999999999x3"},
                                                         {"pad", "edge=99999999"}};
    for (const auto& [key, value] : wrong) {
        try {
            parse_preprocessing({{std::string("convlens.input.") + key, value}});
            ADD_FAILURE() << key << " = " << value;
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::bad_parameter);
            EXPECT_NE(std::string(error.what()).find(std::string("convlens.input.") + key + " = '" + value),
                      std::string::npos);
        }
    }
}

TEST(PreprocessErrors, NarrowPicturesDoNotGrowWithoutEnd) {
    for (const char* resize : {"shorter=256", "pyramid=0.7 smallest=12"}) {
        const auto p = parse_preprocessing({{"convlens.input.resize", resize}});
        for (const auto& [width, height] : {std::pair(4096, 2), std::pair(2, 4096), std::pair(4096, 1)}) {
            try {
                (void)preprocess(*noise(width, height, 1), p, {1, 3, -1, -1});
                FAIL() << resize << " of " << width << "x" << height;
            } catch (const Error& error) {
                EXPECT_EQ(error.status(), Status::bad_parameter);
                EXPECT_NE(std::string(error.what()).find("too narrow"), std::string::npos) << error.what();
            }
        }
    }
    EXPECT_THROW(parse_preprocessing({{"convlens.input.resize", "pyramid=0.99999"}}), Error);
}

TEST(PreprocessErrors, NotAPicture) {
    for (const Dims& dims : {Dims{1, 3, 8}, Dims{1, 2, 8, 8}, Dims{}, Dims{1, 3, 0, 8}, Dims{1, 3, 4, 8, 8}})
        EXPECT_THROW(preprocess(*noise(4, 4, 1), {}, dims), Error) << dims.text();
}

}  // namespace
}  // namespace convlens

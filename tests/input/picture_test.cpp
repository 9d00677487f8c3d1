// Every format that a picture may come in, and every way in which a file may be wrong.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>

#include "app/input/decode.h"
#include "app/input/source.h"
#include "app/input/write_picture.h"
#include "convlens/error.h"
#include "tests/input/encode.h"

namespace convlens {
namespace {

using namespace test;
using input::FramePtr;
using input::read_picture;

int at(const FramePtr& frame, int x, int y, int c) {
    return frame->rgb[(static_cast<std::size_t>(y) * frame->width + x) * 3 + c];
}

// Largest difference from expected(x, y, c) over the whole picture.
template <class Expected>
int worst(const FramePtr& frame, const Expected& expected) {
    int most = 0;
    for (int y = 0; y < frame->height; ++y)
        for (int x = 0; x < frame->width; ++x)
            for (int c = 0; c < 3; ++c)
                most = std::max(most, std::abs(at(frame, x, y, c) - expected(x, y, c)));
    return most;
}

// The sentence of the refusal; it must name the file and fit on one line.
std::string refusal(const std::string& path) {
    try {
        read_picture(path);
    } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_EQ(error.status(), Status::bad_parameter) << text;
        EXPECT_NE(text.find(path), std::string::npos) << text;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
        EXPECT_NE(text.find(": "), std::string::npos) << "no remedy: " << text;
        return text;
    }
    ADD_FAILURE() << path << " was read";
    return {};
}

TEST(Picture, LosslessFormats) {
    const ScratchFolder folder;
    const int w = 7, h = 5;
    const Bytes rgb = raster(w, h, 3);
    std::string ppm = "P6\n# a comment\n7 5\n255\n" + text_of(rgb), text = "P3 7 5 255";
    for (const std::uint8_t value : rgb) text += " " + std::to_string(value);
    const std::string files[] = {folder.write("a.png", encode_png(w, h, 2, 8, rgb)),
                                 folder.write("b.bmp", encode_bmp(w, h, rgb)),
                                 folder.write("c.tga", encode_tga(w, h, rgb, true)),
                                 folder.write("d.tga", encode_tga(w, h, rgb, false)),
                                 folder.write("e.ppm", ppm),
                                 folder.write("f.ppm", text)};
    for (const std::string& file : files) {
        const FramePtr frame = read_picture(file);
        ASSERT_EQ(frame->width, w) << file;
        ASSERT_EQ(frame->height, h) << file;
        EXPECT_EQ(worst(frame, [](int x, int y, int c) { return sample(x, y, c); }), 0) << file;
        EXPECT_EQ("/" + frame->name, file.substr(file.rfind('/')));
    }
}

TEST(Picture, WrittenPngComesBack) {
    const ScratchFolder folder;
    const Bytes rgb = raster(9, 4, 3);
    input::write_png(folder.path("out.png"), 9, 4, rgb);
    EXPECT_EQ(read_picture(folder.path("out.png"))->rgb, rgb);
    EXPECT_THROW(input::write_png(folder.path("no.png"), 9, 5, rgb), Error);
    EXPECT_THROW(input::write_png(folder.path("missing/no.png"), 9, 4, rgb), Error);
}

TEST(Picture, GreyBecomesThreeEqualPlanes) {
    const ScratchFolder folder;
    const Bytes grey = raster(6, 3, 1);
    for (const std::string& file : {folder.write("g.png", encode_png(6, 3, 0, 8, grey)),
                                    folder.write("g.pgm", "P5 6 3 255\n" + text_of(grey))})
        EXPECT_EQ(worst(read_picture(file), [](int x, int y, int) { return sample(x, y, 0); }), 0) << file;
}

TEST(Picture, SixteenBitsAreRounded) {
    const ScratchFolder folder;
    Bytes samples;
    const auto value = [](int x, int y, int c) { return 1000 * x + 7001 * y + 20011 * c + 77; };
    for (int y = 0; y < 3; ++y)
        for (int x = 0; x < 4; ++x)
            for (int c = 0; c < 3; ++c) {
                samples.push_back(static_cast<std::uint8_t>(value(x, y, c) >> 8));
                samples.push_back(static_cast<std::uint8_t>(value(x, y, c)));
            }
    const auto expected = [&](int x, int y, int c) {
        return static_cast<int>(std::lround(value(x, y, c) / 257.0));
    };
    EXPECT_EQ(worst(read_picture(folder.write("d.png", encode_png(4, 3, 2, 16, samples))), expected), 0);
    EXPECT_EQ(worst(read_picture(folder.write("d.ppm", "P6 4 3 65535\n" + text_of(samples))), expected), 0);
}

TEST(Picture, SmallMaximumIsStretched) {
    const ScratchFolder folder;
    const FramePtr frame = read_picture(folder.write("m.pgm", std::string("P2 3 1 7 0 3 7")));
    EXPECT_EQ(at(frame, 0, 0, 0), 0);
    EXPECT_EQ(at(frame, 1, 0, 1), 109);
    EXPECT_EQ(at(frame, 2, 0, 2), 255);
}

TEST(Picture, AlphaLiesOverWhite) {
    const ScratchFolder folder;
    Bytes rgba;
    const auto alpha = [](int x, int y) { return 255 - 60 * x - 30 * y; };
    for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 4; ++x) {
            for (int c = 0; c < 3; ++c) rgba.push_back(sample(x, y, c));
            rgba.push_back(static_cast<std::uint8_t>(alpha(x, y)));
        }
    const auto over = [&](int x, int y, int c) {
        const double a = alpha(x, y) / 255.0;
        return static_cast<int>(std::floor(a * sample(x, y, c) + (1 - a) * 255 + 0.5));
    };
    EXPECT_EQ(worst(read_picture(folder.write("a.png", encode_png(4, 2, 6, 8, rgba))), over), 0);
    const Bytes grey_alpha = {40, 255, 40, 0, 40, 51};
    const FramePtr frame = read_picture(folder.write("ga.png", encode_png(3, 1, 4, 8, grey_alpha)));
    EXPECT_EQ(at(frame, 0, 0, 0), 40);
    EXPECT_EQ(at(frame, 1, 0, 1), 255);
    EXPECT_EQ(at(frame, 2, 0, 2), 212);
}

TEST(Picture, GifFirstPictureAndTransparency) {
    const ScratchFolder folder;
    Bytes palette;
    for (int i = 0; i < 24; ++i) palette.push_back(static_cast<std::uint8_t>(10 * i + 5));
    for (const int transparent : {-1, 3}) {
        const FramePtr frame = read_picture(folder.write("g.gif", encode_gif(11, 6, palette, transparent)));
        ASSERT_EQ(frame->width, 11);
        ASSERT_EQ(frame->height, 6);
        EXPECT_EQ(worst(frame,
                        [&](int x, int y, int c) {
                            const int index = (x + y) % 8;
                            return index == transparent ? 255 : 10 * (3 * index + c) + 5;
                        }),
                  0);
    }
}

TEST(Picture, JpegGreyColorAndProgressive) {
    const ScratchFolder folder;
    const int w = 8, h = 16;
    Bytes flat(static_cast<std::size_t>(w * h * 3));
    for (std::size_t i = 0; i < flat.size(); ++i) flat[i] = static_cast<std::uint8_t>(40 + 70 * (i % 3));
    for (const bool progressive : {false, true}) {
        JpegOptions options;
        options.progressive = progressive;
        EXPECT_LE(worst(read_picture(folder.write("c.jpg", encode_jpeg(w, h, flat, options))),
                        [](int, int, int c) { return 40 + 70 * c; }),
                  2);
    }
    JpegOptions grey;
    grey.channels = 1;
    EXPECT_LE(worst(read_picture(folder.write(
                        "g.jpg", encode_jpeg(w, h, Bytes(static_cast<std::size_t>(w * h), 91), grey))),
                    [](int, int, int) { return 91; }),
              1);
}

TEST(Picture, JpegCmyk) {
    const ScratchFolder folder;
    const int w = 8, h = 8;
    Bytes ink;  // as Adobe stores it: 255 is no ink
    for (int i = 0; i < w * h; ++i) ink.insert(ink.end(), {230, 128, 20, 200});
    JpegOptions options;
    options.channels = 4;
    const FramePtr frame = read_picture(folder.write("k.jpg", encode_jpeg(w, h, ink, options)));
    const int expected[] = {180, 100, 16};
    EXPECT_LE(worst(frame, [&](int, int, int c) { return expected[c]; }), 2);
}

// Dark where the stored picture's first row and first column cross, so that every turn puts it elsewhere.
TEST(Picture, JpegOrientationAllEight) {
    const ScratchFolder folder;
    const int w = 24, h = 16;
    Bytes rgb;
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            const std::uint8_t grey =
                static_cast<std::uint8_t>(y < 8 ? (x < 8 ? 30 : 110) : (x < 8 ? 170 : 240));
            rgb.insert(rgb.end(), 3, grey);
        }
    // Corners of the upright picture: top left, top right, bottom left, bottom right.
    const int corners[9][4] = {{},
                               {30, 110, 170, 240},
                               {110, 30, 240, 170},
                               {240, 170, 110, 30},
                               {170, 240, 30, 110},
                               {30, 170, 110, 240},
                               {170, 30, 240, 110},
                               {240, 110, 170, 30},
                               {110, 240, 30, 170}};
    for (const bool little : {true, false}) {
        for (int orientation = 1; orientation <= 8; ++orientation) {
            JpegOptions options;
            options.app1 = exif_block(orientation, little);
            const FramePtr frame = read_picture(folder.write("o.jpg", encode_jpeg(w, h, rgb, options)));
            ASSERT_EQ(frame->width, orientation < 5 ? w : h) << orientation;
            ASSERT_EQ(frame->height, orientation < 5 ? h : w) << orientation;
            const int right = frame->width - 1, bottom = frame->height - 1;
            EXPECT_NEAR(at(frame, 0, 0, 0), corners[orientation][0], 3) << orientation;
            EXPECT_NEAR(at(frame, right, 0, 0), corners[orientation][1], 3) << orientation;
            EXPECT_NEAR(at(frame, 0, bottom, 0), corners[orientation][2], 3) << orientation;
            EXPECT_NEAR(at(frame, right, bottom, 0), corners[orientation][3], 3) << orientation;
        }
    }
}

TEST(Picture, MalformedExifIsNoOrientation) {
    const Bytes whole = exif_block(6, true);
    const std::span<const std::uint8_t> tiff(whole.data() + 6, whole.size() - 6);
    EXPECT_EQ(input::exif_orientation(tiff), 6);
    for (std::size_t size = 0; size < tiff.size() - 4; ++size)
        EXPECT_EQ(input::exif_orientation(tiff.first(size)), size >= 34 ? 6 : 1) << size;
    EXPECT_EQ(input::exif_orientation({whole.data() + 6, 8}), 1);
    for (const int value : {0, 9, 200}) {
        const Bytes block = exif_block(value, false);
        EXPECT_EQ(input::exif_orientation({block.data() + 6, block.size() - 6}), 1);
    }
    Bytes far(whole.begin() + 6, whole.end());
    far[4] = far[5] = far[6] = far[7] = 0xFF;
    EXPECT_EQ(input::exif_orientation(far), 1);
}

TEST(PictureErrors, EachNamesFileAndRemedy) {
    const ScratchFolder folder;
    EXPECT_NE(refusal(folder.path("none.jpg")).find("does not exist"), std::string::npos);
    EXPECT_NE(refusal(folder.path("none/none.jpg")).find("does not exist"), std::string::npos);
    EXPECT_NE(refusal(folder.write("empty.png", Bytes{})).find("is empty"), std::string::npos);
    EXPECT_NE(refusal(folder.folder()).find("is a folder"), std::string::npos);
    EXPECT_NE(refusal("/dev/null").find("not a regular file"), std::string::npos);
    EXPECT_NE(refusal(folder.write("text.jpg", std::string("hello, I am no picture at all, but a text")))
                  .find("not a picture"),
              std::string::npos);
    EXPECT_NE(refusal(folder.write("w.png", std::string("RIFF\x20\0\0\0WEBPVP8 ", 16))).find("WebP"),
              std::string::npos);
    EXPECT_NE(refusal(folder.write("v.png", std::string("\0\0\0\x20"
                                                        "ftypisom",
                                                        12)))
                  .find("video"),
              std::string::npos);
    ASSERT_EQ(::mkfifo(folder.path("pipe.jpg").c_str(), 0600), 0);
    EXPECT_NE(refusal(folder.path("pipe.jpg")).find("not a regular file"), std::string::npos);
    if (::geteuid() != 0) {
        const std::string locked = folder.write("locked.png", encode_png(2, 2, 2, 8, raster(2, 2, 3)));
        ::chmod(locked.c_str(), 0);
        EXPECT_NE(refusal(locked).find("permission"), std::string::npos);
    }
}

TEST(PictureErrors, SignatureDecidesNotTheName) {
    const ScratchFolder folder;
    const Bytes rgb = raster(4, 4, 3);
    EXPECT_EQ(read_picture(folder.write("really-png.jpg", encode_png(4, 4, 2, 8, rgb)))->rgb, rgb);
    EXPECT_EQ(read_picture(folder.write("really-jpeg.png", encode_jpeg(4, 4, rgb)))->width, 4);
}

TEST(PictureErrors, HugeClaimsAreRefusedBeforeMemory) {
    const ScratchFolder folder;
    EXPECT_NE(refusal(folder.write("h.png", png_header_only(100000, 100000))).find("100000x100000"),
              std::string::npos);
    EXPECT_NE(refusal(folder.write("h2.png", png_header_only(0x7FFFFFFF, 0x7FFFFFFF))).find("limit"),
              std::string::npos);
    EXPECT_NE(refusal(folder.write("h3.png", png_header_only(16000, 16000))).find("megapixels"),
              std::string::npos);
    EXPECT_NE(refusal(folder.write("h.ppm", std::string("P6 100000 100000 255\nabc"))).find("100000x100000"),
              std::string::npos);
    EXPECT_NE(refusal(folder.write("h4.ppm", std::string("P6 9999 9999 255\nabc"))).find("ends too early"),
              std::string::npos);
    Bytes jpeg = encode_jpeg(8, 8, raster(8, 8, 3));
    for (std::size_t i = 0; i + 8 < jpeg.size(); ++i)
        if (jpeg[i] == 0xFF && jpeg[i + 1] == 0xC0)
            jpeg[i + 5] = jpeg[i + 6] = jpeg[i + 7] = jpeg[i + 8] = 0xFF;
    EXPECT_NE(refusal(folder.write("h.jpg", jpeg)).find("JPEG"), std::string::npos);
    Bytes bmp = encode_bmp(8, 8, raster(8, 8, 3));
    bmp[20] = bmp[24] = 1;  // 65544 a side
    EXPECT_NE(refusal(folder.write("h.bmp", bmp)).find("65544x65544"), std::string::npos);
}

TEST(PictureErrors, CutFilesAreBroken) {
    const ScratchFolder folder;
    const int w = 40, h = 30;
    const Bytes rgb = raster(w, h, 3);
    Bytes palette(24, 77);
    const std::vector<std::pair<std::string, Bytes>> whole = {
        {"c.jpg", encode_jpeg(w, h, rgb)},      {"c.png", encode_png(w, h, 2, 8, rgb)},
        {"c.bmp", encode_bmp(w, h, rgb)},       {"c.tga", encode_tga(w, h, rgb, false)},
        {"r.tga", encode_tga(w, h, rgb, true)}, {"c.gif", encode_gif(w, h, palette, -1)}};
    for (const auto& [name, bytes] : whole) {
        EXPECT_NO_THROW(read_picture(folder.write(name, bytes))) << name;
        for (const double part : {0.9, 0.5, 0.25})
            refusal(folder.write(name, Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(
                                                                                part * bytes.size()))));
        for (std::size_t size = 1; size < 30; ++size)
            refusal(
                folder.write(name, Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size))));
    }
}

}  // namespace
}  // namespace convlens

// Mutated pictures: whatever a file holds, it is a picture or one refusal. Meant for the build with the
// address and undefined-behaviour sanitizers. CONVLENS_FUZZ=N makes N mutations of each format.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "app/input/decode.h"
#include "app/input/source.h"
#include "convlens/error.h"
#include "tests/input/encode.h"

namespace convlens {
namespace {

using namespace test;

struct Tally {
    int read = 0, refused = 0;
};

void feed(const ScratchFolder& folder, const std::string& name, const Bytes& bytes, Tally& tally) {
    const std::string path = folder.write(name, bytes);
    try {
        const input::FramePtr frame = input::read_picture(path);
        ASSERT_GE(frame->width, 1);
        ASSERT_GE(frame->height, 1);
        ASSERT_EQ(frame->rgb.size(),
                  static_cast<std::size_t>(frame->width) * static_cast<std::size_t>(frame->height) * 3);
        ++tally.read;
    } catch (const Error& error) {
        ASSERT_EQ(error.status(), Status::bad_parameter) << error.what();
        ++tally.refused;
    }
}

Bytes mutated(Bytes bytes, const Bytes& other, std::mt19937& random) {
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (std::size_t i = 0, changes = 1 + below(6); i < changes && !bytes.empty(); ++i) {
        const std::size_t at =
            below(3) == 0 ? below(std::min<std::size_t>(bytes.size(), 64)) : below(bytes.size());
        constexpr std::uint8_t special[] = {0, 1, 0x7F, 0x80, 0xFF};
        switch (below(6)) {
            case 0:
                bytes[at] ^= static_cast<std::uint8_t>(1u << below(8));
                break;
            case 1:
                bytes[at] = static_cast<std::uint8_t>(random());
                break;
            case 2:
                bytes[at] = special[below(5)];
                break;
            case 3:
                bytes.resize(at);
                break;
            case 4:
                bytes.erase(
                    bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), at + 1 + below(9))));
                break;
            default: {  // a piece of another file
                const std::size_t from = below(other.size()),
                                  size = std::min(1 + below(16), other.size() - from);
                bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                             other.begin() + static_cast<std::ptrdiff_t>(from),
                             other.begin() + static_cast<std::ptrdiff_t>(from + size));
            }
        }
    }
    return bytes;
}

TEST(PictureFuzz, MutationsAreReadOrRefused) {
    const char* asked = std::getenv("CONVLENS_FUZZ");
    const int rounds = asked != nullptr ? std::atoi(asked) : 400;
    const ScratchFolder folder;
    const int w = 21, h = 13;
    const Bytes rgb = raster(w, h, 3);
    JpegOptions progressive, grey, cmyk;
    progressive.progressive = true;
    progressive.app1 = exif_block(6, false);
    grey.channels = 1;
    cmyk.channels = 4;
    std::string text = "P3 7 5 255";
    for (const std::uint8_t value : raster(7, 5, 3)) text += " " + std::to_string(value);
    const std::vector<Bytes> seeds = {encode_jpeg(w, h, rgb),
                                      encode_jpeg(w, h, rgb, progressive),
                                      encode_jpeg(w, h, raster(w, h, 1), grey),
                                      encode_jpeg(w, h, raster(w, h, 4), cmyk),
                                      encode_png(w, h, 2, 8, rgb),
                                      encode_png(w, h, 6, 16, raster(w * 2, h, 4)),
                                      encode_png(w, h, 4, 8, raster(w, h, 2)),
                                      encode_bmp(w, h, rgb),
                                      encode_tga(w, h, rgb, true),
                                      encode_tga(w, h, rgb, false),
                                      encode_gif(w, h, Bytes(24, 99), 3),
                                      Bytes(text.begin(), text.end())};
    std::mt19937 random(20261201);
    for (std::size_t kind = 0; kind < seeds.size(); ++kind) {
        Tally tally;
        for (int i = 0; i < rounds; ++i) {
            const Bytes& other = seeds[random() % seeds.size()];
            feed(folder, "mutated", mutated(seeds[kind], other, random), tally);
            if (HasFatalFailure()) return;
        }
        EXPECT_GT(tally.refused, 0) << kind;
        std::printf("kind %zu: %d read, %d refused\n", kind, tally.read, tally.refused);
    }
}

TEST(PictureFuzz, EveryPrefixOfEachFormat) {
    const ScratchFolder folder;
    Tally tally;
    const Bytes rgb = raster(9, 6, 3);
    for (const Bytes& whole : {encode_jpeg(9, 6, rgb), encode_png(9, 6, 2, 8, rgb), encode_bmp(9, 6, rgb),
                               encode_tga(9, 6, rgb, true), encode_gif(9, 6, Bytes(24, 99), -1)})
        for (std::size_t size = 0; size < whole.size(); ++size)
            feed(folder, "prefix", Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)),
                 tally);
    EXPECT_GT(tally.refused, tally.read);
}

TEST(PictureFuzz, ExifBlocks) {
    std::mt19937 random(7);
    for (int i = 0; i < 20000; ++i) {
        Bytes block = exif_block(1 + static_cast<int>(random() % 8), random() % 2 == 0);
        block = mutated(block, block, random);
        if (block.size() < 6) continue;
        // A copy of the exact size, so that a sanitizer sees the first byte too many.
        const Bytes tiff(block.begin() + 6, block.end());
        const int orientation = input::exif_orientation(tiff);
        ASSERT_GE(orientation, 1);
        ASSERT_LE(orientation, 8);
    }
}

}  // namespace
}  // namespace convlens

// Encoders for tests: small pictures of every kind that the readers must take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/scratch_folder.h"

namespace convlens::test {

using Bytes = std::vector<std::uint8_t>;

// A value for each place and plane, different along each axis.
inline std::uint8_t sample(int x, int y, int c) {
    return static_cast<std::uint8_t>(20 + 31 * x + 17 * y + 59 * c);
}
// width * height * channels, sample() everywhere.
Bytes raster(int width, int height, int channels);

struct JpegOptions {
    int channels = 3;  // 1 grey, 3 RGB, 4 CMYK (as Adobe writes it: inverted, with its marker)
    int quality = 100;
    bool progressive = false;
    Bytes app1;  // an APP1 segment's contents
};
Bytes encode_jpeg(int width, int height, const Bytes& pixels, const JpegOptions& options = {});
// "Exif\0\0" and a TIFF block with an orientation.
Bytes exif_block(int orientation, bool little_endian);

// color_type as in the PNG file: 0 grey, 2 RGB, 4 grey + alpha, 6 RGBA; depth 8 or 16 (samples big-endian).
// Stored, not compressed.
Bytes encode_png(int width, int height, int color_type, int depth, const Bytes& samples);
// width and height stand in the header, nothing follows.
Bytes png_header_only(std::uint32_t width, std::uint32_t height);
Bytes encode_bmp(int width, int height, const Bytes& rgb);
Bytes encode_tga(int width, int height, const Bytes& rgb, bool run_lengths);
// 8 colours: index = x + y modulo 8; transparent: the index that is left out, or -1.
Bytes encode_gif(int width, int height, const Bytes& palette8, int transparent);

std::string text_of(const Bytes& bytes);

}  // namespace convlens::test

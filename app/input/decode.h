// The decoders behind read_picture(). Inside the input room only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace convlens::input {

inline constexpr int max_side = 16384;
inline constexpr std::int64_t max_pixels = 100'000'000;

struct Pixels {
    int width = 0, height = 0;
    std::vector<std::uint8_t> rgb;
};

// Throws Error(bad_parameter) with `path` and the remedy unless 1 <= side <= max_side and within max_pixels.
void check_size(const std::string& path, std::int64_t width, std::int64_t height);
// "... is broken (reason): ..."
[[noreturn]] void refuse_broken(const std::string& path, const std::string& format,
                                const std::string& reason);

Pixels decode_jpeg(std::span<const std::uint8_t> bytes, const std::string& path);
Pixels decode_pnm(std::span<const std::uint8_t> bytes, const std::string& path);  // P2, P3, P5, P6

// The orientation tag of an EXIF block (after "Exif\0\0"): 1 to 8; 1 when it has none or is malformed.
int exif_orientation(std::span<const std::uint8_t> tiff);
// Turns and mirrors so that the picture stands upright.
Pixels oriented(Pixels pixels, int orientation);

}  // namespace convlens::input

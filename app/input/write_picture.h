// PNG output, for screenshots and dumps.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace convlens::input {

// rgb: width * height * 3 bytes, top row first. "-" is standard output. Throws Error(bad_parameter) when the
// size does not fit, Error(runtime_failure) with the reason when the file can't be written (an old one is
// then kept).
void write_png(const std::string& path, int width, int height, std::span<const std::uint8_t> rgb);

}  // namespace convlens::input

// A picture as it came in: 8-bit RGB, top row first. Immutable once shared.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace convlens::input {

struct Frame {
    int width = 0, height = 0;
    std::vector<std::uint8_t> rgb;  // width * height * 3
    std::string name;               // "chelsea.jpg", "pattern:checker"
    std::uint64_t number = 0;       // rises with each new frame of a source
    double arrived_ms = 0;          // steady clock, when the frame was there
};
using FramePtr = std::shared_ptr<const Frame>;

// The clock of Frame::arrived_ms: steady, milliseconds.
double now_ms();

}  // namespace convlens::input

// Where frames come from: a picture, a folder, a test pattern (camera, video and drawing later, behind the
// same face).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/input/frame.h"

namespace convlens::input {

// Reads a picture file by its signature: JPEG (libjpeg-turbo, EXIF orientation applied), PNG, BMP, TGA,
// PPM/PGM, GIF (first picture); 16-bit and grey become 8-bit RGB, alpha is laid over white. Throws
// Error(bad_parameter): missing, empty, not a picture, broken, larger than 16384 a side or 100 megapixels;
// the sentence names file and remedy.
FramePtr read_picture(const std::string& path);

class Source {
  public:
    virtual ~Source() = default;
    virtual FramePtr current() = 0;                 // never null
    virtual bool is_live() const { return false; }  // frames come by themselves
    // Folder: the next or previous picture (wraps around); others: false.
    virtual bool step(int /*direction*/) { return false; }
    virtual int count() const { return 1; }  // pictures in the folder
    virtual int position() const { return 0; }
    // Sentences about pictures that were skipped since the last call.
    virtual std::vector<std::string> take_messages() { return {}; }
    virtual std::string text() const = 0;  // as given to open_source, e.g. "photos/" or "pattern:checker"
};

// SRC as on the command line: a picture, a folder, `pattern:NAME`. Throws Error(bad_parameter) naming it and
// the remedy; `camera`, `draw` and video files say that this build has no module for them.
// `seed` is that of patterns which state none.
std::unique_ptr<Source> open_source(const std::string& text, std::uint64_t seed = 1);

// "impulse", "edge", "checker", "gradient", "grating", "noise". Options follow after colons, in any order:
//   WxH                 size, 1 to 4096 a side (224x224)
//   impulse  x= y=      place of the one white pixel (the middle)
//   edge     angle=     direction from dark to light in degrees, 0 is right, 90 is down (0)
//   checker  cell=      side of a square in pixels (16)
//   gradient angle=     direction from black to white (0)
//   grating  frequency= cycles per 100 pixels (5)   angle= (0)   phase= in degrees (0)
//   noise    seed= (that of --seed, 1)  uniform, every plane by itself; the same on every machine
std::vector<std::string> pattern_names();
// `text` without "pattern:". Throws Error(bad_parameter) naming the option and what is allowed.
FramePtr make_pattern(const std::string& text, std::uint64_t seed = 1);

// File names that a folder source takes for pictures: .jpg .jpeg .png .bmp .tga .ppm .pgm .pnm .gif
bool has_picture_name(const std::string& path);

}  // namespace convlens::input

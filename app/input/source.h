// Where frames come from: a picture, a folder, a test pattern (camera, video and drawing later, behind the
// same face).
#pragma once

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
    virtual std::string text() const = 0;  // as given to open_source, e.g. "photos/" or "pattern:checker"
};

// SRC as on the command line: a picture, a folder, `pattern:NAME`. Throws Error(bad_parameter) naming it and
// the remedy; `camera`, `draw` and video files say that this build has no module for them.
std::unique_ptr<Source> open_source(const std::string& text);

// "impulse", "edge", "checker", "gradient", "grating", "noise"; options after colons:
// pattern:checker:320x240:seed=7
std::vector<std::string> pattern_names();

}  // namespace convlens::input

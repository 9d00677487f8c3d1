// The one resize for networks' inputs: a triangle filter, widened by the factor when shrinking.
//
// Definition, per axis, for an output sample i of n over the source interval [a, b) of pixel edges:
//   step = (b - a) / n          source pixels per output pixel
//   width = max(step, 1)        half width of the triangle
//   centre = a + (i + 1/2) * step
//   weight of source pixel j = max(0, 1 - |j + 1/2 - centre| / width), normalised to sum 1 over the pixels
//   that exist
// Columns first, then rows, in float without rounding in between or after. It is the filter that Pillow calls
// BILINEAR, with reducing_gap None; Pillow rounds 8-bit pictures to whole numbers after each axis, so it may
// differ by up to 1 of 255.
#pragma once

#include <vector>

#include "app/input/frame.h"

namespace convlens::input {

struct Box {  // in source pixels, edges: [x0, x1) x [y0, y1)
    double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

struct FloatPicture {
    int width = 0, height = 0;
    std::vector<float> rgb;  // width * height * 3, 0 to 255
};

// The part of the result that is computed: pixels [x, x + width) x [y, y + height) of it.
struct OutputWindow {
    int x = 0, y = 0, width = 0, height = 0;
};

// `source` scaled to width x height; of that the window `wanted`. The box may reach beyond the frame as long
// as it overlaps it: pixels that don't exist have no weight, and an output pixel that sees none repeats the
// nearest. Throws Error(bad_parameter) for an empty box or window.
FloatPicture resize(const Frame& frame, const Box& source, int width, int height, const OutputWindow& wanted);
FloatPicture resize(const Frame& frame, int width, int height);

}  // namespace convlens::input

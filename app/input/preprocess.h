// From a frame to a network's input: the model's own resize, colour order, mean and scale (metadata keys
// convlens.input.*).
//
// The resize is part of the answer. Its exact definition: see resize.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/input/frame.h"
#include "convlens/tensor.h"

namespace convlens::input {

struct Preprocessing {
    enum class Resize { shorter_crop, stretch, pyramid, none };
    Resize resize = Resize::stretch;
    int shorter = 0;            // shorter_crop
    int width = 0, height = 0;  // crop or stretch size; 0: the network's input size
    double pyramid_factor = 0.709;
    int pyramid_smallest = 12;  // window of the network in pixels
    int edge_pad = 0;
    float mean[3] = {0, 0, 0};
    float scale[3] = {1.0f / 255, 1.0f / 255, 1.0f / 255};
    bool bgr = false;
    bool stated = false;  // false: the model had no metadata, these are the stated defaults
};
// Throws Error(bad_parameter) naming the key and the value.
Preprocessing parse_preprocessing(const std::map<std::string, std::string>& metadata);

// Which part of the frame the network saw, in frame pixels: x in [x0, x1).
struct SeenRegion {
    double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

struct NetworkInput {
    Dims dims;  // 1 x 3 x H x W
    std::vector<float> nchw;
    SeenRegion seen;   // without the edge pad
    double scale = 1;  // network pixels per frame pixel
};

// `wanted`: dims of the model's input, -1 where symbolic. side_limit > 0: for `none` and `pyramid`, the
// picture's longer side is first brought to at most this (keeps live speed on the processor). Pyramid: the
// scale at which a face of `smallest_face` frame pixels fills the window.
NetworkInput preprocess(const Frame& frame, const Preprocessing& preprocessing, const Dims& wanted,
                        int side_limit = 0, double smallest_face = 0);
// The default side limit by model: 96 for picture outputs on the processor (upscale), 0 otherwise, from the
// metadata.

}  // namespace convlens::input

// From a frame to a network's input: the model's own resize, colour order, mean and scale (metadata keys
// convlens.input.*).
//
// The resize is part of the answer. Its exact definition: see resize.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/input/frame.h"
#include "app/input/resize.h"
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
// Keys: assets/models/README.md. Without any: stretch to the network's size, RGB, 0 to 1. Throws
// Error(bad_parameter) naming the key and the value.
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

// `wanted`: dims of the model's input, -1 where symbolic; 3 channels, or 1 (then the brightness 0.299 R +
// 0.587 G + 0.114 B with the first mean and scale). side_limit > 0: for `none`, `pyramid`, and for `stretch`
// without any size, the picture's longer side is first brought to at most this (keeps live speed on the
// processor). Pyramid: the scale at which a face of `smallest_face` frame pixels fills the window; 0: a face
// of a fifth of the picture's shorter side. Throws Error(bad_parameter) when the input isn't a picture or
// its fixed size can't be met.
NetworkInput preprocess(const Frame& frame, const Preprocessing& preprocessing, const Dims& wanted,
                        int side_limit = 0, double smallest_face = 0);

// The side limit that a model has by default on the processor: 96 for those whose output is a picture
// (upscalers cost per pixel what classifiers cost per picture), 0 (none) otherwise.
int default_side_limit(const std::map<std::string, std::string>& metadata);

// Mean, scale, order of planes and edge pad of an already resized picture; dims 1 x 3 x H x W, or 1 x 1 x H x
// W.
NetworkInput normalise(const FloatPicture& picture, const Preprocessing& preprocessing, int channels = 3);

}  // namespace convlens::input

// A problem as one line of text (inside the library only).
#pragma once

#include <string>

#include "convlens/problem.h"

namespace convlens {

// Everything that the problem says, e.g. "convolution src f32 1x64x56x48 channels-last, weights 32x64x3x3,
// dst f32 1x32x56x48 channels-last, pads 1,1 1,1, strides 1,1, dilations 1,1, groups 1, cross_correlation,
// bias, relu". Any values, well formed or not.
std::string to_text(const Problem& problem);

}  // namespace convlens

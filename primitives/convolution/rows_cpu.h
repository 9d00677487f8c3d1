// Rows of the processor's convolution list that are defined in files of their own (inside the library only).
#pragma once

#include "primitives/algorithm.h"

namespace convlens::convolution_rows {

using Row = Algorithm<ConvolutionProblem>;

Row depthwise();
Row winograd_2x2();
Row winograd_4x4();
Row direct();

}  // namespace convlens::convolution_rows

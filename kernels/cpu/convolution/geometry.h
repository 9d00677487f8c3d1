// The convolution's geometry under the name that the processor's kernels use.
#pragma once

#include "kernels/common/convolution_geometry.h"

namespace convlens::cpu {

using kernels::Axes;
using kernels::ConvolutionGeometry;
using kernels::Strides5;
using kernels::TapRange;
using kernels::valid_taps;

}  // namespace convlens::cpu

// Layouts under the name that the processor's kernels use.
#pragma once

#include "kernels/common/joint_shape.h"
#include "kernels/common/layout.h"
#include "kernels/cpu/element.h"

namespace convlens::cpu {

using kernels::address;
using kernels::AxisValues;
using kernels::join;
using kernels::JointShape;
using kernels::Layout;
using kernels::max_axes;
using kernels::max_operands;
using kernels::unravel;

}  // namespace convlens::cpu

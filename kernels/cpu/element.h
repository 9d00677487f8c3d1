// Elements under the names that the processor's kernels use.
#pragma once

#include "kernels/common/element.h"

namespace convlens::cpu {

using kernels::BFloat16;
using kernels::bfloat16_from;
using kernels::Boolean;
using kernels::convert;
using kernels::ElementType;
using kernels::Half;
using kernels::half_from;
using kernels::is_float_like;
using kernels::load_element;
using kernels::round_to_odd;
using kernels::size_of;
using kernels::store_element;
using kernels::to_float;
using kernels::value_of;
using kernels::with_type;

}  // namespace convlens::cpu

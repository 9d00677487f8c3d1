// The activation of a problem as the kernels of any backend take it (inside the library only).
#pragma once

#include "convlens/problem.h"
#include "kernels/common/activation.h"

namespace convlens {

static_assert(static_cast<int>(ActivationKind::hard_swish) ==
              static_cast<int>(kernels::ActivationKind::hard_swish));

inline kernels::Activation kernel_activation(const ActivationDesc& desc) {
    return {static_cast<kernels::ActivationKind>(desc.kind), desc.alpha, desc.beta};
}

}  // namespace convlens

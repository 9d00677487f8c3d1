// The activation of a problem as the processor kernels take it (inside the library only).
#pragma once

#include "convlens/problem.h"
#include "kernels/cpu/activation.h"

namespace convlens {

static_assert(static_cast<int>(ActivationKind::hard_swish) ==
              static_cast<int>(cpu::ActivationKind::hard_swish));

inline cpu::Activation kernel_activation(const ActivationDesc& desc) {
    return {static_cast<cpu::ActivationKind>(desc.kind), desc.alpha, desc.beta};
}

}  // namespace convlens

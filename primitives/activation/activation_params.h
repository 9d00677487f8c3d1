// Parameters of the activation kernels, made from the problem (inside the library only).
#pragma once

#include "kernels/common/activation_params.h"
#include "primitives/kernel_activation.h"
#include "primitives/layout_of.h"

namespace convlens {

inline kernels::ActivationParams activation_params_of(const ActivationProblem& problem) {
    return {layout_of(problem.src), layout_of(problem.dst), kernel_activation(problem.activation)};
}

inline kernels::ActivationBlocks activation_blocks_of(const ActivationProblem& problem) {
    return {kernels::join({layout_of(problem.src), layout_of(problem.dst)}),
            kernel_activation(problem.activation)};
}

}  // namespace convlens

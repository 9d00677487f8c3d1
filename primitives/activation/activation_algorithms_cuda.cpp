#include "primitives/cuda/kernel_plan.h"
#include "primitives/device.h"

namespace convlens {

template <>
std::span<const Algorithm<ActivationProblem>> cuda_algorithms() {
    return {};
}

}  // namespace convlens

// In place of cuDNN where the build has no CUDA backend.
#include "primitives/peers/peers.h"

namespace convlens {

PeerInfo cudnn_info() {
    return {"peer:cudnn", false,
            "the CUDA backend is not part of this build; configure with -DCONVLENS_CUDA=ON where nvcc is "
            "installed"};
}

template <>
std::span<const Algorithm<ConvolutionProblem>> cudnn_algorithms() {
    return {};
}
template <>
std::span<const Algorithm<ConvolutionBwdDataProblem>> cudnn_algorithms() {
    return {};
}
template <>
std::span<const Algorithm<ConvolutionBwdFilterProblem>> cudnn_algorithms() {
    return {};
}

}  // namespace convlens

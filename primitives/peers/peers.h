// Rows of other libraries behind the algorithm interface (inside the library only).
//
// A peer is opened at run time where it is installed; nothing is linked, no header of it is needed. Its rows
// are taken only when they are named or asked for: no choice of the library's own falls on them. Where the
// peer is missing, they refuse with the reason. They compute plain problems only: no bias, residual or
// activation, alpha 1, beta 0.
#pragma once

#include <span>
#include <string>

#include "primitives/algorithm.h"

namespace convlens {

// Empty for operations that no peer is asked about.
template <class P>
std::span<const Algorithm<P>> peer_algorithms(Backend) {
    return {};
}

// peers/onednn.cpp; peers/cudnn.cpp, or peers/no_cudnn.cpp in a build without CUDA.
template <class P>
std::span<const Algorithm<P>> onednn_algorithms();
template <class P>
std::span<const Algorithm<P>> cudnn_algorithms();
PeerInfo onednn_info();
PeerInfo cudnn_info();

#define CONVLENS_PEERS_OF(P)                                                              \
    template <>                                                                           \
    std::span<const Algorithm<P>> onednn_algorithms();                                    \
    template <>                                                                           \
    std::span<const Algorithm<P>> cudnn_algorithms();                                     \
    template <>                                                                           \
    inline std::span<const Algorithm<P>> peer_algorithms(Backend backend) {               \
        return backend == Backend::cuda ? cudnn_algorithms<P>() : onednn_algorithms<P>(); \
    }
CONVLENS_PEERS_OF(ConvolutionProblem)
CONVLENS_PEERS_OF(ConvolutionBwdDataProblem)
CONVLENS_PEERS_OF(ConvolutionBwdFilterProblem)
#undef CONVLENS_PEERS_OF

}  // namespace convlens

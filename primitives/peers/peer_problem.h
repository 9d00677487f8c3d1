// One convolution as peers see it: in each direction the same x, w and y, of which one is computed.
#pragma once

#include <cstdint>
#include <string>

#include "convlens/problem.h"
#include "primitives/algorithm.h"

namespace convlens {

enum class PeerDirection : std::uint8_t { fwd, bwd_data, bwd_filter };

struct PeerProblem {
    PeerDirection direction = PeerDirection::fwd;
    TensorDesc x;  // N C H W: the source, or its gradient
    TensorDesc w;  // K C/groups R S: plain where it is a source, else the layout of its gradient
    TensorDesc y;  // N K P Q: the destination, or its gradient
    WindowDesc window;
    std::int64_t groups = 1;
    ConvolutionMode mode = ConvolutionMode::cross_correlation;
    std::string fused;  // what goes beyond a plain convolution; empty: nothing
};

inline std::string peer_scaling(float alpha, float beta) {
    if (alpha != 1) return "alpha other than 1";
    if (beta != 0) return "beta other than 0";
    return {};
}

template <class P>
PeerProblem peer_problem(const P& p) {
    PeerProblem q;
    q.window = p.window;
    q.groups = p.groups;
    q.mode = p.mode;
    if constexpr (requires { p.alpha; }) q.fused = peer_scaling(p.alpha, p.beta);
    if constexpr (std::is_same_v<P, ConvolutionProblem>) {
        q.direction = PeerDirection::fwd;
        q.x = p.src;
        q.y = p.dst;
        q.w = TensorDesc::packed(p.weights, p.src.type);
        if (p.has_bias) q.fused = "a bias";
        if (p.has_residual) q.fused = "a residual";
        if (p.activation.kind != ActivationKind::identity) q.fused = "an activation";
    } else if constexpr (requires { p.diff; }) {
        q.direction = PeerDirection::bwd_filter;
        q.x = p.src;
        q.y = p.diff;
        q.w = p.dst;
    } else {
        q.direction = PeerDirection::bwd_data;
        q.x = p.dst;
        q.y = p.src;
        q.w = TensorDesc::packed(p.weights, p.src.type);
    }
    return q;
}

// What no peer is asked to do; empty: it may be asked.
std::string reject_for_peers(const PeerProblem& problem);
// All that the problem says, as one line: a key of caches.
std::string peer_key(const PeerProblem& problem);

}  // namespace convlens

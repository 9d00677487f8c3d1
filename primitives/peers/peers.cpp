#include "primitives/peers/peers.h"

#include "primitives/peers/peer_problem.h"

namespace convlens {

std::vector<PeerInfo> peers() { return {onednn_info(), cudnn_info()}; }

std::string reject_for_peers(const PeerProblem& problem) {
    if (!problem.fused.empty())
        return "peers are asked for plain convolutions only, without " + problem.fused;
    for (const TensorDesc* desc : {&problem.x, &problem.w, &problem.y}) {
        if (desc->is_empty()) return "peers are not asked about empty tensors";
        for (int axis = 0; axis < desc->rank(); ++axis)
            if (desc->dims[axis] > 1 && desc->strides[axis] < 1)
                return "peers are asked for positive strides only";
    }
    if (problem.x.type != problem.y.type || problem.x.type != problem.w.type)
        return "peers are asked for tensors of one type only";
    return {};
}

std::string peer_key(const PeerProblem& problem) {
    std::string key = std::to_string(static_cast<int>(problem.direction));
    const auto add = [&](const Dims& dims) { key += ' ' + dims.text(); };
    for (const TensorDesc* desc : {&problem.x, &problem.w, &problem.y}) {
        key += std::string(" ") + to_string(desc->type);
        add(desc->dims);
        add(desc->strides);
        key += '+' + std::to_string(desc->offset);
    }
    for (const Dims* dims : {&problem.window.pads_begin, &problem.window.pads_end, &problem.window.strides,
                             &problem.window.dilations})
        add(*dims);
    return key + ' ' + std::to_string(problem.groups) + ' ' + std::to_string(static_cast<int>(problem.mode));
}

}  // namespace convlens

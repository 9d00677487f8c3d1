#include "app/engine/layer_match.h"

#include <algorithm>

namespace convlens::engine {
namespace {

int layer_named(const NetworkInfo& network, const std::string& name) {
    for (std::size_t i = 0; i < network.layers.size(); ++i)
        if (network.layers[i].name == name) return static_cast<int>(i);
    for (std::size_t i = 0; i < network.layers.size(); ++i) {
        const auto& fused = network.layers[i].fused;
        if (std::find(fused.begin(), fused.end(), name) != fused.end()) return static_cast<int>(i);
    }
    return -1;
}

int first_convolution(const NetworkInfo& network) {
    for (std::size_t i = 0; i < network.layers.size(); ++i)
        if (network.layers[i].category == "convolution" || network.layers[i].category == "depthwise")
            return static_cast<int>(i);
    return 0;
}

}  // namespace

int matching_layer(const NetworkInfo* before, int layer, const NetworkInfo& now) {
    if (before == nullptr || before->model_path != now.model_path) return first_convolution(now);
    if (layer < 0 || layer >= static_cast<int>(before->layers.size())) return first_convolution(now);
    const int found = layer_named(now, before->layers[static_cast<std::size_t>(layer)].name);
    return found >= 0 ? found : first_convolution(now);
}

}  // namespace convlens::engine

#include "app/ui/scene.h"

#include <algorithm>

namespace convlens::ui {

Scene::Scene(const UiInput& in, commands::ViewState& view_state, render::Canvas& canvas_, Painter& painter,
             std::vector<std::string>& lines, bool& refresh)
    : input(in),
      view(view_state),
      canvas(canvas_),
      paint(painter),
      commands(lines),
      wants_refresh(refresh),
      snapshot(*in.snapshot),
      figures(in, view_state.fixed_figures) {
    network = snapshot.network.get();
    if (!network || network->layers.empty()) return;
    layer = std::clamp(view.layer, 0, static_cast<int>(network->layers.size()) - 1);
    layer_info = &network->layers[static_cast<std::size_t>(layer)];
    statistics_fit = snapshot.statistics_layer == layer;
    if (layer_info->outputs.empty()) return;
    tensor = layer_info->outputs[0];
    const auto t = static_cast<std::size_t>(tensor);
    if (tensor < 0 || t >= network->tensors.size()) {
        tensor = -1;
        return;
    }
    maps = TensorMaps(network->tensors[t].desc);
    if (t < snapshot.host.size()) host = snapshot.host[t];
    if (t < snapshot.address.size()) address = snapshot.address[t];
}

const measure::MapStatistics* Scene::statistics(std::int64_t map) const {
    if (!statistics_fit || map < 0) return nullptr;
    const auto entry = static_cast<std::size_t>(map / std::max<std::int64_t>(1, maps.maps_per_channel));
    return entry < snapshot.maps.size() ? &snapshot.maps[entry] : nullptr;
}

bool Scene::value_at(std::int64_t map, std::int64_t row, std::int64_t column, float& value) const {
    if (map < 0 || map >= maps.count || row < 0 || row >= maps.height || column < 0 || column >= maps.width)
        return false;
    const std::int64_t offset = maps.offset(map, row, column);
    if (host) {
        value = host[offset];
        return true;
    }
    if (address == 0) return false;
    wanted_.push_back(offset);
    if (snapshot.fetched_tensor != tensor) return false;
    const auto& offsets = snapshot.fetched_offsets;
    const auto found = std::lower_bound(offsets.begin(), offsets.end(), offset);
    if (found == offsets.end() || *found != offset) return false;
    value = snapshot.fetched_values[static_cast<std::size_t>(found - offsets.begin())];
    return true;
}

std::vector<std::int64_t> Scene::take_wanted() const {
    std::sort(wanted_.begin(), wanted_.end());
    wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
    return std::move(wanted_);
}

std::string Scene::layer_name(int index) const {
    if (!network || index < 0 || index >= static_cast<int>(network->layers.size())) return {};
    return network->layers[static_cast<std::size_t>(index)].name;
}

std::string shape_text(const TensorDesc& desc) {
    if (desc.rank() == 0) return "scalar";
    std::string text;
    for (int axis = desc.rank() > 1 ? 1 : 0; axis < desc.rank(); ++axis) {
        if (!text.empty()) text += "\u00d7";
        text += std::to_string(desc.dims[axis]);
    }
    return text;
}

}  // namespace convlens::ui

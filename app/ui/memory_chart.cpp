#include "app/ui/memory_chart.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "app/ui/foot_text.h"
#include "app/ui/format.h"
#include "app/ui/widgets.h"

namespace convlens::ui {

namespace {

Rect place_of(const engine::TensorInfo& tensor, const Rect& plot, int layers, double bytes) {
    const float pitch = plot.w() / static_cast<float>(std::max(1, layers));
    const int first = std::clamp(tensor.first_layer, 0, layers - 1),
              last = std::clamp(tensor.last_layer, first, layers - 1);
    const float x0 = std::floor(plot.x0 + static_cast<float>(first) * pitch);
    const float x1 = std::max(x0 + 1, std::floor(plot.x0 + static_cast<float>(last + 1) * pitch));
    const auto low = static_cast<float>(static_cast<double>(tensor.address) / bytes) * plot.h();
    const auto high =
        static_cast<float>(static_cast<double>(tensor.address + tensor.bytes) / bytes) * plot.h();
    const float y1 = std::round(plot.y1 - low), y0 = std::min(y1 - 1, std::round(plot.y1 - high));
    return {x0, y0, x1, y1};
}

std::string category_of(const engine::NetworkInfo& network, const engine::TensorInfo& tensor) {
    if (tensor.is_input || tensor.first_layer < 0 ||
        tensor.first_layer >= static_cast<int>(network.layers.size()))
        return "input";
    return network.layers[static_cast<std::size_t>(tensor.first_layer)].category;
}

void tensor_tip(Scene& scene, const engine::TensorInfo& tensor) {
    Tip t(scene);
    t.line({{tensor.name, colors::strong, scene.theme().strong}});
    t.pair("shape", shape_text(tensor.desc));
    t.pair("size", format_bytes(static_cast<double>(tensor.bytes)));
    t.pair("address", format_bytes(static_cast<double>(tensor.address)));
    const std::string first = tensor.first_layer < 0 ? "the input" : scene.layer_name(tensor.first_layer);
    t.pair("lives from", first);
    t.pair("to", scene.layer_name(tensor.last_layer));
    if (!tensor.kept) t.line({{"its memory is used again within the pass"}});
}

}  // namespace

void draw_memory_chart(Scene& scene, Rect place, float reserved_right) {
    const Rect head = place.take_top(scene.s(24));
    std::string title = "Memory: address over layer order";
    if (scene.paint.width(title, scene.theme().label) * 1.25f > head.w() - reserved_right) title = "Memory";
    if (scene.paint.width(title, scene.theme().label) * 1.25f <= head.w() - reserved_right)
        section_label(scene, head.x0, head.y0 + scene.s(2), title);
    if (!scene.network || scene.network->layers.empty() || scene.network->arena_bytes == 0) {
        empty_note(scene, place, "Memory appears when a model is open.");
        return;
    }
    const engine::NetworkInfo& network = *scene.network;
    const network::MemoryReport memory = scene.figures.memory();
    const Rect foot = place.take_bottom(scene.s(24));
    draw_foot_figures(
        scene, foot,
        {{"weights", format_bytes(static_cast<double>(memory.weights_bytes))},
         {"activations", format_bytes(static_cast<double>(memory.activations_bytes)) +
                             (memory.arenas > 1 ? "\u2009\u00d7\u2009" + std::to_string(memory.arenas) : "")},
         {"workspace", format_bytes(static_cast<double>(memory.workspace_bytes))},
         {"peak", format_bytes(static_cast<double>(memory.peak_bytes))}});
    Rect plot = place;
    plot.y1 -= scene.s(5);
    if (plot.h() < scene.s(12)) return;
    const int layers = static_cast<int>(network.layers.size());
    const auto bytes = static_cast<double>(network.arena_bytes);
    const float pitch = plot.w() / static_cast<float>(layers);
    if (scene.layer >= 0) {
        const float x = std::floor(plot.x0 + static_cast<float>(scene.layer) * pitch);
        scene.paint.fill({x, plot.y0, std::max(x + scene.s(2), std::floor(x + pitch)), plot.y1},
                         colors::accent_ground);
    }
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const Touch t = touch("memory chart", place);
    const engine::TensorInfo* under = nullptr;
    const engine::TensorInfo* selected =
        scene.tensor >= 0 ? &network.tensors[static_cast<std::size_t>(scene.tensor)] : nullptr;
    if (selected && selected->alias_of >= 0 && selected->alias_of < static_cast<int>(network.tensors.size()))
        selected = &network.tensors[static_cast<std::size_t>(selected->alias_of)];
    for (const engine::TensorInfo& tensor : network.tensors) {
        if (tensor.alias_of >= 0 || tensor.bytes == 0) continue;
        const Rect r = place_of(tensor, plot, layers, bytes);
        const std::string category = category_of(network, tensor);
        const float line = r.h() > 3 ? 1.0f : 0.0f;
        scene.paint.fill({r.x0, r.y0 + line, r.x1, r.y1},
                         &tensor == selected ? colors::accent : with_alpha(category_color(category), 200));
        if (t.hovered && Rect{r.x0 - 1, r.y0 - 2, r.x1 + 1, r.y1 + 2}.contains(mouse.x, mouse.y))
            under = &tensor;
    }
    scene.paint.line(plot.x0, plot.y1, plot.x1, plot.y1, colors::separator);
    if (!under) return;
    if (t.clicked) scene.emit("layer " + std::to_string(std::max(0, under->first_layer)));
    tensor_tip(scene, *under);
}

}  // namespace convlens::ui

#include "app/ui/memory_chart.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "app/ui/foot_text.h"
#include "app/ui/format.h"
#include "app/ui/widgets.h"

namespace convlens::ui {

namespace {

constexpr ImU32 mixed(ImU32 color, ImU32 ground, unsigned share) {  // share of color, of 256
    const auto channel = [&](int shift) {
        return (((color >> shift) & 255) * share + ((ground >> shift) & 255) * (256 - share)) / 256 << shift;
    };
    return channel(IM_COL32_R_SHIFT) | channel(IM_COL32_G_SHIFT) | channel(IM_COL32_B_SHIFT) |
           IM_COL32_A_MASK;
}

Rect place_of(const engine::TensorInfo& tensor, const Rect& plot, int layers, double bytes, float least_h) {
    const float pitch = plot.w() / static_cast<float>(std::max(1, layers));
    const int first = std::clamp(tensor.first_layer, 0, layers - 1),
              last = std::clamp(tensor.last_layer, first, layers - 1);
    const float x0 = std::floor(plot.x0 + static_cast<float>(first) * pitch);
    const float x1 = std::max(x0 + 1, std::floor(plot.x0 + static_cast<float>(last + 1) * pitch));
    const auto low = static_cast<float>(static_cast<double>(tensor.address) / bytes) * plot.h();
    const auto high =
        static_cast<float>(static_cast<double>(tensor.address + tensor.bytes) / bytes) * plot.h();
    const float y1 = std::round(plot.y1 - low), y0 = std::min(y1 - least_h, std::round(plot.y1 - high));
    return {x0, y0, x1, y1};
}

std::string category_of(const engine::NetworkInfo& network, const engine::TensorInfo& tensor) {
    if (tensor.is_input || tensor.first_layer < 0 ||
        tensor.first_layer >= static_cast<int>(network.layers.size()))
        return "input";
    return network.layers[static_cast<std::size_t>(tensor.first_layer)].category;
}

struct Bar {
    const engine::TensorInfo* tensor = nullptr;
    Rect place;          // at least a few pixels high
    float exact_y1 = 0;  // of the band behind
    ImU32 color = 0;
};

std::vector<Bar> bars_of(const Scene& scene, const Rect& plot) {
    const engine::NetworkInfo& network = *scene.network;
    const int layers = static_cast<int>(network.layers.size());
    const auto bytes = static_cast<double>(network.arena_bytes);
    std::vector<Bar> bars;
    for (const engine::TensorInfo& tensor : network.tensors) {
        if (tensor.alias_of >= 0 || tensor.bytes == 0) continue;
        Bar bar{&tensor, place_of(tensor, plot, layers, bytes, scene.s(3)), 0,
                category_color(category_of(network, tensor))};
        bar.exact_y1 = bar.place.y1;
        bars.push_back(bar);
    }
    return bars;
}

// The hues of the categories, in a corner that nothing needs.
void draw_legend(Scene& scene, const Rect& plot, const std::vector<Bar>& bars) {
    if (plot.w() < scene.s(400)) return;
    const Theme& theme = scene.theme();
    std::vector<std::string> categories;
    float text_w = 0;
    for (const engine::LayerInfo& info : scene.network->layers) {
        if (std::find(categories.begin(), categories.end(), info.category) != categories.end()) continue;
        if (category_color(info.category) == category_color("")) continue;
        categories.push_back(info.category);
        text_w = std::max(text_w, scene.paint.width(category_text(info.category), theme.small));
    }
    const float row = scene.s(14), mark = scene.s(8);
    const float w = mark + scene.s(6) + text_w;
    const auto room = static_cast<std::size_t>(std::max(0.0f, plot.h() / row));
    const std::size_t rows = std::min(categories.size(), room),
                      columns = rows == 0 ? 0 : (categories.size() + rows - 1) / rows;
    if (columns == 0) return;
    const float all_w = static_cast<float>(columns) * (w + scene.s(14)),
                all_h = static_cast<float>(rows) * row;
    for (const float x0 : {plot.x1 - all_w, plot.x0 + scene.s(4)}) {
        const Rect corner{x0, plot.y0, x0 + all_w, plot.y0 + all_h};
        if (corner.x0 < plot.x0 || corner.x1 > plot.x1 + 1) continue;
        const bool taken = std::any_of(bars.begin(), bars.end(), [&](const Bar& bar) {
            const float x1 = bar.tensor->kept ? plot.x1 : bar.place.x1;
            return bar.place.x0 < corner.x1 && x1 > corner.x0 && bar.place.y0 < corner.y1 &&
                   bar.place.y1 > corner.y0;
        });
        if (taken) continue;
        for (std::size_t i = 0; i < categories.size(); ++i) {
            const float x = corner.x0 + static_cast<float>(i / rows) * (w + scene.s(14));
            const float y = corner.y0 + static_cast<float>(i % rows) * row;
            const float top = y + std::floor((row - mark) / 2);
            scene.paint.fill({x, top, x + mark, top + mark}, category_color(categories[i]), scene.s(2));
            scene.paint.text_in({x + mark + scene.s(6), y, x + w + 1, y + row}, category_text(categories[i]),
                                colors::dim, theme.small);
        }
        return;
    }
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
    t.line({{tensor.kept ? "kept until the pass ends" : "its memory is used again within the pass"}});
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
    const std::string top = format_bytes(static_cast<double>(memory.activations_bytes));
    const Rect top_place{head.x0, head.y0, head.x1 - reserved_right - scene.s(4), head.y0 + scene.s(18)};
    if (scene.paint.width(title, scene.theme().label) * 1.25f + scene.s(70) < top_place.w())
        scene.paint.text_in(top_place, top, colors::dim, scene.theme().small, Align::right);
    const Rect foot = place.take_bottom(scene.s(24));
    draw_foot_figures(
        scene, foot,
        {{"weights", format_bytes(static_cast<double>(memory.weights_bytes))},
         {"activations", format_bytes(static_cast<double>(memory.activations_bytes)) +
                             (memory.arenas > 1 ? "\u2009\u00d7\u2009" + std::to_string(memory.arenas) : "")},
         {"workspace", format_bytes(static_cast<double>(memory.workspace_bytes))},
         {"staging", format_bytes(scene.figures.staging_bytes())},
         {"viewer", format_bytes(scene.figures.viewer_bytes())},
         {"peak", format_bytes(static_cast<double>(memory.peak_bytes))}});
    Rect plot = place;
    plot.y1 -= scene.s(5);
    if (plot.h() < scene.s(12)) return;
    const int layers = static_cast<int>(network.layers.size());
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
    std::vector<Bar> bars = bars_of(scene, plot);
    // What was computed and is kept until the pass ends, for the window to show: a faint band.
    for (const Bar& bar : bars)
        if (bar.tensor->kept && bar.place.x1 < plot.x1)
            scene.paint.fill({bar.place.x1, bar.place.y0, plot.x1, bar.exact_y1},
                             mixed(bar.tensor == selected ? colors::accent : bar.color, colors::strip,
                                   bar.tensor == selected ? 120 : 70));
    for (const Bar& bar : bars) {
        const Rect& r = bar.place;
        const float line = r.h() > scene.s(4) ? 1.0f : 0.0f;
        if (bar.tensor != selected)
            scene.paint.fill({r.x0, r.y0 + line, r.x1, r.y1}, mixed(bar.color, colors::strip, 215));
        if (t.hovered && Rect{r.x0 - 1, r.y0 - 1, r.x1 + 1, r.y1 + 1}.contains(mouse.x, mouse.y))
            under = bar.tensor;
    }
    for (const Bar& bar : bars) {
        if (bar.tensor == selected) scene.paint.fill(bar.place, colors::accent);
        if (bar.tensor == under && under != selected)
            scene.paint.frame(bar.place, colors::strong, 0, std::max(1.0f, scene.s(1)));
        if (!under && bar.tensor->kept && t.hovered &&
            Rect{bar.place.x1, bar.place.y0, plot.x1, bar.exact_y1}.contains(mouse.x, mouse.y))
            under = bar.tensor;
    }
    draw_legend(scene, plot, bars);
    scene.paint.line(plot.x0, plot.y1, plot.x1, plot.y1, colors::separator);
    if (!under) return;
    if (t.clicked) scene.emit("layer " + std::to_string(std::max(0, under->first_layer)));
    tensor_tip(scene, *under);
}

}  // namespace convlens::ui

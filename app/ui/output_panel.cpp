#include "app/ui/output_panel.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "app/ui/format.h"
#include "app/ui/widgets.h"

namespace convlens::ui {

namespace {

void draw_classes(Scene& scene, Rect place) {
    const Theme& theme = scene.theme();
    section_label(scene, place.x0, place.y0, "Prediction");
    place.take_top(scene.s(22));
    const float row = scene.s(26), gap = scene.s(4);
    int index = 0;
    for (const engine::ClassScore& score : scene.snapshot.outputs.top) {
        if (place.h() < row) break;
        const Rect line = place.take_top(row);
        place.take_top(gap);
        scene.paint.fill(line, colors::raised, scene.s(4));
        const auto share = static_cast<float>(std::clamp(score.score, 0.0, 1.0));
        const float w = std::floor(share * line.w());
        if (w >= 1)
            scene.paint.fill({line.x0, line.y0, line.x0 + w, line.y1}, colors::accent_ground,
                             std::min(scene.s(4), w / 2));
        Rect inner = line.inset(scene.s(8), 0);
        const std::string figure = score.score >= 0 && score.score <= 1.0001 ? format_percent(score.score)
                                                                             : format_figure(score.score);
        const float figure_w = scene.paint.width(figure, theme.text);
        scene.paint.text_in(inner.take_right(figure_w + 1), figure, colors::strong, theme.text, Align::right);
        inner.take_right(scene.s(8));
        const std::string name = score.label.empty() ? "class " + std::to_string(score.index) : score.label;
        scene.paint.text_in(inner, name, colors::strong, theme.text, Align::left, Fit::elide);
        ImGui::PushID(index++);
        if (touch("class", line).hovered) {
            Tip t(scene);
            t.line({{name, colors::strong, theme.strong}});
            t.pair("class", format_count(score.index));
            t.pair("score", format_value(score.score));
        }
        ImGui::PopID();
    }
}

void draw_heat_legend(Scene& scene, Rect place, const engine::HeatMap& heat) {
    const Theme& theme = scene.theme();
    section_label(scene, place.x0, place.y0, heat.label.empty() ? "Heat map" : "Heat map: " + heat.label);
    place.take_top(scene.s(22));
    if (place.h() < scene.s(30)) return;
    color_bar(place.take_top(scene.s(8)), render::ColorMap::turbo);
    place.take_top(scene.s(4));
    const Rect ends = place.take_top(scene.s(16));
    scene.paint.text_in(ends, "0", colors::dim, theme.small);
    scene.paint.text_in(ends, "probability", colors::dim, theme.small, Align::center);
    scene.paint.text_in(ends, "1", colors::dim, theme.small, Align::right);
    place.take_top(scene.s(8));
    const auto& boxes = scene.snapshot.outputs.boxes;
    const float row = scene.s(20);
    if (place.h() < row) return;
    const std::string what = heat.label.empty() ? "place" : heat.label;
    const std::string count =
        boxes.empty() ? "none found" : format_count(static_cast<std::int64_t>(boxes.size())) + " found";
    scene.paint.text_in(place.take_top(row), count, colors::strong, theme.strong);
    int index = 1;
    for (const engine::FoundBox& box : boxes) {
        if (place.h() < row) break;
        const Rect line = place.take_top(row);
        scene.paint.text_in(line, what + " " + std::to_string(index++), colors::text, theme.text, Align::left,
                            Fit::elide);
        scene.paint.text_in(line, format_percent(box.score), colors::strong, theme.text, Align::right);
    }
}

}  // namespace

void OutputPanel::draw_picture(Scene& scene, Rect place) {
    const int index = scene.snapshot.outputs.picture->tensor;
    section_label(scene, place.x0, place.y0, "Output picture");
    place.take_top(scene.s(22));
    const auto t = static_cast<std::size_t>(index);
    if (index < 0 || !scene.network || t >= scene.network->tensors.size() ||
        t >= scene.snapshot.address.size() || scene.snapshot.address[t] == 0)
        return;
    const TensorMaps maps(scene.network->tensors[t].desc);
    if (maps.count < 3 || place.h() < scene.s(40)) return;
    const Rect caption = place.take_bottom(scene.s(20));
    double fit =
        std::min(place.w() / static_cast<double>(maps.width), place.h() / static_cast<double>(maps.height));
    if (fit > 1) fit = std::floor(fit);
    const int w = std::max(1, static_cast<int>(static_cast<double>(maps.width) * fit));
    const int h = std::max(1, static_cast<int>(static_cast<double>(maps.height) * fit));
    const std::uint64_t texture = scene.canvas.atlas("output", w, h);
    if (pass_ != scene.snapshot.pass || generation_ != scene.network->generation || width_ != w ||
        height_ != h) {
        pass_ = scene.snapshot.pass;
        generation_ = scene.network->generation;
        width_ = w;
        height_ = h;
        render::AtlasTile tile;
        tile.kind = render::TileKind::picture;
        tile.color_map = render::ColorMap::natural;
        tile.address = scene.snapshot.address[t];
        tile.width = static_cast<std::int32_t>(maps.width);
        tile.height = static_cast<std::int32_t>(maps.height);
        tile.stride_x = maps.stride_x;
        tile.stride_y = maps.stride_y;
        tile.stride_c = maps.uniform_stride();
        tile.channels = 3;
        tile.source_w = static_cast<float>(maps.width);
        tile.source_h = static_cast<float>(maps.height);
        tile.dst_w = w;
        tile.dst_h = h;
        scene.canvas.fill("output", std::span(&tile, 1), false, 0);
    }
    const float u =
        static_cast<float>(w) / static_cast<float>(std::max(1, scene.canvas.atlas_width("output")));
    const float v =
        static_cast<float>(h) / static_cast<float>(std::max(1, scene.canvas.atlas_height("output")));
    const float x = std::floor(place.x0 + (place.w() - static_cast<float>(w)) / 2), y = place.y0;
    ImGui::GetWindowDrawList()->AddImage(reinterpret_cast<ImTextureID>(texture), {x, y},
                                         {x + static_cast<float>(w), y + static_cast<float>(h)}, {0, 0},
                                         {u, v});
    const std::string size = std::to_string(maps.width) + " \u00d7 " + std::to_string(maps.height);
    scene.paint.text_in({caption.x0, y + static_cast<float>(h) + scene.s(2), caption.x1,
                         y + static_cast<float>(h) + scene.s(20)},
                        size, colors::dim, scene.theme().small, Align::center);
}

void OutputPanel::draw(Scene& scene, const Rect& place) {
    if (place.h() < scene.s(30) || place.w() < scene.s(60)) return;
    const engine::Outputs& outputs = scene.snapshot.outputs;
    if (outputs.heat_map)
        draw_heat_legend(scene, place, *outputs.heat_map);
    else if (outputs.picture)
        draw_picture(scene, place);
    else if (!outputs.top.empty())
        draw_classes(scene, place);
    else
        empty_note(scene, place, "What the network answers appears here after its first pass.");
}

}  // namespace convlens::ui

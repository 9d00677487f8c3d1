#include "app/ui/input_panel.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/ui/format.h"
#include "app/ui/picture_scale.h"
#include "app/ui/widgets.h"

namespace convlens::ui {

namespace {

void draw_boxes(Scene& scene, const Rect& picture, double scale) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const auto x_of = [&](double x) { return picture.x0 + static_cast<float>(x * scale); };
    const auto y_of = [&](double y) { return picture.y0 + static_cast<float>(y * scale); };
    for (const engine::FoundBox& box : scene.snapshot.outputs.boxes) {
        scene.paint.frame({x_of(box.x0), y_of(box.y0), x_of(box.x1), y_of(box.y1)}, colors::good, scene.s(2),
                          scene.s(2));
        for (const auto& point : box.points)
            list->AddCircleFilled({x_of(point.first), y_of(point.second)}, 2.5f * scene.theme().scale,
                                  colors::warning);
    }
}

// What the network did not see is dimmed.
void dim_unseen(Scene& scene, const Rect& picture, double scale) {
    const input::SeenRegion& seen = scene.snapshot.seen;
    if (!(seen.x1 > seen.x0) || !(seen.y1 > seen.y0)) return;
    const auto clampx = [&](double x) {
        return std::clamp(picture.x0 + static_cast<float>(x * scale), picture.x0, picture.x1);
    };
    const auto clampy = [&](double y) {
        return std::clamp(picture.y0 + static_cast<float>(y * scale), picture.y0, picture.y1);
    };
    const Rect in{std::round(clampx(seen.x0)), std::round(clampy(seen.y0)), std::round(clampx(seen.x1)),
                  std::round(clampy(seen.y1))};
    constexpr ImU32 shade = rgb(0x14171c, 150);
    scene.paint.fill({picture.x0, picture.y0, picture.x1, in.y0}, shade);
    scene.paint.fill({picture.x0, in.y1, picture.x1, picture.y1}, shade);
    scene.paint.fill({picture.x0, in.y0, in.x0, in.y1}, shade);
    scene.paint.fill({in.x1, in.y0, picture.x1, in.y1}, shade);
    const bool whole = in.w() >= picture.w() - 1.5f && in.h() >= picture.h() - 1.5f;
    if (!whole) scene.paint.frame(in, rgb(0xd8dee9, 150));
}

// Where the probed element lies in the picture, by proportion.
void draw_probe(Scene& scene, const Rect& picture, double scale) {
    if (!scene.view.probe || scene.maps.height < 2 || scene.maps.width < 2) return;
    const commands::Probe& probe = *scene.view.probe;
    const input::SeenRegion& seen = scene.snapshot.seen;
    if (!(seen.x1 > seen.x0) || probe.row >= scene.maps.height || probe.column >= scene.maps.width) return;
    const double u = (static_cast<double>(probe.column) + 0.5) / static_cast<double>(scene.maps.width);
    const double v = (static_cast<double>(probe.row) + 0.5) / static_cast<double>(scene.maps.height);
    const float x = picture.x0 + static_cast<float>((seen.x0 + u * (seen.x1 - seen.x0)) * scale);
    const float y = picture.y0 + static_cast<float>((seen.y0 + v * (seen.y1 - seen.y0)) * scale);
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddCircle({x, y}, 5 * scene.theme().scale, rgb(0x000000, 160), 0, 3 * scene.theme().scale);
    list->AddCircle({x, y}, 5 * scene.theme().scale, colors::accent, 0, 1.5f * scene.theme().scale);
}

}  // namespace

void InputPanel::draw_heat(Scene& scene, const Rect& picture, double scale) {
    if (!scene.snapshot.outputs.heat_map || !scene.network) return;
    const engine::HeatMap& heat = *scene.snapshot.outputs.heat_map;
    const auto t = static_cast<std::size_t>(heat.tensor);
    if (heat.tensor < 0 || t >= scene.network->tensors.size() || t >= scene.snapshot.address.size() ||
        scene.snapshot.address[t] == 0)
        return;
    const TensorMaps maps(scene.network->tensors[t].desc);
    if (heat.channel >= maps.count || maps.count == 0) return;
    const input::SeenRegion& seen = scene.snapshot.seen;
    if (scene.network->inputs.empty()) return;
    const TensorMaps source(scene.network->tensors[static_cast<std::size_t>(scene.network->inputs[0])].desc);
    if (source.width <= 0 || source.height <= 0 || !(seen.x1 > seen.x0)) return;
    // Place (y, x) sees a window of network pixels; it is drawn as one stride in that window's middle.
    const double per_x = (seen.x1 - seen.x0) / static_cast<double>(source.width) * scale;
    const double per_y = (seen.y1 - seen.y0) / static_cast<double>(source.height) * scale;
    const double x0 = seen.x0 * scale + (heat.window_width - heat.stride) * 0.5 * per_x;
    const double y0 = seen.y0 * scale + (heat.window_height - heat.stride) * 0.5 * per_y;
    const int w = static_cast<int>(std::lround(static_cast<double>(maps.width) * heat.stride * per_x));
    const int h = static_cast<int>(std::lround(static_cast<double>(maps.height) * heat.stride * per_y));
    if (w < 1 || h < 1 || w > 4096 || h > 4096) return;
    const std::uint64_t texture = scene.canvas.atlas("heat", w, h);
    if (heat_pass_ != scene.snapshot.pass || heat_generation_ != scene.network->generation || heat_w_ != w ||
        heat_h_ != h) {
        heat_pass_ = scene.snapshot.pass;
        heat_generation_ = scene.network->generation;
        heat_w_ = w;
        heat_h_ = h;
        render::AtlasTile tile;
        tile.kind = render::TileKind::overlay;
        tile.color_map = render::ColorMap::turbo;
        tile.address =
            scene.snapshot.address[t] + static_cast<std::uint64_t>(maps.offset(heat.channel)) * sizeof(float);
        tile.width = static_cast<std::int32_t>(maps.width);
        tile.height = static_cast<std::int32_t>(maps.height);
        tile.stride_x = maps.stride_x;
        tile.stride_y = maps.stride_y;
        tile.source_w = static_cast<float>(maps.width);
        tile.source_h = static_cast<float>(maps.height);
        tile.dst_w = w;
        tile.dst_h = h;
        scene.canvas.fill("heat", std::span(&tile, 1), true, 0);
    }
    const float u = static_cast<float>(w) / static_cast<float>(std::max(1, scene.canvas.atlas_width("heat")));
    const float v =
        static_cast<float>(h) / static_cast<float>(std::max(1, scene.canvas.atlas_height("heat")));
    const float x = std::floor(picture.x0 + static_cast<float>(x0)),
                y = std::floor(picture.y0 + static_cast<float>(y0));
    ImGui::GetWindowDrawList()->AddImage(reinterpret_cast<ImTextureID>(texture), {x, y},
                                         {x + static_cast<float>(w), y + static_cast<float>(h)}, {0, 0},
                                         {u, v});
}

void InputPanel::draw_picture(Scene& scene, const Rect& place) {
    const input::FramePtr& frame = scene.snapshot.frame;
    const double scale = std::min(place.w() / static_cast<double>(frame->width),
                                  place.h() / static_cast<double>(frame->height));
    const int w = std::max(1, static_cast<int>(frame->width * scale + 0.5));
    const int h = std::max(1, static_cast<int>(frame->height * scale + 0.5));
    if (frame_ != frame.get() || number_ != frame->number || width_ != w || height_ != h) {
        held_ = frame;
        frame_ = frame.get();
        number_ = frame->number;
        width_ = w;
        height_ = h;
        bytes_ = scale_picture(frame->rgb.data(), frame->width, frame->height, w, h);
        ++key_;
    }
    const std::uint64_t texture = scene.canvas.picture("input", key_, w, h, bytes_.data());
    const float x = std::floor(place.x0 + (place.w() - static_cast<float>(w)) / 2);
    const Rect picture{x, place.y0, x + static_cast<float>(w), place.y0 + static_cast<float>(h)};
    ImGui::GetWindowDrawList()->AddImage(reinterpret_cast<ImTextureID>(texture), {picture.x0, picture.y0},
                                         {picture.x1, picture.y1});
    ImGui::PushClipRect({picture.x0, picture.y0}, {picture.x1, picture.y1}, true);
    draw_heat(scene, picture, scale);
    dim_unseen(scene, picture, scale);
    draw_boxes(scene, picture, scale);
    draw_probe(scene, picture, scale);
    ImGui::PopClipRect();
    if (touch("input picture", picture).hovered) {
        Tip t(scene);
        t.line({{frame->name, colors::strong, scene.theme().strong}});
        t.pair("size", std::to_string(frame->width) + " \u00d7 " + std::to_string(frame->height));
        const input::SeenRegion& seen = scene.snapshot.seen;
        t.pair("seen by the network", format_figure(seen.x1 - seen.x0) + " \u00d7 " +
                                          format_figure(seen.y1 - seen.y0) + " from (" +
                                          format_figure(seen.x0) + ", " + format_figure(seen.y0) + ")");
    }
}

float InputPanel::draw_buttons(Scene& scene, const Rect& place) {
    const bool paused = scene.snapshot.paused;
    struct Item {
        const char* id;
        const char* label;
        const char* command;
        ButtonLook look;
    };
    const std::array<Item, 3> items{{
        {"pause", paused ? "Resume" : "Pause", paused ? "resume" : "pause", {true, paused, "Space"}},
        {"step", "Step", "step", {paused, false, paused ? "One pass (S)" : "One pass; works while paused"}},
        {"next", "Next", "next", {true, false, "Next picture of a folder (N)"}},
    }};
    const float gap = scene.s(8), h = scene.s(28);
    const float w = (place.w() - 2 * gap) / 3;
    if (w < scene.s(40)) return 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const float x = place.x0 + static_cast<float>(i) * (w + gap);
        if (button(scene, items[i].id, {std::floor(x), place.y0, std::floor(x + w), place.y0 + h},
                   items[i].label, items[i].look))
            scene.emit(items[i].command);
    }
    return h;
}

float InputPanel::draw(Scene& scene, const Rect& place) {
    float y = place.y0;
    const input::FramePtr& frame = scene.snapshot.frame;
    const float most = std::min(place.w(), std::floor(place.h() * 0.46f));
    if (frame && frame->width > 0 && frame->height > 0 && most >= scene.s(24) &&
        frame->rgb.size() >=
            static_cast<std::size_t>(frame->width) * static_cast<std::size_t>(frame->height) * 3) {
        draw_picture(scene, {place.x0, y, place.x1, y + most});
        y += static_cast<float>(height_);
    } else {
        const float h = std::min(most, scene.s(120));
        scene.paint.fill({place.x0, y, place.x1, y + h}, colors::strip, scene.s(6));
        empty_note(scene, {place.x0, y, place.x1, y + h},
                   "No input yet. Choose one above or drop a picture here.");
        y += h;
    }
    y += scene.s(8);
    if (y + scene.s(28) <= place.y1) y += draw_buttons(scene, {place.x0, y, place.x1, place.y1});
    return y - place.y0;
}

}  // namespace convlens::ui

#include "app/ui/layer_strip.h"

#include <algorithm>
#include <cmath>

#include "app/ui/format.h"
#include "app/ui/widgets.h"

namespace convlens::ui {

namespace {

constexpr float card_width = 90, card_gap = 6, line_height = 14;
constexpr int turns_each_pass = 4;  // cards redrawn when a pass is new, besides those never drawn

// "block2.dw.conv" as "block2.dw" and "conv"; without a point or slash the operation and the name.
void split_name(const engine::LayerInfo& info, std::string& above, std::string& name) {
    const auto cut = info.name.find_last_of("./");
    if (cut == std::string::npos || cut == 0 || cut + 1 == info.name.size()) {
        above = info.op;
        name = info.name;
    } else {
        above = info.name.substr(0, cut);
        name = info.name.substr(cut + 1);
    }
}

struct Aggregate {
    render::AtlasTile tile;
    bool available = false;
};

// Mean |x| over evenly chosen maps; the range from a grid of samples where the values are readable here.
Aggregate aggregate_of(const Scene& scene, int layer) {
    Aggregate result;
    const engine::NetworkInfo& network = *scene.network;
    const auto& outputs = network.layers[static_cast<std::size_t>(layer)].outputs;
    if (outputs.empty() || outputs[0] < 0) return result;
    const auto t = static_cast<std::size_t>(outputs[0]);
    if (t >= scene.snapshot.address.size() || t >= network.tensors.size() || scene.snapshot.address[t] == 0)
        return result;
    const measure::AggregateView view = measure::aggregate_view(network.tensors[t].desc);
    if (view.width == 0) return result;
    render::AtlasTile& tile = result.tile;
    tile.kind = render::TileKind::aggregate;
    tile.color_map = render::ColorMap::viridis;
    tile.address = scene.snapshot.address[t];
    tile.width = static_cast<std::int32_t>(view.width);
    tile.height = static_cast<std::int32_t>(view.height);
    tile.stride_x = view.stride_x;
    tile.stride_y = view.stride_y;
    tile.stride_c = view.stride_c;
    tile.channels = static_cast<std::int32_t>(view.channels);
    tile.source_w = static_cast<float>(view.width);
    tile.source_h = static_cast<float>(view.height);
    result.available = true;
    const auto at = static_cast<std::size_t>(layer);
    std::optional<measure::AggregateRange> range;
    if (t < scene.snapshot.host.size() && scene.snapshot.host[t] != nullptr)
        range = measure::aggregate_range(scene.snapshot.host[t], view);
    else if (at < scene.snapshot.aggregate_ranges.size())
        range = scene.snapshot.aggregate_ranges[at];
    float lo = range ? range->lo : 0, hi = range ? range->hi : 0;
    if (!range && at < scene.snapshot.layer_statistics.size()) {
        const auto& s = scene.snapshot.layer_statistics[at];
        hi = static_cast<float>(std::abs(s.mean) + 1.5 * s.deviation);
    }
    // Nearly constant ones (two probabilities that add up to one) would show their rounding.
    if (hi - lo < 1e-3f * hi) lo = 0;
    tile.lo = lo;
    tile.hi = hi + (hi - lo) * 0.1f;
    return result;
}

}  // namespace

void LayerStrip::scroll(Scene& scene, const Rect& place, const Grid& grid) {
    const int count = static_cast<int>(scene.network->layers.size());
    const float most = std::max(0.0f, static_cast<float>(count) * grid.pitch - scene.s(card_gap) - place.w());
    const bool at_once = generation_ != scene.network->generation;
    if (selected_ != scene.layer || at_once) {
        selected_ = scene.layer;
        const float x = static_cast<float>(scene.layer) * grid.pitch;
        // The neighbours stay in sight too.
        const float margin = std::min(grid.pitch, std::max(0.0f, (place.w() - grid.card_w) / 2));
        if (x - margin < target_) target_ = x - margin;
        if (x + grid.card_w + margin > target_ + place.w()) target_ = x + grid.card_w + margin - place.w();
    }
    const ImGuiIO& io = ImGui::GetIO();
    if (ImGui::IsWindowHovered() && place.contains(io.MousePos.x, io.MousePos.y))
        target_ -= (io.MouseWheel + io.MouseWheelH) * grid.pitch * 1.5f;
    target_ = std::clamp(target_, 0.0f, most);
    const float rest = target_ - scroll_;
    if (scene.view.fixed_figures || at_once || std::abs(rest) < 0.5f || std::abs(rest) > 4 * place.w()) {
        scroll_ = target_;
    } else {
        scroll_ += rest * std::min(1.0f, io.DeltaTime * 14);
        scene.wants_refresh = true;
    }
}

void LayerStrip::fill_atlas(Scene& scene, const Grid& grid) {
    const int w = static_cast<int>(grid.picture_w), h = static_cast<int>(grid.picture_h);
    if (w < 4 || h < 4) return;
    const auto wanted = static_cast<std::size_t>(std::max(64, grid.last - grid.first + 9));
    if (cell_w_ != w || cell_h_ != h || cells_.size() < wanted || generation_ != scene.network->generation) {
        cells_.assign(std::max(wanted, cells_.size()), Cell{});
        cell_w_ = w;
        cell_h_ = h;
        generation_ = scene.network->generation;
        clear_ = true;
    }
    const int rows = (static_cast<int>(cells_.size()) + columns_ - 1) / columns_;
    texture_ = scene.canvas.atlas("strip", columns_ * cell_w_, rows * cell_h_);
    const bool new_pass = scene.snapshot.pass != pass_;
    pass_ = scene.snapshot.pass;
    std::vector<render::AtlasTile> tiles;
    const auto add = [&](int layer) {
        Cell& cell = cell_of(layer);
        Aggregate aggregate = aggregate_of(scene, layer);
        if (cell.layer == layer && !aggregate.available) {
            cell.pass = scene.snapshot.pass;
            return;
        }
        cell = {layer, scene.snapshot.pass, 0, 0};
        if (!aggregate.available) return;
        render::AtlasTile& tile = aggregate.tile;
        // Small maps are drawn in their own size and magnified by the window.
        const float fit = std::min({static_cast<float>(cell_w_) / static_cast<float>(tile.width),
                                    static_cast<float>(cell_h_) / static_cast<float>(tile.height), 1.0f});
        cell.width = std::max(1, static_cast<int>(static_cast<float>(tile.width) * fit));
        cell.height = std::max(1, static_cast<int>(static_cast<float>(tile.height) * fit));
        const int index = static_cast<int>(static_cast<std::size_t>(layer) % cells_.size());
        tile.dst_x = index % columns_ * cell_w_;
        tile.dst_y = index / columns_ * cell_h_;
        tile.dst_w = cell.width;
        tile.dst_h = cell.height;
        tiles.push_back(tile);
    };
    const int visible = grid.last - grid.first + 1;
    for (int layer = grid.first; layer <= grid.last; ++layer)
        if (cell_of(layer).layer != layer || (new_pass && layer == scene.layer)) add(layer);
    // While passes run, the others have their turn pass by pass; after the last one all are brought up to it.
    int behind = 0;
    for (int layer = grid.first; layer <= grid.last; ++layer)
        behind += cell_of(layer).pass != scene.snapshot.pass;
    if (new_pass || scene.snapshot.paused) {
        int turns = std::min(turns_each_pass, behind);
        behind -= turns;
        for (int step = 0; turns > 0 && step < visible; ++step) {
            if (next_ < grid.first || next_ > grid.last) next_ = grid.first;
            if (cell_of(next_).pass != scene.snapshot.pass) {
                add(next_);
                --turns;
            }
            ++next_;
        }
    }
    if (scene.snapshot.paused && behind > 0) scene.wants_refresh = true;
    if (!tiles.empty() || clear_) scene.canvas.fill("strip", tiles, clear_, colors::raised);
    clear_ = false;
}

void LayerStrip::draw_picture(Scene& scene, const Rect& place, int layer) {
    if (cells_.empty()) return;
    const Cell& cell = cell_of(layer);
    if (cell.layer != layer || cell.width == 0 || texture_ == 0) {
        scene.paint.fill(place, rgb(0x1d2229), scene.s(2));
        scene.paint.text_in(place, "reused", colors::faint, scene.theme().small, Align::center);
        return;
    }
    float fit =
        std::min(place.w() / static_cast<float>(cell.width), place.h() / static_cast<float>(cell.height));
    // Small pictures of one size beside each other read better than whole multiples, save for a few pixels.
    if (fit > 4) fit = std::floor(fit);
    const float w = std::floor(static_cast<float>(cell.width) * fit),
                h = std::floor(static_cast<float>(cell.height) * fit);
    const float x = std::floor(place.x0 + (place.w() - w) / 2),
                y = std::floor(place.y0 + (place.h() - h) / 2);
    const int index = static_cast<int>(static_cast<std::size_t>(layer) % cells_.size());
    const auto aw = static_cast<float>(std::max(1, scene.canvas.atlas_width("strip")));
    const auto ah = static_cast<float>(std::max(1, scene.canvas.atlas_height("strip")));
    const auto u = static_cast<float>(index % columns_ * cell_w_),
               v = static_cast<float>(index / columns_ * cell_h_);
    ImGui::GetWindowDrawList()->AddImage(
        reinterpret_cast<ImTextureID>(texture_), {x, y}, {x + w, y + h}, {u / aw, v / ah},
        {(u + static_cast<float>(cell.width)) / aw, (v + static_cast<float>(cell.height)) / ah});
}

void LayerStrip::draw_card(Scene& scene, const Rect& card, const Grid& grid, int layer) {
    const Theme& theme = scene.theme();
    const engine::LayerInfo& info = scene.network->layers[static_cast<std::size_t>(layer)];
    const ImU32 hue = category_color(info.category);
    const float rounding = scene.s(6);
    const bool selected = layer == scene.layer;
    scene.paint.fill(card, colors::panel, rounding);
    ImGui::GetWindowDrawList()->AddRectFilled({card.x0, card.y0}, {card.x1, card.y0 + scene.s(4)}, hue,
                                              scene.s(4), ImDrawFlags_RoundCornersTop);
    scene.paint.frame(card, selected ? colors::accent : colors::separator, rounding,
                      selected ? scene.s(2) : 1);
    Rect inner = card.inset(scene.s(6), 0);
    inner.take_top(scene.s(8));
    inner.y1 -= scene.s(6);
    const Rect bar = inner.take_bottom(scene.s(4));
    const measure::Quantiles time = scene.figures.layer_ms(layer);
    const double slowest = scene.figures.slowest_layer_ms();
    scene.paint.bar(bar, time.samples > 0 && slowest > 0 ? time.median / slowest : 0, hue, colors::track);
    inner.take_bottom(scene.s(4));
    std::string above, name;
    split_name(info, above, name);
    const float line = scene.s(line_height);
    const bool roomy = inner.h() >= 3 * line;
    if (roomy && !info.outputs.empty() && info.outputs[0] >= 0) {
        const auto t = static_cast<std::size_t>(info.outputs[0]);
        if (t < scene.network->tensors.size())
            scene.paint.text_in(inner.take_bottom(line), shape_text(scene.network->tensors[t].desc),
                                colors::dim, theme.small, Align::left, Fit::elide);
    }
    if (inner.h() >= line)
        scene.paint.text_in(inner.take_bottom(line), name, colors::strong, theme.strong, Align::left,
                            Fit::elide);
    if (roomy)
        scene.paint.text_in(inner.take_bottom(line), above, colors::dim, theme.small, Align::left,
                            Fit::elide);
    if (grid.picture_h >= scene.s(12)) {
        Rect picture = inner;
        picture.y1 = picture.y0 + grid.picture_h;
        draw_picture(scene, picture, layer);
    }
}

void LayerStrip::draw(Scene& scene, const Rect& place) {
    if (place.h() < scene.s(24)) return;
    scene.canvas.clear_rect(place.x0, place.y0, place.w(), place.h(), colors::strip);
    if (!scene.network || scene.network->layers.empty()) {
        empty_note(scene, place, "The layers of the model appear here.");
        return;
    }
    const Rect inside = place.inset(scene.s(12), scene.s(8));
    Grid grid;
    grid.card_w = scene.s(card_width);
    grid.card_h = inside.h();
    grid.pitch = grid.card_w + scene.s(card_gap);
    grid.picture_w = grid.card_w - scene.s(12);
    grid.picture_h = std::max(0.0f, grid.card_h - scene.s(8 + 6 + 4 + 4 + 4) - 3 * scene.s(line_height));
    ImGui::PushClipRect({place.x0, place.y0}, {place.x1, place.y1}, true);
    const Painter::Scrolling scrolling(scene.paint);
    const Touch t = touch("strip", place);
    scroll(scene, inside, grid);
    const int count = static_cast<int>(scene.network->layers.size());
    const float lead = inside.x0 - place.x0;
    grid.first = std::clamp(static_cast<int>((scroll_ - lead) / grid.pitch), 0, count - 1);
    grid.last =
        std::clamp(static_cast<int>((scroll_ + place.w() - lead) / grid.pitch), grid.first, count - 1);
    fill_atlas(scene, grid);
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    for (int layer = grid.first; layer <= grid.last; ++layer) {
        const float x = std::floor(inside.x0 - scroll_) + static_cast<float>(layer) * grid.pitch;
        const Rect card{x, inside.y0, x + grid.card_w, inside.y1};
        draw_card(scene, card, grid, layer);
        if (!t.hovered || !card.contains(mouse.x, mouse.y)) continue;
        if (layer != scene.layer) scene.paint.frame(card, rgb(0x4a5464), scene.s(6));
        if (t.clicked) scene.emit("layer " + std::to_string(layer));
        const engine::LayerInfo& info = scene.network->layers[static_cast<std::size_t>(layer)];
        const measure::Quantiles time = scene.figures.layer_ms(layer);
        Tip tip_window(scene);
        tip_window.line({{info.name, colors::strong, scene.theme().strong}});
        tip_window.line(
            {{info.op, category_color(info.category)}, {info.summary.empty() ? "" : "  "}, {info.summary}});
        if (!info.algorithm.empty()) tip_window.pair("algorithm", info.algorithm);
        if (time.samples > 0) tip_window.pair("time", format_ms(time.median));
        for (const std::string& fused : info.fused) tip_window.pair("fused", fused);
    }
    ImGui::PopClipRect();
}

}  // namespace convlens::ui

#include "app/ui/map_wall.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "app/ui/format.h"
#include "app/ui/widgets.h"

namespace convlens::ui {

namespace {

// Addresses count from their tensor's base: the arenas take turns.
bool same(const render::AtlasTile& a, std::uint64_t base_a, const render::AtlasTile& b,
          std::uint64_t base_b) {
    return a.address - base_a == b.address - base_b && a.stride_x == b.stride_x && a.stride_y == b.stride_y &&
           a.stride_c == b.stride_c && a.width == b.width && a.height == b.height &&
           a.channels == b.channels && a.source_x == b.source_x && a.source_y == b.source_y &&
           a.source_w == b.source_w && a.source_h == b.source_h && a.dst_x == b.dst_x && a.dst_y == b.dst_y &&
           a.dst_w == b.dst_w && a.dst_h == b.dst_h && a.lo == b.lo && a.hi == b.hi &&
           a.color_map == b.color_map && a.kind == b.kind;
}

// Same places: only values changed, so that nothing outside the tiles has to be cleared.
bool same_places(const std::vector<render::AtlasTile>& a, const std::vector<render::AtlasTile>& b) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](const auto& p, const auto& q) {
               return p.dst_x == q.dst_x && p.dst_y == q.dst_y && p.dst_w == q.dst_w && p.dst_h == q.dst_h;
           });
}

const char* policy_text(commands::RangePolicy policy) {
    switch (policy) {
        case commands::RangePolicy::map:
            return "map";
        case commands::RangePolicy::layer:
            return "layer";
        case commands::RangePolicy::network:
            return "network";
        default:
            return "manual";
    }
}

std::string manual_line(const ColorRange& range) {
    char text[64];
    std::snprintf(text, sizeof text, "range manual %.9g %.9g", static_cast<double>(range.lo),
                  static_cast<double>(range.hi));
    return text;
}

}  // namespace

ColorRange MapWall::shared_range(const Scene& scene) const {
    const auto layer = static_cast<std::size_t>(std::max(0, scene.layer));
    const auto of = [](const measure::MapStatistics& s) { return range_of(s.min, s.max); };
    if (scene.view.range == commands::RangePolicy::manual)
        return range_as_given(scene.view.range_lo, scene.view.range_hi);
    const auto& all = scene.snapshot.layer_statistics;
    if (scene.view.range == commands::RangePolicy::network && !all.empty()) {
        double min = 0, max = 0;
        for (const measure::MapStatistics& s : all) {
            min = std::min<double>(min, s.min);
            max = std::max<double>(max, s.max);
        }
        return range_of(min, max);
    }
    if (scene.statistics_fit && !scene.snapshot.maps.empty()) {
        double min = 1e300, max = -1e300;
        for (const measure::MapStatistics& s : scene.snapshot.maps) {
            if (s.count > 0 && s.count == s.nan_count + s.inf_count) continue;
            min = std::min<double>(min, s.min);
            max = std::max<double>(max, s.max);
        }
        return min <= max ? range_of(min, max) : range_of(0, 0);
    }
    if (layer < all.size() && all[layer].count > 0) return of(all[layer]);
    return {};
}

ColorRange MapWall::range_of_map(const Scene& scene, std::int64_t map, const ColorRange& shared) const {
    if (scene.view.range != commands::RangePolicy::map) return shared;
    const measure::MapStatistics* s = scene.statistics(map);
    return s ? range_of(s->min, s->max) : shared;
}

float MapWall::draw_range_menu(Scene& scene, float right, float mid, const ColorRange& range, float least_x) {
    const std::string value = policy_text(scene.view.range);
    const float w = chip_width(scene, "Range", value, true);
    if (right - w < least_x) return right;
    const Rect place{right - w, mid - scene.s(13), right, mid + scene.s(13)};
    if (chip(scene, "range", place, "Range", value, true,
             "What the ends of the colours are taken from: each map, the layer, the network, or as set (R)"))
        ImGui::OpenPopup("ranges");
    ImGui::SetNextWindowPos({place.x0, place.y1 + scene.s(4)}, ImGuiCond_Appearing);
    if (ImGui::BeginPopup("ranges")) {
        using commands::RangePolicy;
        const auto item = [&](RangePolicy policy, const char* text, std::string line) {
            if (ImGui::Selectable(text, scene.view.range == policy)) scene.emit(std::move(line));
        };
        item(RangePolicy::map, "map: each map its own", "range map");
        item(RangePolicy::layer, "layer: comparable inside the layer", "range layer");
        item(RangePolicy::network, "network: comparable between layers", "range network");
        item(RangePolicy::manual, "manual: keep the present ends", manual_line(range));
        ImGui::EndPopup();
    }
    return place.x0 - scene.s(8);
}

void MapWall::draw_header(Scene& scene, Rect place, const ColorRange& range) {
    const Theme& theme = scene.theme();
    const float mid = (place.y0 + place.y1) / 2;
    const std::string& name = scene.layer_info->name;
    const float name_w = std::min(scene.paint.width(name, theme.title) + 1, place.w() * 0.55f);
    float right = place.x1;
    const float least_x = place.x0 + name_w + scene.s(16);
    const bool each = scene.view.range == commands::RangePolicy::map;
    if (range.known && !each) {
        const std::string low = format_figure(range.lo, 2), high = format_figure(range.hi, 2);
        const float low_w = scene.paint.width(low, theme.text), high_w = scene.paint.width(high, theme.text);
        const float bar_w = scene.s(place.w() > scene.s(760) ? 180.0f : 100.0f);
        const float w = low_w + high_w + bar_w + scene.s(16);
        if (right - w >= least_x) {
            scene.paint.text_in({right - high_w - 1, place.y0, right, place.y1}, high, colors::dim,
                                theme.text, Align::right);
            right -= high_w + scene.s(8);
            const Rect bar{right - bar_w, mid - scene.s(5), right, mid + scene.s(5)};
            color_bar(bar, range.map);
            if (range.lo < 0 && range.hi > 0) {
                const float x = bar.x0 + range.place(0) * bar.w();
                scene.paint.line(x, bar.y1 + scene.s(1), x, bar.y1 + scene.s(4), colors::dim);
            }
            float value = 0;
            const auto& probe = scene.view.probe;
            if (probe && scene.value_at(probe->channel, probe->row, probe->column, value) &&
                std::isfinite(value)) {
                const float x = std::round(bar.x0 + range.place(value) * bar.w());
                scene.paint.fill({x - scene.s(2), bar.y0 - scene.s(3), x + scene.s(2), bar.y1 + scene.s(3)},
                                 colors::ground);
                scene.paint.fill({x - scene.s(1), bar.y0 - scene.s(3), x + scene.s(1), bar.y1 + scene.s(3)},
                                 colors::strong);
            }
            right = bar.x0 - scene.s(8);
            scene.paint.text_in({right - low_w - 1, place.y0, right, place.y1}, low, colors::dim, theme.text,
                                Align::right);
            right -= low_w + scene.s(14);
        }
    }
    right = draw_range_menu(scene, right, mid, range, least_x);
    if (view_.zoom > 1.0001) {
        const std::string zoom = format_figure(view_.zoom) + "\u00d7";
        const float w = chip_width(scene, "Fit", zoom, false);
        if (right - w >= least_x) {
            const Rect chip_place{right - w, mid - scene.s(13), right, mid + scene.s(13)};
            chip(scene, "fit", chip_place, "Fit", zoom, false, "Show the whole wall (F, double click)");
            if (touch("fit click", chip_place, true).clicked) scene.emit("fit");
            right = chip_place.x0 - scene.s(8);
        }
    }
    if (!scene.paint.text_in({place.x0, place.y0, std::min(right, place.x0 + name_w), place.y1}, name,
                             colors::strong, theme.title, Align::left, Fit::elide) &&
        touch("layer title", {place.x0, place.y0, place.x0 + name_w, place.y1}).hovered)
        tip(scene, name);
    std::string about = format_count(scene.maps.count) + (scene.maps.count == 1 ? " map of " : " maps of ") +
                        std::to_string(scene.maps.height) + " \u00d7 " + std::to_string(scene.maps.width);
    if (scene.maps.height == 1 && scene.maps.width == 1)
        about = format_count(scene.maps.count) + (scene.maps.count == 1 ? " value" : " values");
    const Rect rest{least_x, place.y0, right, place.y1};
    if (rest.w() < scene.paint.width(about, theme.text)) return;
    if (!scene.layer_info->summary.empty()) {
        const std::string whole = about + " \u00b7 " + scene.layer_info->summary;
        if (scene.paint.width(whole, theme.text) <= rest.w()) about = whole;
    }
    scene.paint.text_in(rest, about, colors::dim, theme.text, Align::left, Fit::elide);
}

void MapWall::handle_mouse(Scene& scene, const Rect& pane) {
    const Touch t = touch("wall", pane);
    const ImGuiIO& io = ImGui::GetIO();
    const float x = io.MousePos.x - pane.x0, y = io.MousePos.y - pane.y0;
    if (t.hovered && io.MouseWheel != 0)
        view_ = layout_.zoomed(view_, std::pow(1.25, static_cast<double>(io.MouseWheel)), x, y);
    const bool dragged = io.MouseDragMaxDistanceSqr[0] > scene.s(4) * scene.s(4);
    if (t.held && dragged) {
        view_.x -= io.MouseDelta.x / view_.zoom;
        view_.y -= io.MouseDelta.y / view_.zoom;
        view_ = layout_.clamped(view_);
        ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    }
    std::optional<WallCell> cell;
    if (t.hovered) cell = layout_.at(static_cast<int>(x), static_cast<int>(y), view_);
    if (cell) {
        scene.view.probe = commands::Probe{cell->map, cell->row, cell->column};
        probe_of_mouse_ = true;
    } else if (probe_of_mouse_) {
        scene.view.probe.reset();
        probe_of_mouse_ = false;
    }
    if (t.double_clicked)
        scene.emit("fit");
    else if (t.clicked && !dragged && cell)
        scene.emit("map " + std::to_string(cell->map));
    scene.view.wall_zoom = view_.zoom;
    scene.view.wall_x = view_.x;
    scene.view.wall_y = view_.y;
}

void MapWall::collect_tiles(Scene& scene, const ColorRange& range) {
    tiles_.clear();
    visible_.clear();
    std::int64_t c0 = 0, c1 = 0, r0 = 0, r1 = 0;
    if (!layout_.visible(view_, c0, c1, r0, r1)) return;
    for (std::int64_t r = r0; r <= r1; ++r) {
        for (std::int64_t c = c0; c <= c1; ++c) {
            const std::int64_t map = r * layout_.columns() + c;
            if (map >= scene.maps.count) break;
            const TileEdges edges = layout_.tile(map, view_);
            const std::int64_t x0 = std::max<std::int64_t>(edges.x0, 0),
                               y0 = std::max<std::int64_t>(edges.y0, 0);
            const std::int64_t x1 = std::min<std::int64_t>(edges.x1, drawn_w_),
                               y1 = std::min<std::int64_t>(edges.y1, drawn_h_);
            if (x1 <= x0 || y1 <= y0) continue;
            const ColorRange own = range_of_map(scene, map, range);
            render::AtlasTile tile;
            tile.address = scene.address + static_cast<std::uint64_t>(scene.maps.offset(map) * 4);
            tile.stride_x = scene.maps.stride_x;
            tile.stride_y = scene.maps.stride_y;
            tile.width = static_cast<std::int32_t>(scene.maps.width);
            tile.height = static_cast<std::int32_t>(scene.maps.height);
            const double sx = static_cast<double>(scene.maps.width) / static_cast<double>(edges.width());
            const double sy = static_cast<double>(scene.maps.height) / static_cast<double>(edges.height());
            tile.source_x = static_cast<float>(static_cast<double>(x0 - edges.x0) * sx);
            tile.source_y = static_cast<float>(static_cast<double>(y0 - edges.y0) * sy);
            tile.source_w = static_cast<float>(static_cast<double>(x1 - x0) * sx);
            tile.source_h = static_cast<float>(static_cast<double>(y1 - y0) * sy);
            tile.dst_x = static_cast<std::int32_t>(x0);
            tile.dst_y = static_cast<std::int32_t>(y0);
            tile.dst_w = static_cast<std::int32_t>(x1 - x0);
            tile.dst_h = static_cast<std::int32_t>(y1 - y0);
            tile.lo = own.lo;
            tile.hi = own.hi;
            tile.color_map = own.map;
            tiles_.push_back(tile);
            visible_.push_back(map);
        }
    }
}

void MapWall::fill_atlas(Scene& scene, const Rect& pane) {
    texture_ = scene.canvas.atlas("wall", static_cast<int>(pane.w()), static_cast<int>(pane.h()));
    const bool moved = !same_places(tiles_, drawn_);
    // A pass over the same picture gives the same values, bit by bit.
    const bool fresh = scene.values() != drawn_values_ || scene.network->generation != drawn_generation_ ||
                       scene.tensor != drawn_tensor_;
    const auto unchanged = [&](const render::AtlasTile& a, const render::AtlasTile& b) {
        return same(a, scene.address, b, drawn_base_);
    };
    if (!moved && !fresh && std::equal(tiles_.begin(), tiles_.end(), drawn_.begin(), unchanged)) return;
    scene.canvas.fill("wall", tiles_, moved, colors::ground);
    drawn_ = tiles_;
    drawn_values_ = scene.values();
    drawn_generation_ = scene.network->generation;
    drawn_tensor_ = scene.tensor;
    drawn_base_ = scene.address;
}

void MapWall::draw_tiles(Scene& scene, const Rect& pane) {
    // One quad over the part that has tiles.
    std::int32_t x0 = drawn_w_, y0 = drawn_h_, x1 = 0, y1 = 0;
    for (const render::AtlasTile& tile : tiles_) {
        x0 = std::min(x0, tile.dst_x);
        y0 = std::min(y0, tile.dst_y);
        x1 = std::max(x1, tile.dst_x + tile.dst_w);
        y1 = std::max(y1, tile.dst_y + tile.dst_h);
    }
    if (x1 <= x0 || y1 <= y0) return;
    const auto aw = static_cast<float>(std::max(1, scene.canvas.atlas_width("wall")));
    const auto ah = static_cast<float>(std::max(1, scene.canvas.atlas_height("wall")));
    const auto fx0 = static_cast<float>(x0), fy0 = static_cast<float>(y0), fx1 = static_cast<float>(x1),
               fy1 = static_cast<float>(y1);
    ImGui::GetWindowDrawList()->AddImage(reinterpret_cast<ImTextureID>(texture_),
                                         {pane.x0 + fx0, pane.y0 + fy0}, {pane.x0 + fx1, pane.y0 + fy1},
                                         {fx0 / aw, fy0 / ah}, {fx1 / aw, fy1 / ah});
}

void MapWall::draw_marks(Scene& scene, const Rect& pane) {
    const Theme& theme = scene.theme();
    const Painter::Scrolling cut_by_pan(scene.paint);
    char number[24];
    for (const std::int64_t map : visible_) {
        const TileEdges e = layout_.tile(map, view_);
        const Rect tile{pane.x0 + static_cast<float>(e.x0), pane.y0 + static_cast<float>(e.y0),
                        pane.x0 + static_cast<float>(e.x1), pane.y0 + static_cast<float>(e.y1)};
        if (map == scene.view.map)
            scene.paint.frame(
                {tile.x0 - scene.s(2), tile.y0 - scene.s(2), tile.x1 + scene.s(2), tile.y1 + scene.s(2)},
                colors::accent, scene.s(2), scene.s(2));
        const measure::MapStatistics* s = scene.statistics(map);
        if (s && scene.maps.height * scene.maps.width > 1) {
            const char* badge = s->nan_count > 0   ? "NaN"
                                : s->inf_count > 0 ? "Inf"
                                : s->is_dead()     ? "dead"
                                : s->is_constant() ? "const"
                                                   : nullptr;
            const ImU32 color = s->nan_count + s->inf_count > 0 ? colors::error : colors::warning;
            if (badge) {
                const float w = scene.paint.width(badge, theme.small) + scene.s(8), h = scene.s(14);
                if (tile.w() >= w + scene.s(6) && tile.h() >= h + scene.s(6)) {
                    const Rect pill{tile.x1 - w - scene.s(3), tile.y0 + scene.s(3), tile.x1 - scene.s(3),
                                    tile.y0 + scene.s(3) + h};
                    scene.paint.fill(pill, color, scene.s(3));
                    scene.paint.text_in(pill, badge, colors::ground, theme.small, Align::center);
                } else if (tile.w() >= scene.s(8)) {
                    // Small walls may have hundreds of dead maps: their marks stay behind the maps.
                    const bool loud = s->nan_count + s->inf_count > 0;
                    const float d = scene.s(tile.w() >= scene.s(24) || loud ? 4.0f : 3.0f);
                    scene.paint.fill({tile.x1 - d - 1, tile.y0 + 1, tile.x1 - 1, tile.y0 + 1 + d},
                                     loud ? color : with_alpha(color, 130));
                }
            }
        }
        if (tile.w() < scene.s(30) || tile.h() < scene.s(22)) continue;
        const int length = std::snprintf(number, sizeof number, "%lld", static_cast<long long>(map));
        const float x = std::max(tile.x0, pane.x0) + scene.s(4),
                    y = tile.y1 - scene.s(3) - theme.small->FontSize;
        const std::string_view text(number, static_cast<std::size_t>(length));
        scene.paint.text(x + 1, y + 1, text, rgb(0x000000, 190), theme.small);
        scene.paint.text(x, y, text, colors::strong, theme.small);
    }
}

// Numbers inside elements that are large enough to hold them.
void MapWall::draw_values(Scene& scene, const Rect& pane, const ColorRange& range) {
    if (tiles_.empty()) return;
    const Painter::Scrolling cut_by_pan(scene.paint);
    const TileEdges first = layout_.tile(visible_[0], view_);
    const double cell_w = static_cast<double>(first.width()) / static_cast<double>(scene.maps.width);
    const double cell_h = static_cast<double>(first.height()) / static_cast<double>(scene.maps.height);
    if (cell_w < scene.s(46) || cell_h < scene.s(18)) return;
    int most = 600;
    for (std::size_t i = 0; i < tiles_.size(); ++i) {
        const render::AtlasTile& tile = tiles_[i];
        const ColorRange own = range_of_map(scene, visible_[i], range);
        const auto y0 = static_cast<std::int64_t>(tile.source_y),
                   x0 = static_cast<std::int64_t>(tile.source_x);
        const auto y1 = std::min<std::int64_t>(
            scene.maps.height, static_cast<std::int64_t>(std::ceil(tile.source_y + tile.source_h)));
        const auto x1 = std::min<std::int64_t>(
            scene.maps.width, static_cast<std::int64_t>(std::ceil(tile.source_x + tile.source_w)));
        for (std::int64_t row = y0; row < y1; ++row) {
            for (std::int64_t column = x0; column < x1; ++column) {
                float value = 0;
                if (--most < 0) return;
                if (!scene.value_at(visible_[i], row, column, value)) continue;
                double x = 0, y = 0;
                layout_.position({visible_[i], row, column}, view_, x, y);
                const std::string text = format_figure(value);
                const ImU32 under = render::color_at(own.map, own.place(value));
                const unsigned light = (under & 255) * 3 + ((under >> 8) & 255) * 6 + ((under >> 16) & 255);
                const float w = scene.paint.width(text, scene.theme().small);
                scene.paint.text(pane.x0 + static_cast<float>(x) - w / 2,
                                 pane.y0 + static_cast<float>(y) - scene.theme().small->FontSize / 2, text,
                                 light > 1300 ? rgb(0x10131a) : rgb(0xe6edf5, 220), scene.theme().small);
            }
        }
    }
}

void MapWall::draw_probe_tip(Scene& scene, const Rect& pane, const ColorRange& shared) {
    if (!scene.view.probe) return;
    const commands::Probe& probe = *scene.view.probe;
    float value = 0;
    if (!scene.value_at(probe.channel, probe.row, probe.column, value)) return;
    double x = 0, y = 0;
    layout_.position({probe.channel, probe.row, probe.column}, view_, x, y);
    if (!probe_of_mouse_) {
        if (x < 0 || y < 0 || x >= pane.w() || y >= pane.h()) return;
        const auto px = pane.x0 + static_cast<float>(x), py = pane.y0 + static_cast<float>(y);
        const TileEdges edges = layout_.tile(probe.channel, view_);
        const auto w = static_cast<float>(edges.width()) / static_cast<float>(scene.maps.width),
                   h = static_cast<float>(edges.height()) / static_cast<float>(scene.maps.height);
        // Around the element where it is large enough to be seen, so that its number stays readable.
        if (w >= scene.s(12) && h >= scene.s(12))
            scene.paint.frame({std::floor(px - w / 2), std::floor(py - h / 2), std::floor(px + w / 2),
                               std::floor(py + h / 2)},
                              colors::accent, 0, scene.s(2));
        else
            ImGui::GetWindowDrawList()->AddCircle({px, py}, scene.s(4), colors::accent, 0,
                                                  1.5f * scene.theme().scale);
    }
    const ColorRange range = range_of_map(scene, probe.channel, shared);
    const Theme& theme = scene.theme();
    const auto body = [&](Tip& t) {
        const std::string text = format_value(value);
        const std::string channel = format_count(probe.channel);
        t.line({{text, colors::accent, theme.mono}, {"  at map "}, {channel, colors::strong}});
        const std::string row = format_count(probe.row), column = format_count(probe.column);
        if (scene.maps.height * scene.maps.width > 1)
            t.line({{"row "}, {row, colors::strong}, {", column "}, {column, colors::strong}});
        if (scene.maps.height * scene.maps.width == 1)
            for (const engine::ClassScore& score : scene.snapshot.outputs.top)
                if (score.index == probe.channel &&
                    scene.layer + 1 == static_cast<int>(scene.network->layers.size()))
                    t.line({{score.label, colors::strong}});
        if (!range.known || !(range.hi > range.lo)) return;
        const Rect room = t.room(scene.s(150), scene.s(12));
        const Rect bar{room.x0, room.y0 + scene.s(3), room.x1, room.y1 - scene.s(3)};
        color_bar(bar, range.map);
        const float tick = std::round(bar.x0 + range.place(value) * bar.w());
        if (std::isfinite(value))
            scene.paint.fill({tick - scene.s(1), room.y0, tick + scene.s(1), room.y1}, colors::strong);
        const std::string low = format_figure(range.lo, 2), high = format_figure(range.hi, 2);
        t.line({{low, colors::dim, theme.small},
                {" to ", colors::dim, theme.small},
                {high, colors::dim, theme.small}});
    };
    if (probe_of_mouse_) {
        Tip t(scene);
        body(t);
    } else if (pane.w() >= scene.s(380) && pane.h() >= scene.s(90)) {
        // Beside the element, on the side with more room.
        const float w = scene.s(180), h = scene.s(84);
        const float px =
            pane.x0 + static_cast<float>(x) + (x > pane.w() / 2 ? -w - scene.s(12) : scene.s(12));
        const float py = std::min(pane.y0 + static_cast<float>(y) + scene.s(8), pane.y1 - h);
        Tip t(scene, std::floor(px), std::floor(py));
        body(t);
    }
}

void MapWall::draw(Scene& scene, const Rect& place) {
    if (place.w() < scene.s(20) || place.h() < scene.s(20)) return;
    if (!scene.network) {
        empty_note(scene, place,
                   "No model yet. Choose one at the top, or drop an .onnx file onto the window.");
        return;
    }
    if (!scene.layer_info || scene.tensor < 0 || scene.maps.count == 0) {
        empty_note(scene, place, "This layer has no output to show. Choose another one in the strip.");
        return;
    }
    Rect pane = place.inset(scene.s(12), scene.s(4));
    const ColorRange range = shared_range(scene);
    const Rect header = place.h() >= scene.s(120) ? pane.take_top(scene.s(40)) : Rect{};
    pane.y1 -= scene.s(8);
    pane = {std::floor(pane.x0), std::floor(pane.y0), std::floor(pane.x1), std::floor(pane.y1)};
    if (pane.w() < 8 || pane.h() < 8) return;
    drawn_w_ = static_cast<int>(pane.w());
    drawn_h_ = static_cast<int>(pane.h());
    layout_ = WallLayout(drawn_w_, drawn_h_, scene.maps.count, scene.maps.width, scene.maps.height,
                         scene.theme().scale);
    view_ = layout_.clamped({scene.view.wall_zoom, scene.view.wall_x, scene.view.wall_y});
    if (shown_map_ != scene.view.map || shown_layer_ != scene.layer) {
        view_ = layout_.revealed(view_, scene.view.map);
        shown_map_ = scene.view.map;
        shown_layer_ = scene.layer;
    }
    ImGui::PushClipRect({pane.x0 - scene.s(4), pane.y0 - scene.s(4)},
                        {pane.x1 + scene.s(4), pane.y1 + scene.s(4)}, true);
    handle_mouse(scene, pane);
    if (scene.address != 0 && scene.snapshot.pass > 0) {
        collect_tiles(scene, range);
        fill_atlas(scene, pane);
        draw_tiles(scene, pane);
        draw_marks(scene, pane);
        draw_values(scene, pane, range);
    } else if (scene.snapshot.pass == 0) {
        empty_note(scene, pane, "The maps appear after the first pass.");
    } else {
        empty_note(
            scene, pane,
            "Lean mode has given this layer's memory to others. The maps come with the next pass; in explore "
            "mode all stay.");
    }
    ImGui::PopClipRect();
    if (!header.empty()) draw_header(scene, header, range);
    if (scene.address != 0) draw_probe_tip(scene, pane, range);
}

}  // namespace convlens::ui

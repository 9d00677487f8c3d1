#include "app/ui/statistics_panel.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "app/ui/format.h"
#include "app/ui/widgets.h"

namespace convlens::ui {

namespace {

std::optional<measure::MapStatistics> shown_statistics(const Scene& scene) {
    if (!scene.statistics_fit || scene.snapshot.maps.empty()) return std::nullopt;
    if (scene.view.map >= 0) {
        const measure::MapStatistics* s = scene.statistics(scene.view.map);
        return s ? std::optional(*s) : std::nullopt;
    }
    return measure::joined(scene.snapshot.maps);
}

std::string title_text(const Scene& scene) {
    if (scene.view.map >= 0 && scene.view.map < scene.maps.count)
        return "Map " + std::to_string(scene.view.map);
    if (scene.maps.count == 1) return "The only map";
    return "All " + format_count(scene.maps.count) +
           (scene.maps.height * scene.maps.width == 1 ? " values" : " maps");
}

void draw_histogram(Scene& scene, const Rect& place, const measure::MapStatistics& s) {
    const measure::Histogram& histogram = scene.snapshot.histogram;
    const bool fits = scene.snapshot.histogram_map == scene.view.map && !histogram.counts.empty();
    Rect plot = place;
    const Rect axis = plot.take_bottom(scene.s(18));
    scene.paint.line(plot.x0, plot.y1, plot.x1, plot.y1, colors::separator);
    if (!fits) {
        empty_note(scene, plot, "The histogram comes with the next pass.");
        return;
    }
    const std::int64_t most = *std::max_element(histogram.counts.begin(), histogram.counts.end());
    if (most <= 0) {
        empty_note(scene, plot, "No finite values.");
        return;
    }
    const float bin_w = plot.w() / static_cast<float>(histogram.counts.size());
    const double span = static_cast<double>(histogram.hi) - histogram.lo;
    // Where one bin towers over the rest (zeros after an activation) the others are scaled by the next one.
    std::int64_t second = 0;
    for (const std::int64_t count : histogram.counts)
        if (count != most) second = std::max(second, count);
    const bool towering = second > 0 && most > 4 * second;
    const auto top = static_cast<float>(towering ? second + second / 4 : most);
    const ImU32 color = category_color(scene.layer_info->category);
    for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
        if (histogram.counts[i] == 0) continue;
        const float h =
            std::max(1.0f, std::min(1.0f, static_cast<float>(histogram.counts[i]) / top) * plot.h());
        const float x0 = std::round(plot.x0 + static_cast<float>(i) * bin_w);
        const float x1 = std::max(x0 + 1, std::round(plot.x0 + static_cast<float>(i + 1) * bin_w) - 1);
        scene.paint.fill({x0, std::round(plot.y1 - h), x1, plot.y1}, color);
        if (towering && static_cast<float>(histogram.counts[i]) > top)
            scene.paint.fill({x0, plot.y0 + scene.s(4), x1, plot.y0 + scene.s(6)}, colors::panel);
    }
    const auto x_of = [&](double v) {
        return std::round(plot.x0 + static_cast<float>((v - histogram.lo) / span) * plot.w());
    };
    if (span > 0 && histogram.lo < 0 && histogram.hi > 0)
        scene.paint.line(x_of(0), plot.y0, x_of(0), plot.y1 + scene.s(4), colors::faint);
    if (span > 0 && s.mean >= histogram.lo && s.mean <= histogram.hi) {
        const float x = x_of(s.mean);
        scene.paint.fill({x - scene.s(1), plot.y0, x + scene.s(1), plot.y1}, rgb(0xe6edf5, 200));
        ImGui::GetWindowDrawList()->AddTriangleFilled({x - scene.s(4), plot.y0}, {x + scene.s(4), plot.y0},
                                                      {x, plot.y0 + scene.s(5)}, colors::strong);
    }
    const ImFont* font = scene.theme().small;
    const std::string low = format_figure(histogram.lo), high = format_figure(histogram.hi);
    const float low_w = scene.paint.width(low, font), high_w = scene.paint.width(high, font);
    scene.paint.text_in(axis, low, colors::dim, font);
    scene.paint.text_in(axis, high, colors::dim, font, Align::right);
    if (span > 0 && histogram.lo < 0 && histogram.hi > 0) {
        const float x = x_of(0), half = scene.paint.width("0", font) / 2;
        if (x - half > axis.x0 + low_w + scene.s(6) && x + half < axis.x1 - high_w - scene.s(6))
            scene.paint.text(x - half, axis.y0 + (axis.h() - font->FontSize) / 2, "0", colors::dim, font);
    }
    const Touch t = touch("histogram", plot);
    if (!t.hovered) return;
    const float x = ImGui::GetIO().MousePos.x;
    const auto bin = std::min(histogram.counts.size() - 1,
                              static_cast<std::size_t>(std::max(0.0f, (x - plot.x0) / bin_w)));
    const double step = span / static_cast<double>(histogram.counts.size());
    Tip tip_window(scene);
    tip_window.pair("from", format_figure(histogram.lo + step * static_cast<double>(bin)));
    tip_window.pair("to", format_figure(histogram.lo + step * static_cast<double>(bin + 1)));
    tip_window.pair("values", format_count(histogram.counts[bin]));
    if (towering)
        tip_window.wrapped("The highest bar is cut off; the mark near its top says so.", colors::dim);
}

void draw_cells(Scene& scene, Rect& place, std::initializer_list<std::pair<const char*, std::string>> cells) {
    const Theme& theme = scene.theme();
    const Rect line = place.take_top(scene.s(38));
    if (line.h() < scene.s(36)) return;
    const float w = line.w() / static_cast<float>(cells.size());
    float x = line.x0;
    for (const auto& cell : cells) {
        scene.paint.text_in({x, line.y0, x + w - 2, line.y0 + scene.s(18)}, cell.first, colors::dim,
                            theme.text);
        scene.paint.text_in({x, line.y0 + scene.s(17), x + w - 2, line.y0 + scene.s(36)}, cell.second,
                            colors::strong, theme.text);
        x += w;
    }
    place.take_top(scene.s(8));
}

}  // namespace

void draw_statistics_summary(Scene& scene, Rect place) {
    if (place.h() < scene.s(118) || !scene.layer_info || scene.maps.count == 0) return;
    section_label(scene, place.x0, place.y0, title_text(scene));
    place.take_top(scene.s(20));
    const std::optional<measure::MapStatistics> s = shown_statistics(scene);
    if (!s) {
        empty_note(scene, place, "Statistics come with the next pass.");
        return;
    }
    const float plot = std::min(place.h() - scene.s(46), scene.s(100));
    draw_histogram(scene, place.take_top(plot), *s);
    place.take_top(scene.s(4));
    draw_cells(scene, place,
               {{"min", format_figure(s->min)},
                {"mean", format_figure(s->mean)},
                {"max", format_figure(s->max)},
                {"zeros", format_percent(s->zero_share)}});
}

void draw_statistics_panel(Scene& scene, Rect place) {
    if (!scene.layer_info || scene.maps.count == 0) {
        empty_note(scene, place, "Statistics of the selected layer appear here.");
        return;
    }
    if (place.h() < scene.s(40)) return;
    const Rect head = place.take_top(scene.s(24));
    section_label(scene, head.x0, head.y0 + scene.s(2), title_text(scene));
    if (scene.view.map >= 0) {
        const float w = scene.paint.width("All maps", scene.theme().text) + scene.s(20);
        if (head.w() > w + scene.s(120) &&
            button(scene, "all maps", {head.x1 - w, head.y0 - scene.s(3), head.x1, head.y0 + scene.s(21)},
                   "All maps", {true, false, "Statistics of the whole layer (Escape)"}))
            scene.emit("map none");
    }
    place.take_top(scene.s(4));
    const std::optional<measure::MapStatistics> s = shown_statistics(scene);
    if (!s) {
        empty_note(scene, place,
                   "Statistics come with the next pass. In lean mode only the selected layer has them.");
        return;
    }
    const float plot = std::clamp(place.h() - scene.s(160), scene.s(60), scene.s(190));
    if (place.h() >= plot) draw_histogram(scene, place.take_top(plot), *s);
    place.take_top(scene.s(8));
    draw_cells(
        scene, place,
        {{"min", format_figure(s->min)}, {"mean", format_figure(s->mean)}, {"max", format_figure(s->max)}});
    draw_cells(scene, place,
               {{"deviation", format_figure(s->deviation)},
                {"zeros", format_percent(s->zero_share)},
                {"values", format_count(s->count)}});
    draw_cells(scene, place,
               {{"NaN", format_count(s->nan_count)},
                {"Inf", format_count(s->inf_count)},
                {"state", s->nan_count + s->inf_count > 0 ? "not finite"
                          : s->is_dead()                  ? "dead"
                          : s->is_constant()              ? "constant"
                                                          : "alive"}});
}

}  // namespace convlens::ui

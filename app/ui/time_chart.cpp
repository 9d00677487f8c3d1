#include "app/ui/time_chart.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "app/ui/foot_text.h"
#include "app/ui/format.h"
#include "app/ui/widgets.h"

namespace convlens::ui {

namespace {

void layer_tip(Scene& scene, int layer) {
    const engine::LayerInfo& info = scene.network->layers[static_cast<std::size_t>(layer)];
    const measure::Quantiles time = scene.figures.layer_ms(layer), cpu = scene.figures.layer_cpu_ms(layer);
    Tip t(scene);
    t.line({{info.name, colors::strong, scene.theme().strong}});
    t.line(
        {{info.op, category_color(info.category)}, {info.algorithm.empty() ? "" : "  "}, {info.algorithm}});
    if (time.samples == 0) return;
    t.pair("median", format_ms(time.median));
    t.pair("p10 to p90", format_ms(time.p10) + " to " + format_ms(time.p90));
    if (cpu.samples > 0) t.pair("processor time of all threads", format_ms(cpu.median));
    const double sum = scene.figures.sum_layers_ms();
    if (sum > 0) t.pair("share of all layers", format_percent(time.median / sum));
}

void draw_bars(Scene& scene, const Rect& plot, double top) {
    const int count = static_cast<int>(scene.network->layers.size());
    const float pitch = plot.w() / static_cast<float>(count);
    const float gap = pitch >= 6 * scene.theme().scale ? scene.s(2) : pitch >= 3 ? 1.0f : 0.0f;
    float column_end = -1;
    float column_height = 0;
    for (int layer = 0; layer < count; ++layer) {
        const measure::Quantiles time = scene.figures.layer_ms(layer);
        const float begin = std::floor(plot.x0 + static_cast<float>(layer) * pitch);
        const float end = std::max(begin + 1, std::floor(plot.x0 + static_cast<float>(layer + 1) * pitch));
        const float bar_w = std::min(std::max(1.0f, end - begin - gap), scene.s(28));
        const float x0 = std::floor(begin + (end - begin - gap - bar_w) / 2), x1 = x0 + bar_w;
        if (layer == scene.layer) {
            const Rect column{begin - std::floor(gap / 2), plot.y0,
                              std::max(end - std::floor(gap / 2), begin + scene.s(3)), plot.y1};
            scene.paint.fill(column, colors::accent_ground);
            scene.paint.fill({column.x0, plot.y1 + scene.s(1), column.x1, plot.y1 + scene.s(3)},
                             colors::accent);
        }
        if (time.samples == 0) continue;
        const float h = std::max(1.0f, static_cast<float>(time.median / top) * plot.h());
        // More layers than pixels: the highest bar of a pixel column stays in sight.
        if (x0 < column_end && h <= column_height) continue;
        column_end = x1;
        column_height = h;
        const engine::LayerInfo& info = scene.network->layers[static_cast<std::size_t>(layer)];
        scene.paint.fill({x0, std::floor(plot.y1 - h), x1, plot.y1}, category_color(info.category));
        if (x1 - x0 >= scene.s(4) && time.p90 > time.p10) {
            const float x = std::floor((x0 + x1) / 2);
            const float high = std::max(plot.y0, plot.y1 - static_cast<float>(time.p90 / top) * plot.h());
            const float low = plot.y1 - static_cast<float>(time.p10 / top) * plot.h();
            scene.paint.fill({x, std::floor(high), x + 1, std::ceil(std::max(low, high + 1))},
                             rgb(0xe6edf5, 70));
        }
    }
}

}  // namespace

void draw_time_chart(Scene& scene, Rect place) {
    const measure::Quantiles pass = scene.figures.pass_ms();
    const Rect head = place.take_top(scene.s(24));
    std::string title = "Time by layer";
    if (pass.samples > 0)
        title += pass.samples == 1 ? ", one pass" : ", median of " + std::to_string(pass.samples) + " passes";
    if (scene.paint.width(title, scene.theme().label) * 1.25f > head.w()) title = "Time by layer";
    section_label(scene, head.x0, head.y0 + scene.s(2), title);
    if (!scene.network || scene.network->layers.empty()) {
        empty_note(scene, place, "Times appear after the first passes of a model.");
        return;
    }
    const Rect foot = place.take_bottom(scene.s(24));
    draw_foot_figures(scene, foot,
                      {{"whole pass", format_ms(pass.samples > 0 ? pass.median : -1)},
                       {"sum of layers", format_ms(scene.figures.sum_layers_ms())},
                       {"unexplained", pass.samples > 0 && scene.figures.unexplained_ms() < 0
                                           ? "\u2212" + format_ms(-scene.figures.unexplained_ms())
                                           : format_ms(scene.figures.unexplained_ms())},
                       {"clock cost subtracted", format_ms(scene.figures.clock_cost_ms())}});
    const double slowest = scene.figures.slowest_layer_ms();
    if (slowest <= 0) {
        empty_note(scene, place, "Times appear after the first passes of a model.");
        return;
    }
    Rect plot = place;
    plot.y1 -= scene.s(5);
    if (plot.h() < scene.s(12)) return;
    // The axis' top: its figure stands above the line at the right end.
    const double top = slowest * 1.02;
    draw_bars(scene, plot, top);
    scene.paint.line(plot.x0, plot.y1, plot.x1, plot.y1, colors::separator);
    const std::string high = format_ms(slowest);
    const float high_w = scene.paint.width(high, scene.theme().small);
    if (head.w() > scene.paint.width(title, scene.theme().label) * 1.25f + high_w + scene.s(20))
        scene.paint.text_in({head.x1 - high_w - 1, head.y0, head.x1, head.y0 + scene.s(18)}, high,
                            colors::dim, scene.theme().small, Align::right);
    const Touch t = touch("time chart", place);
    if (!t.hovered) return;
    const int count = static_cast<int>(scene.network->layers.size());
    const int layer = std::clamp(
        static_cast<int>((ImGui::GetIO().MousePos.x - plot.x0) / plot.w() * static_cast<float>(count)), 0,
        count - 1);
    if (t.clicked) scene.emit("layer " + std::to_string(layer));
    layer_tip(scene, layer);
}

}  // namespace convlens::ui

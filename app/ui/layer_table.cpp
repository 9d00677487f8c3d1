#include "app/ui/layer_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/ui/format.h"
#include "app/ui/widgets.h"

namespace convlens::ui {

namespace {

struct ColumnInfo {
    const char* title;
    float width;  // unscaled; 0 takes the rest
    bool numeric;
    int priority;  // larger ones go first when the window is narrow
};

constexpr int column_count = static_cast<int>(TableColumn::count);
constexpr ColumnInfo columns[column_count] = {
    {"#", 36, true, 0},         {"layer", 0, false, 0},       {"operation", 140, false, 3},
    {"shape", 110, false, 4},   {"algorithm", 128, false, 2}, {"ms", 60, true, 0},
    {"share", 128, true, 1},    {"p10 to p90", 116, true, 6}, {"cpu ms", 66, true, 8},
    {"GFLOP/s", 70, true, 5},   {"operations", 86, true, 7},  {"moved", 80, true, 9},
    {"workspace", 84, true, 6}, {"weights", 80, true, 9},
};

const engine::LayerInfo& info_of(const Scene& scene, int layer) {
    return scene.network->layers[static_cast<std::size_t>(layer)];
}

std::string shape_of(const Scene& scene, int layer) {
    const auto& outputs = info_of(scene, layer).outputs;
    if (outputs.empty() || outputs[0] < 0 ||
        static_cast<std::size_t>(outputs[0]) >= scene.network->tensors.size())
        return {};
    return shape_text(scene.network->tensors[static_cast<std::size_t>(outputs[0])].desc);
}

double elements_of(const Scene& scene, int layer) {
    const auto& outputs = info_of(scene, layer).outputs;
    if (outputs.empty() || outputs[0] < 0 ||
        static_cast<std::size_t>(outputs[0]) >= scene.network->tensors.size())
        return 0;
    return static_cast<double>(scene.network->tensors[static_cast<std::size_t>(outputs[0])].desc.elements());
}

double rate_of(const Scene& scene, int layer) {
    const measure::Quantiles time = scene.figures.layer_ms(layer);
    const double flops = info_of(scene, layer).flops;
    return time.samples > 0 && time.median > 0 && flops > 0 ? flops / (time.median * 1e6) : -1;
}

double number_of(const Scene& scene, int layer, TableColumn column) {
    const measure::Quantiles time = scene.figures.layer_ms(layer);
    switch (column) {
        case TableColumn::shape:
            return elements_of(scene, layer);
        case TableColumn::median:
        case TableColumn::share:
            return time.samples > 0 ? time.median : -1;
        case TableColumn::spread:
            return time.samples > 0 ? time.p90 - time.p10 : -1;
        case TableColumn::cpu: {
            const measure::Quantiles cpu = scene.figures.layer_cpu_ms(layer);
            return cpu.samples > 0 ? cpu.median : -1;
        }
        case TableColumn::rate:
            return rate_of(scene, layer);
        case TableColumn::operations:
            return info_of(scene, layer).flops;
        case TableColumn::moved:
            return info_of(scene, layer).bytes;
        case TableColumn::workspace:
            return static_cast<double>(scene.figures.layer_workspace(layer));
        case TableColumn::weights:
            return static_cast<double>(scene.figures.layer_weights(layer));
        default:
            return layer;
    }
}

std::string text_of(const Scene& scene, int layer, TableColumn column) {
    const engine::LayerInfo& info = info_of(scene, layer);
    const measure::Quantiles time = scene.figures.layer_ms(layer);
    switch (column) {
        case TableColumn::index:
            return std::to_string(layer);
        case TableColumn::name:
            return info.name;
        case TableColumn::operation:
            return info.fused.empty() ? info.op : info.op + " + " + std::to_string(info.fused.size());
        case TableColumn::shape:
            return shape_of(scene, layer);
        case TableColumn::algorithm:
            return info.algorithm;
        case TableColumn::median:
            return time.samples > 0 ? format_figure(time.median) : not_measured;
        case TableColumn::spread:
            return time.samples > 0 ? format_figure(time.p10) + " \u2013 " + format_figure(time.p90)
                                    : not_measured;
        case TableColumn::cpu: {
            const measure::Quantiles cpu = scene.figures.layer_cpu_ms(layer);
            return cpu.samples > 0 ? format_figure(cpu.median) : not_measured;
        }
        case TableColumn::rate:
            return rate_of(scene, layer) >= 0 ? format_figure(rate_of(scene, layer)) : not_measured;
        case TableColumn::operations:
            return format_operations(info.flops);
        case TableColumn::moved:
            return format_bytes(info.bytes);
        case TableColumn::workspace:
            return format_bytes(static_cast<double>(scene.figures.layer_workspace(layer)));
        case TableColumn::weights:
            return format_bytes(static_cast<double>(scene.figures.layer_weights(layer)));
        default:
            return {};
    }
}

struct Shown {
    int column;
    float x, width;
};

std::vector<Shown> shown_columns(const Scene& scene, float x, float room) {
    std::vector<int> kept(column_count);
    std::iota(kept.begin(), kept.end(), 0);
    constexpr float name_least = 130;
    const auto total = [&] {
        float w = scene.s(name_least);
        for (const int c : kept) w += scene.s(columns[c].width);
        return w;
    };
    while (total() > room) {
        const auto worst = std::max_element(kept.begin(), kept.end(), [](int a, int b) {
            return columns[a].priority <= columns[b].priority;
        });
        if (columns[*worst].priority == 0) break;
        kept.erase(worst);
    }
    const float name_w =
        std::max(scene.s(60), std::min(room - (total() - scene.s(name_least)), scene.s(420)));
    // What the name does not need goes between the columns.
    const float spare =
        std::max(0.0f, room - (total() - scene.s(name_least)) - name_w) / static_cast<float>(kept.size());
    std::vector<Shown> result;
    for (const int c : kept) {
        const float w = (columns[c].width == 0 ? name_w : scene.s(columns[c].width)) + spare;
        result.push_back({c, x, w});
        x += w;
    }
    return result;
}

void draw_heads(Scene& scene, const Rect& place, const std::vector<Shown>& shown) {
    const ImFont* font = scene.theme().small;
    for (const Shown& s : shown) {
        const ColumnInfo& column = columns[s.column];
        const Rect cell{s.x, place.y0, s.x + s.width, place.y1};
        const bool sorted_by = scene.view.table_sort_column == s.column;
        ImGui::PushID(s.column);
        const Touch t = touch("head", cell);
        ImGui::PopID();
        const ImU32 color = sorted_by ? colors::accent : t.hovered ? colors::text : colors::dim;
        const Rect text = cell.inset(scene.s(6), 0);
        scene.paint.text_in(text, column.title, color, font, column.numeric ? Align::right : Align::left,
                            Fit::elide);
        if (sorted_by) {
            const float w = scene.paint.width(column.title, font), r = scene.s(3);
            const float x = column.numeric ? text.x1 - w - scene.s(8) : text.x0 + w + scene.s(8);
            const float y = (cell.y0 + cell.y1) / 2;
            const float sign = scene.view.table_sort_descending ? 1.0f : -1.0f;
            if (x > cell.x0 && x < cell.x1)
                ImGui::GetWindowDrawList()->AddTriangleFilled({x - r, y - sign * r * 0.6f},
                                                              {x + r, y - sign * r * 0.6f},
                                                              {x, y + sign * r * 0.8f}, color);
        }
        if (!t.clicked) continue;
        // Figures are wanted largest first.
        const bool descending =
            sorted_by ? !scene.view.table_sort_descending : column.numeric && s.column != 0;
        scene.emit("sort " + std::to_string(s.column) + (descending ? " descending" : " ascending"));
    }
}

void draw_cell(Scene& scene, int layer, const Shown& s, const Rect& cell, double sum) {
    const Theme& theme = scene.theme();
    const auto column = static_cast<TableColumn>(s.column);
    const engine::LayerInfo& info = info_of(scene, layer);
    Rect text = cell.inset(scene.s(6), 0);
    if (column == TableColumn::share) {
        const measure::Quantiles time = scene.figures.layer_ms(layer);
        const double share = time.samples > 0 && sum > 0 ? time.median / sum : -1;
        const Rect figure = text.take_right(scene.s(52));
        if (share < 0) {
            scene.paint.text_in(figure, not_measured, colors::faint, theme.text, Align::right);
            return;
        }
        const float mid = (cell.y0 + cell.y1) / 2;
        const double most = scene.figures.slowest_layer_ms();
        scene.paint.bar({text.x0, mid - scene.s(4), text.x1 - scene.s(4), mid + scene.s(4)},
                        time.median / most, category_color(info.category), 0);
        scene.paint.text_in(figure, format_percent(share), colors::text, theme.text, Align::right);
        return;
    }
    ImU32 color = columns[s.column].numeric ? colors::text : colors::dim;
    if (column == TableColumn::name || column == TableColumn::median) color = colors::strong;
    if (column == TableColumn::index) color = colors::faint;
    if (column == TableColumn::name) {
        const float mid = (cell.y0 + cell.y1) / 2;
        scene.paint.fill({text.x0, mid - scene.s(4), text.x0 + scene.s(3), mid + scene.s(4)},
                         category_color(info.category), scene.s(1));
        text.take_left(scene.s(9));
    }
    scene.paint.text_in(text, text_of(scene, layer, column), color, theme.text,
                        columns[s.column].numeric ? Align::right : Align::left, Fit::elide);
}

}  // namespace

std::vector<int> LayerTable::sorted(const Scene& scene, int column, bool descending) {
    std::vector<int> order(scene.network ? scene.network->layers.size() : 0);
    std::iota(order.begin(), order.end(), 0);
    if (column < 0 || column >= column_count) column = 0;
    const auto by = static_cast<TableColumn>(column);
    if (by == TableColumn::name || by == TableColumn::operation || by == TableColumn::algorithm) {
        std::vector<std::string> keys;
        for (const int layer : order) keys.push_back(text_of(scene, layer, by));
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
            const int c = keys[static_cast<std::size_t>(a)].compare(keys[static_cast<std::size_t>(b)]);
            return descending ? c > 0 : c < 0;
        });
        return order;
    }
    std::vector<double> keys;
    for (const int layer : order) keys.push_back(number_of(scene, layer, by));
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        const double x = keys[static_cast<std::size_t>(a)], y = keys[static_cast<std::size_t>(b)];
        return descending ? x > y : x < y;
    });
    return order;
}

void LayerTable::draw(Scene& scene, Rect place) {
    if (!scene.network || scene.network->layers.empty()) {
        empty_note(scene, place, "The table of layers fills when a model is open.");
        return;
    }
    const Rect heads = place.take_top(scene.s(20));
    const float bar_w = ImGui::GetStyle().ScrollbarSize;
    const std::vector<Shown> shown = shown_columns(scene, place.x0, place.w() - bar_w - scene.s(4));
    draw_heads(scene, heads, shown);
    scene.paint.line(place.x0, heads.y1, place.x1, heads.y1, colors::separator);
    place.take_top(scene.s(2));
    const float row_h = scene.s(22);
    if (place.h() < row_h) return;
    const std::vector<int> order =
        sorted(scene, scene.view.table_sort_column, scene.view.table_sort_descending);
    ImGui::SetCursorScreenPos({place.x0, place.y0});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
    if (ImGui::BeginChild("table rows", {place.w(), place.h()}, false, ImGuiWindowFlags_NoBackground)) {
        const Painter::Scrolling scrolling(scene.paint);
        const double sum = scene.figures.sum_layers_ms();
        if (shown_layer_ != scene.layer) {
            shown_layer_ = scene.layer;
            const auto row =
                static_cast<float>(std::find(order.begin(), order.end(), scene.layer) - order.begin());
            const float y = row * row_h, top = ImGui::GetScrollY();
            if (y < top || y + row_h > top + place.h())
                ImGui::SetScrollY(std::max(0.0f, y - (place.h() - row_h) / 2));
        }
        const ImVec2 at = ImGui::GetCursorScreenPos();
        const int count = static_cast<int>(order.size());
        const int first = std::clamp(static_cast<int>((place.y0 - at.y) / row_h), 0, count - 1);
        const int last = std::min(count - 1, static_cast<int>((place.y1 - at.y) / row_h));
        for (int i = first; i <= last; ++i) {
            const int layer = order[static_cast<std::size_t>(i)];
            const float y = std::round(at.y + static_cast<float>(i) * row_h);
            const Rect row{place.x0, y, place.x1 - bar_w - scene.s(2), y + row_h};
            ImGui::PushID(layer);
            const Touch t = touch("row", row);
            ImGui::PopID();
            if (layer == scene.layer)
                scene.paint.fill(row, colors::accent_row, scene.s(4));
            else if (t.hovered)
                scene.paint.fill(row, colors::raised, scene.s(4));
            for (const Shown& s : shown) draw_cell(scene, layer, s, {s.x, y, s.x + s.width, y + row_h}, sum);
            if (t.clicked) scene.emit("layer " + std::to_string(layer));
        }
        ImGui::SetCursorScreenPos({at.x, at.y + static_cast<float>(count) * row_h - 1});
        ImGui::Dummy({1, 1});
    }
    ImGui::EndChild();
    ImGui::PopStyleVar();
}

}  // namespace convlens::ui

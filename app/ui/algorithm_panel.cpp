#include "app/ui/algorithm_panel.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "app/ui/format.h"
#include "app/ui/statistics_panel.h"
#include "app/ui/widgets.h"

namespace convlens::ui {

namespace {

struct Columns {
    Rect dot, name, bar, ms, workspace, error;
    bool has_bar = false, has_workspace = false, has_error = false;
};

// The name column holds the longest name of the table as long as the figures leave room; bars take the rest.
Columns columns_of(const Scene& scene, Rect row, float longest_name) {
    Columns c;
    row = row.inset(scene.s(8), 0);
    c.dot = row.take_left(scene.s(18));
    const float least = longest_name + 1 + scene.s(48);
    c.has_workspace = row.w() >= least + scene.s(60);
    c.has_error = row.w() >= least + scene.s(60 + 54);
    if (c.has_error) c.error = row.take_right(scene.s(54));
    if (c.has_workspace) c.workspace = row.take_right(scene.s(60));
    c.ms = row.take_right(scene.s(48));
    c.name = row.take_left(std::min(std::ceil(longest_name) + 1, row.w()));
    row.take_left(scene.s(8));
    row.take_right(scene.s(2));
    c.has_bar = row.w() >= scene.s(16);
    if (c.has_bar) c.bar = row.take_left(std::min(row.w(), scene.s(72)));
    return c;
}

float longest_name(const Scene& scene) {
    float longest = scene.paint.width("algorithm", scene.theme().small);
    for (const engine::AlgorithmRow& row : scene.layer_info->rows)
        longest = std::max(longest, scene.paint.width(row.name, scene.theme().text));
    return longest;
}

const char* error_class_text(const std::string& error_class) {
    if (error_class == "exact-order") return "bit for bit as the reference";
    if (error_class == "fp32") return "direct sums in 32-bit floating point";
    if (error_class == "winograd") return "Winograd: sums of transformed values";
    if (error_class == "fft") return "by Fourier transform";
    return error_class.c_str();
}

void row_tip(Scene& scene, const engine::AlgorithmRow& row, const Figures::Row& figures) {
    const Theme& theme = scene.theme();
    Tip t(scene);
    t.line({{row.name, colors::strong, theme.strong}, {row.active ? "  runs now" : "", colors::accent}});
    if (!row.applicable) {
        t.wrapped(row.reason.empty() ? "Not applicable here." : row.reason, colors::dim);
        return;
    }
    if (figures.median_ms) {
        t.pair("median", format_ms(*figures.median_ms));
        if (figures.p10_ms && figures.p90_ms)
            t.pair("p10 to p90", format_ms(*figures.p10_ms) + " to " + format_ms(*figures.p90_ms));
        if (row.samples > 0 && !figures.max_error) t.pair("samples", format_count(row.samples));
        if (scene.layer_info->flops > 0 && *figures.median_ms > 0)
            t.pair("rate, direct-equivalent",
                   format_operations(scene.layer_info->flops / (*figures.median_ms * 1e-3)) + "FLOP/s");
    } else {
        t.wrapped("Not measured yet: Measure all times every algorithm of this layer.", colors::dim);
    }
    t.pair("workspace", format_bytes(figures.workspace_bytes));
    t.pair("max error against the reference",
           figures.max_error ? format_error(*figures.max_error) : not_measured);
    if (!row.error_class.empty()) t.pair("accuracy", error_class_text(row.error_class));
    t.pair("repeatable", row.deterministic ? "bit for bit" : "not bit for bit");
    if (!row.active)
        t.line({{"Click: the network uses it from the next pass on.", colors::dim, theme.small}});
}

void draw_row(Scene& scene, const engine::AlgorithmRow& row, int index, const Rect& place, float name_w,
              double slowest) {
    const Theme& theme = scene.theme();
    const Columns c = columns_of(scene, place, name_w);
    const Figures::Row figures = scene.figures.row(row, index);
    ImGui::PushID(index);
    const Touch t = touch("row", place);
    ImGui::PopID();
    if (row.active)
        scene.paint.fill(place, colors::accent_row, scene.s(4));
    else if (t.hovered && row.applicable)
        scene.paint.fill(place, colors::raised, scene.s(4));
    const float mid = (place.y0 + place.y1) / 2, dot_x = c.dot.x0 + scene.s(5), radius = 4 * theme.scale;
    ImDrawList* list = ImGui::GetWindowDrawList();
    if (!row.applicable)
        scene.paint.line(dot_x - radius, mid, dot_x + radius, mid, colors::faint);
    else if (row.active)
        list->AddCircleFilled({dot_x, mid}, radius, colors::accent);
    else
        list->AddCircle({dot_x, mid}, radius, colors::dim, 0, 1.2f * theme.scale);
    if (!row.applicable) {
        const Rect reason{c.name.x1 + scene.s(8), place.y0, place.x1 - scene.s(8), place.y1};
        scene.paint.text_in(c.name, row.name, colors::faint, theme.text, Align::left, Fit::elide);
        const std::string text = row.reason.empty() ? "not applicable" : row.reason;
        // The beginning says most: cut at the end.
        std::string shown = text;
        while (!shown.empty() && scene.paint.width(shown + "\u2026", theme.text) > reason.w()) {
            do shown.pop_back();
            while (!shown.empty() && (static_cast<unsigned char>(shown.back()) & 0xc0) == 0x80);
        }
        if (scene.paint.width(text, theme.text) <= reason.w())
            shown = text;
        else
            shown += "\u2026";
        scene.paint.text_in(reason, shown, colors::faint, theme.text);
    } else {
        scene.paint.text_in(c.name, row.name, row.active ? colors::strong : colors::text, theme.text,
                            Align::left, Fit::elide);
        if (c.has_bar && figures.median_ms && slowest > 0) {
            const Rect bar{c.bar.x0, mid - scene.s(4), c.bar.x1, mid + scene.s(4)};
            scene.paint.bar(bar, *figures.median_ms / slowest, row.active ? colors::accent : colors::bar, 0);
        }
        scene.paint.text_in(c.ms, figures.median_ms ? format_figure(*figures.median_ms) : not_measured,
                            figures.median_ms ? colors::strong : colors::faint, theme.text, Align::right);
        if (c.has_workspace)
            scene.paint.text_in(c.workspace,
                                figures.workspace_bytes > 0 ? format_bytes(figures.workspace_bytes) : "0",
                                colors::text, theme.text, Align::right);
        if (c.has_error)
            scene.paint.text_in(c.error, figures.max_error ? format_error(*figures.max_error) : not_measured,
                                figures.max_error ? colors::text : colors::faint, theme.text, Align::right);
    }
    if (t.hovered) row_tip(scene, row, figures);
    if (t.clicked && row.applicable && !row.active)
        scene.emit("algorithm " + quoted(scene.layer_info->name) + " " + quoted(row.name));
}

void draw_heads(Scene& scene, const Rect& place, float name_w) {
    const ImFont* font = scene.theme().small;
    const Columns c = columns_of(scene, place, name_w);
    scene.paint.text_in(c.name, "algorithm", colors::dim, font, Align::left, Fit::elide);
    scene.paint.text_in(c.ms, "ms", colors::dim, font, Align::right);
    if (c.has_workspace) scene.paint.text_in(c.workspace, "workspace", colors::dim, font, Align::right);
    if (c.has_error) scene.paint.text_in(c.error, "max error", colors::dim, font, Align::right);
}

void draw_buttons(Scene& scene, const Rect& place) {
    const std::string layer = quoted(scene.layer_info->name);
    const engine::AlgorithmRow* active = nullptr;
    for (const engine::AlgorithmRow& row : scene.layer_info->rows)
        if (row.active) active = &row;
    const bool measuring = scene.snapshot.measuring;
    struct Item {
        const char* id;
        const char* label;
        std::string command;
        ButtonLook look;
    };
    const Item items[] = {
        {"measure",
         measuring ? "Cancel" : "Measure all",
         measuring ? "measure cancel" : "measure " + layer,
         {true, measuring,
          measuring
              ? "Stop the finder; what it has measured stays"
              : "Time every algorithm of this layer on its present data and compare with the reference"}},
        {"automatic",
         "Automatic",
         "algorithm " + layer + " auto",
         {true, false, "Let the list's own choice run this layer"}},
        {"everywhere",
         "Use everywhere",
         active ? "algorithm * " + quoted(active->name) : "",
         {active != nullptr, false,
          active ? "Every layer that can uses this layer's algorithm"
                 : "No algorithm of the list runs this layer"}},
    };
    const float gap = scene.s(8), w = (place.w() - 2 * gap) / 3;
    const float widest = scene.paint.width("Use everywhere", scene.theme().text) + scene.s(10);
    const int shown = w >= widest ? 3 : 1;
    for (int i = 0; i < shown; ++i) {
        const float x0 = shown == 1 ? place.x0 : std::floor(place.x0 + static_cast<float>(i) * (w + gap));
        const float x1 = shown == 1 ? place.x1 : std::floor(x0 + w);
        const Item& item = items[i];
        if (x1 - x0 < scene.paint.width(item.label, scene.theme().text) + scene.s(8)) continue;
        if (button(scene, item.id, {x0, place.y0, x1, place.y1}, item.label, item.look))
            scene.emit(item.command);
    }
}

// Operations and bytes: what the work is, whoever does it.
void draw_work(Scene& scene, Rect& place) {
    const engine::LayerInfo& info = *scene.layer_info;
    if (info.flops <= 0 || place.h() < scene.s(60)) return;
    const Theme& theme = scene.theme();
    section_label(scene, place.x0, place.y0, "Work");
    place.take_top(scene.s(18));
    const measure::Quantiles time = scene.figures.layer_ms(scene.layer);
    struct Item {
        const char* label;
        std::string value;
    };
    const Item items[] = {
        {"direct", format_operations(info.flops) + "FLOP"},
        {"executed", format_operations(info.executed_flops) + "FLOP"},
        {"rate", time.samples > 0 && time.median > 0
                     ? format_operations(info.flops / (time.median * 1e-3)) + "FLOP/s"
                     : not_measured},
        {"moved", format_bytes(info.bytes)},
    };
    const Rect line = place.take_top(scene.s(38));
    static constexpr float shares[] = {0.24f, 0.24f, 0.3f, 0.22f};
    float x = line.x0;
    for (int i = 0; i < 4; ++i) {
        const float w = line.w() * shares[i];
        scene.paint.text_in({x, line.y0, x + w - 2, line.y0 + scene.s(18)}, items[i].label, colors::dim,
                            theme.text, Align::left, Fit::elide);
        scene.paint.text_in({x, line.y0 + scene.s(17), x + w - 2, line.y0 + scene.s(36)}, items[i].value,
                            colors::strong, theme.text, Align::left, Fit::elide);
        x += w;
    }
    place.take_top(scene.s(10));
}

}  // namespace

void draw_algorithm_panel(Scene& scene, Rect place) {
    if (!scene.layer_info) {
        empty_note(scene, place, "The algorithms of the selected layer appear here.");
        return;
    }
    const auto& rows = scene.layer_info->rows;
    if (rows.empty()) {
        empty_note(scene, place, "The list of this layer's algorithms comes with the next pass.");
        return;
    }
    const Rect heads = place.take_top(scene.s(22));
    if (scene.snapshot.measuring)
        progress_line(scene, {heads.x0, heads.y1 - scene.s(2), heads.x1, heads.y1},
                      scene.snapshot.measure_progress);
    const float row_h = scene.s(24), buttons_h = scene.s(28);
    double slowest = 0;
    int index = 0;
    for (const engine::AlgorithmRow& row : rows) {
        const Figures::Row figures = scene.figures.row(row, index++);
        if (row.applicable && figures.median_ms) slowest = std::max(slowest, *figures.median_ms);
    }
    const float wanted = static_cast<float>(rows.size()) * row_h;
    // Where there is room for little, the rows have it.
    const bool with_buttons = place.h() - buttons_h - scene.s(16) >= std::min(wanted, 3 * row_h);
    const float room = std::max(row_h, with_buttons ? place.h() - buttons_h - scene.s(16) : place.h());
    const float bar_w = wanted > room ? ImGui::GetStyle().ScrollbarSize : 0;
    const float name_w = longest_name(scene);
    draw_heads(scene, {heads.x0 - scene.s(8), heads.y0, heads.x1 + scene.s(8) - bar_w, heads.y1}, name_w);
    const Rect table = place.take_top(std::min(wanted, room));
    const Rect wide{table.x0 - scene.s(8), table.y0, table.x1 + scene.s(8), table.y1};
    ImGui::SetCursorScreenPos({wide.x0, wide.y0});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
    const bool open = ImGui::BeginChild(
        "algorithm rows", {std::max(1.0f, wide.w()), std::max(1.0f, wide.h())}, false,
        ImGuiWindowFlags_NoBackground | (wanted <= room ? ImGuiWindowFlags_NoScrollbar : 0));
    if (open) {
        const Painter::Scrolling scrolling(scene.paint);
        const ImVec2 at = ImGui::GetCursorScreenPos();
        index = 0;
        for (const engine::AlgorithmRow& row : rows) {
            const float y = at.y + static_cast<float>(index) * row_h;
            draw_row(scene, row, index++, {wide.x0, y, wide.x1 - bar_w, y + row_h}, name_w, slowest);
        }
        ImGui::SetCursorScreenPos({at.x, at.y + wanted - 1});
        ImGui::Dummy({1, 1});
    }
    ImGui::EndChild();
    ImGui::PopStyleVar();
    place.take_top(scene.s(10));
    if (with_buttons && place.h() >= buttons_h) draw_buttons(scene, place.take_top(buttons_h));
    place.take_top(scene.s(16));
    draw_work(scene, place);
    draw_statistics_summary(scene, place);
}

}  // namespace convlens::ui

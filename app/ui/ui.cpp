#include "app/ui/ui.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "app/ui/algorithm_panel.h"
#include "app/ui/arrangement.h"
#include "app/ui/help.h"
#include "app/ui/input_panel.h"
#include "app/ui/keys.h"
#include "app/ui/layer_strip.h"
#include "app/ui/layer_table.h"
#include "app/ui/map_wall.h"
#include "app/ui/memory_chart.h"
#include "app/ui/messages.h"
#include "app/ui/output_panel.h"
#include "app/ui/scene.h"
#include "app/ui/statistics_panel.h"
#include "app/ui/status_bar.h"
#include "app/ui/time_chart.h"
#include "app/ui/widgets.h"

namespace convlens::ui {

struct Ui::Impl {
    explicit Impl(float scale) : theme(build_theme(scale, &missing_font)), paint(theme) {}

    void draw_left(Scene& scene, const Rect& place);
    void draw_right(Scene& scene, const Rect& place);
    void draw_foot(Scene& scene, Rect place);
    void draw_splitters(Scene& scene, const Arrangement& a);

    std::string missing_font;
    Theme theme;
    Painter paint;
    LayerStrip strip;
    InputPanel input;
    OutputPanel output;
    MapWall wall;
    LayerTable table;
    Messages messages;
    bool wants_refresh = false;
    WantedValues wanted;
};

Ui::Ui(float scale) : impl_(std::make_unique<Impl>(scale)) {}
Ui::~Ui() = default;

void Ui::set_scale(float scale) {
    impl_->missing_font.clear();
    impl_->theme = build_theme(scale, &impl_->missing_font);
}

bool Ui::wants_refresh() const { return impl_->wants_refresh; }
const WantedValues& Ui::wanted_values() const { return impl_->wanted; }
const std::vector<std::string>& Ui::clipped_texts() const { return impl_->paint.clipped(); }

void Ui::Impl::draw_left(Scene& scene, const Rect& place) {
    if (place.empty()) return;
    scene.canvas.clear_rect(place.x0, place.y0, place.w(), place.h(), colors::panel);
    ImGui::PushClipRect({place.x0, place.y0}, {place.x1, place.y1}, true);
    Rect inner = place.inset(scene.s(12), scene.s(12));
    const float used = input.draw(scene, inner);
    inner.take_top(used + scene.s(16));
    output.draw(scene, inner);
    ImGui::PopClipRect();
}

void Ui::Impl::draw_right(Scene& scene, const Rect& place) {
    if (place.empty()) return;
    scene.canvas.clear_rect(place.x0, place.y0, place.w(), place.h(), colors::panel);
    ImGui::PushClipRect({place.x0, place.y0}, {place.x1, place.y1}, true);
    Rect inner = place;
    const Rect tabs = inner.take_top(scene.s(36));
    scene.paint.line(tabs.x0, tabs.y1 - 1, tabs.x1, tabs.y1 - 1, colors::separator);
    struct Tab {
        const char* name;
        const char* command;
        commands::RightTab tab;
    };
    static constexpr Tab all[] = {{"Algorithms", "tab algorithms", commands::RightTab::algorithms},
                                  {"Statistics", "tab statistics", commands::RightTab::statistics}};
    float x = tabs.x0 + scene.s(10);
    for (const Tab& tab : all) {
        const bool on = scene.view.right_tab == tab.tab;
        const ImFont* font = on ? theme.strong : theme.text;
        const float w = scene.paint.width(tab.name, theme.strong) + scene.s(20);
        const Rect head{x, tabs.y0, x + w, tabs.y1};
        const Touch t = touch(tab.command, head);
        scene.paint.text_in(head, tab.name,
                            on          ? colors::strong
                            : t.hovered ? colors::text
                                        : colors::dim,
                            font, Align::center);
        if (on) scene.paint.fill({head.x0, head.y1 - scene.s(2), head.x1, head.y1}, colors::accent);
        if (t.clicked && !on) scene.emit(tab.command);
        x += w;
    }
    inner = inner.inset(scene.s(16), scene.s(10));
    if (scene.view.right_tab == commands::RightTab::algorithms)
        draw_algorithm_panel(scene, inner);
    else
        draw_statistics_panel(scene, inner);
    ImGui::PopClipRect();
}

void Ui::Impl::draw_foot(Scene& scene, Rect place) {
    if (place.empty()) return;
    scene.canvas.clear_rect(place.x0, place.y0, place.w(), place.h(), colors::strip);
    ImGui::PushClipRect({place.x0, place.y0}, {place.x1, place.y1}, true);
    const Segment views[] = {{"Charts", true, "Time and memory by layer (T)"},
                             {"Table", true, "All layers, sortable (T)"}};
    const float switch_w = segmented_width(scene, views);
    const bool charts = scene.view.foot_view == commands::FootView::charts;
    Rect inner = place.inset(scene.s(14), scene.s(10));
    const float switch_x = inner.x1 - switch_w;
    const int clicked =
        segmented(scene, "foot", switch_x, place.y0 + scene.s(7), scene.s(24), views, charts ? 0 : 1);
    if (clicked >= 0 && (clicked == 0) != charts) scene.emit(clicked == 0 ? "foot charts" : "foot table");
    inner.y1 = place.y1 - scene.s(4);
    if (!charts) {
        section_label(scene, inner.x0, inner.y0 + scene.s(2), "Layers");
        inner.take_top(scene.s(24));
        table.draw(scene, inner);
    } else if (place.w() < scene.s(560)) {
        inner.x1 -= 0;
        Rect narrow = inner;
        ImGui::PushClipRect({narrow.x0, narrow.y0}, {narrow.x1, narrow.y1}, true);
        const Rect head_room{narrow.x0, narrow.y0, switch_x - scene.s(8), narrow.y1};
        draw_time_chart(scene, {head_room.x0, head_room.y0, narrow.x1, narrow.y1});
        ImGui::PopClipRect();
    } else {
        scene.view.foot_split = std::clamp(scene.view.foot_split, 0.25f, 0.7f);
        const float cut = std::floor(place.x0 + place.w() * scene.view.foot_split);
        draw_time_chart(scene, {inner.x0, inner.y0, cut - scene.s(14), inner.y1});
        draw_memory_chart(scene, {cut + scene.s(14), inner.y0, inner.x1, inner.y1}, switch_w + scene.s(8));
        float size = scene.view.foot_split * place.w() / theme.scale;
        const float whole = place.w() / theme.scale;
        splitter(scene, "foot split", {cut, place.y0, cut + 1, place.y1}, true, 1, size, whole * 0.25f,
                 whole * 0.7f);
        scene.view.foot_split = size / whole;
    }
    ImGui::PopClipRect();
}

void Ui::Impl::draw_splitters(Scene& scene, const Arrangement& a) {
    commands::ViewState& view = scene.view;
    scene.paint.line(a.status.x0, a.status.y1 - 1, a.status.x1, a.status.y1 - 1, colors::separator);
    if (!a.left.empty())
        splitter(scene, "left split", {a.left.x1, a.left.y0, a.left.x1 + 1, a.left.y1}, true, 1,
                 view.left_width, a.least_left, a.most_left);
    if (!a.right.empty())
        splitter(scene, "right split", {a.right.x0, a.right.y0, a.right.x0 + 1, a.right.y1}, true, -1,
                 view.right_width, a.least_right, a.most_right);
    if (!a.strip.empty())
        splitter(scene, "strip split", {a.strip.x0, a.strip.y1, a.strip.x1, a.strip.y1 + 1}, false, 1,
                 view.strip_height, a.least_strip, a.most_strip);
    if (!a.foot.empty())
        splitter(scene, "foot height", {a.foot.x0, a.foot.y0, a.foot.x1, a.foot.y0 + 1}, false, -1,
                 view.foot_height, a.least_foot, a.most_foot);
}

std::vector<std::string> Ui::draw(const UiInput& input, commands::ViewState& view, render::Canvas& canvas) {
    Impl& impl = *impl_;
    std::vector<std::string> lines;
    impl.wants_refresh = false;
    impl.paint.begin();
    Scene scene(input, view, canvas, impl.paint, lines, impl.wants_refresh);
    impl.wanted = {};
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    const Rect window{0, 0, std::floor(size.x), std::floor(size.y)};
    if (window.w() < 4 || window.h() < 4) return lines;
    canvas.clear_rect(0, 0, window.w(), window.h(), colors::ground);
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(size);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
    const bool open =
        ImGui::Begin("##window", nullptr,
                     ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoMove |
                         ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoScrollWithMouse |
                         ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoBringToFrontOnFocus);
    ImGui::PopStyleVar(2);
    if (open) {
        const Arrangement a = arrange(window.w(), window.h(), impl.theme.scale, view);
        canvas.clear_rect(a.status.x0, a.status.y0, a.status.w(), a.status.h(), colors::panel);
        // Splitters first: where two things take the mouse, the first one does.
        impl.draw_splitters(scene, a);
        draw_status_bar(scene, a.status);
        if (!a.strip.empty()) impl.strip.draw(scene, a.strip);
        impl.draw_left(scene, a.left);
        impl.wall.draw(scene, a.wall);
        impl.draw_right(scene, a.right);
        impl.draw_foot(scene, a.foot);
        impl.messages.draw(scene, a.wall);
        draw_help(scene, window);
        handle_keys(scene);
    }
    ImGui::End();
    if (scene.network) impl.wanted = {scene.network->generation, scene.tensor, scene.take_wanted()};
    return lines;
}

}  // namespace convlens::ui

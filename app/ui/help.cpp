#include "app/ui/help.h"

#include <algorithm>
#include <cmath>

#include "app/ui/widgets.h"

namespace convlens::ui {

namespace {

struct Line {
    const char* keys;
    const char* what;
};

constexpr Line lines[] = {
    {"\u2190  \u2192", "previous, next layer"},
    {"\u2191  \u2193", "previous, next map"},
    {"Home  End", "first, last layer"},
    {"Escape", "no map selected; closes this page"},
    {"Wheel", "zooms the wall about the mouse; scrolls strip and tables"},
    {"Drag", "pans the wall; moves the lines between panes"},
    {"F, double click", "shows the whole wall"},
    {"R", "next source of the colours' range: map, layer, network"},
    {"Space", "pauses and resumes"},
    {"S", "one pass while paused"},
    {"N  P", "next, previous picture of a folder"},
    {"M", "explore or lean mode"},
    {"A", "algorithms or statistics"},
    {"T", "charts or table of layers"},
    {"Tab", "panes on both sides, or all room for the wall"},
    {"H  ?", "this page"},
};

}  // namespace

void draw_help(Scene& scene, const Rect& window) {
    if (!scene.view.help_open) return;
    const Theme& theme = scene.theme();
    const float row = scene.s(23), key_w = scene.s(130);
    const float w = std::min(scene.s(560), window.w() - scene.s(8));
    const float h =
        std::min(scene.s(52 + 30) + row * static_cast<float>(std::size(lines)), window.h() - scene.s(8));
    const float x = std::floor((window.x0 + window.x1 - w) / 2),
                y = std::floor((window.y0 + window.y1 - h) / 2);
    ImGui::SetNextWindowPos({x, y});
    ImGui::SetNextWindowSize({w, h});
    ImGui::SetNextWindowFocus();
    ImGui::PushStyleColor(ImGuiCol_WindowBg, ImGui::GetStyleColorVec4(ImGuiCol_PopupBg));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
    if (ImGui::Begin("##help", nullptr,
                     ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove |
                         ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav)) {
        const Painter::Scrolling scrolling(scene.paint);
        const ImVec2 at = ImGui::GetCursorScreenPos();
        float top = at.y;
        const float left = at.x + scene.s(8), right = x + w - scene.s(20);
        scene.paint.text_in({left, top, right, top + scene.s(30)}, "Keys", colors::strong, theme.title,
                            Align::left, Fit::elide);
        const Rect close{right - scene.s(52), top + scene.s(2), right, top + scene.s(28)};
        if (close.x0 > left + scene.s(40) && button(scene, "close help", close, "Close"))
            scene.emit("help off");
        top += scene.s(36);
        for (const Line& line : lines) {
            scene.paint.text_in({left, top, left + key_w, top + row}, line.keys, colors::strong, theme.text,
                                Align::left, Fit::elide);
            scene.paint.text_in({left + key_w, top, right, top + row}, line.what, colors::dim, theme.text,
                                Align::left, Fit::elide);
            top += row;
        }
        top += scene.s(6);
        scene.paint.text_in({left, top, right, top + row},
                            "All of it is commands too: convlens commands lists them.", colors::dim,
                            theme.small, Align::left, Fit::elide);
        ImGui::SetCursorScreenPos({at.x, top + row - 1});
        ImGui::Dummy({1, 1});
        // A click beside the page closes it.
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        if (ImGui::IsMouseClicked(ImGuiMouseButton_Left) &&
            !Rect{x, y, x + w, y + h}.contains(mouse.x, mouse.y))
            scene.emit("help off");
    }
    ImGui::End();
    ImGui::PopStyleVar();
    ImGui::PopStyleColor();
}

}  // namespace convlens::ui

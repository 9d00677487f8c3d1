#include "app/ui/widgets.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace convlens::ui {

namespace {

std::string capitals(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return out;
}

void draw_chevron(Scene& scene, float x, float y, ImU32 color) {
    const float r = scene.s(3);
    ImGui::GetWindowDrawList()->AddTriangleFilled({x - r, y - r * 0.5f}, {x + r, y - r * 0.5f},
                                                  {x, y + r * 0.7f}, color);
}

}  // namespace

Touch touch(const char* id, const Rect& place, bool allow_overlap) {
    Touch result;
    if (place.empty()) return result;
    ImGui::SetCursorScreenPos({place.x0, place.y0});
    result.clicked = ImGui::InvisibleButton(id, {place.w(), place.h()});
    if (allow_overlap) ImGui::SetItemAllowOverlap();
    result.hovered = ImGui::IsItemHovered();
    result.held = ImGui::IsItemActive();
    result.double_clicked = result.hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
    return result;
}

bool button(Scene& scene, const char* id, const Rect& place, std::string_view label, const ButtonLook& look) {
    const Touch t = touch(id, place);
    const float rounding = scene.s(6);
    ImU32 ground = look.on ? colors::accent_ground : colors::raised;
    if (look.enabled && t.hovered && !look.on) ground = colors::raised_hover;
    if (look.enabled && t.held) ground = colors::accent_ground;
    scene.paint.fill(place, ground, rounding);
    scene.paint.frame(place, look.on ? colors::accent_ground : colors::line, rounding);
    const ImU32 color = !look.enabled ? colors::faint : look.on ? colors::strong : colors::text;
    scene.paint.text_in(place.inset(scene.s(4), 0), label, color, scene.theme().text, Align::center);
    if (t.hovered && !look.tooltip.empty()) tip(scene, look.tooltip);
    return t.clicked && look.enabled;
}

float segmented_width(const Scene& scene, std::span<const Segment> segments) {
    float w = 0;
    for (const Segment& segment : segments)
        w += scene.paint.width(segment.label, scene.theme().text) + scene.s(20);
    return w;
}

int segmented(Scene& scene, const char* id, float x, float y, float height, std::span<const Segment> segments,
              int selected) {
    int clicked = -1;
    const float rounding = scene.s(6);
    const Rect whole{x, y, x + segmented_width(scene, segments), y + height};
    scene.paint.fill(whole, colors::raised, rounding);
    scene.paint.frame(whole, colors::line, rounding);
    ImGui::PushID(id);
    for (std::size_t i = 0; i < segments.size(); ++i) {
        const Segment& segment = segments[i];
        const float w = scene.paint.width(segment.label, scene.theme().text) + scene.s(20);
        const Rect place{x, y, x + w, y + height};
        x += w;
        ImGui::PushID(static_cast<int>(i));
        const Touch t = touch("segment", place);
        ImGui::PopID();
        const bool on = static_cast<int>(i) == selected;
        if (on)
            scene.paint.fill(place.inset(1, 1), colors::accent_ground, rounding - 1);
        else if (t.hovered && segment.enabled)
            scene.paint.fill(place.inset(1, 1), colors::raised_hover, rounding - 1);
        const ImU32 color = on ? colors::strong : segment.enabled ? colors::dim : colors::faint;
        scene.paint.text_in(place, segment.label, color, scene.theme().text, Align::center);
        if (t.hovered && !segment.tooltip.empty()) tip(scene, segment.tooltip);
        if (t.clicked && segment.enabled) clicked = static_cast<int>(i);
    }
    ImGui::PopID();
    return clicked;
}

float chip_width(const Scene& scene, std::string_view label, std::string_view value, bool menu) {
    const Theme& theme = scene.theme();
    return scene.paint.width(label, theme.text) + scene.paint.width(value, theme.text) +
           scene.s(menu ? 40.0f : 26.0f) + 1;
}

bool chip(Scene& scene, const char* id, const Rect& place, std::string_view label, std::string_view value,
          bool menu, std::string_view tooltip) {
    const Touch t = touch(id, place);
    const float rounding = scene.s(6);
    scene.paint.fill(place, menu && t.hovered ? colors::raised_hover : colors::raised, rounding);
    scene.paint.frame(place, colors::line, rounding);
    Rect inner = place.inset(scene.s(10), 0);
    if (menu) {
        const Rect mark = inner.take_right(scene.s(8));
        draw_chevron(scene, (mark.x0 + mark.x1) / 2, (mark.y0 + mark.y1) / 2, colors::dim);
        inner.take_right(scene.s(6));
    }
    const float w = scene.paint.width(label, scene.theme().text);
    scene.paint.text_in(inner.take_left(w + 1), label, colors::dim, scene.theme().text);
    inner.take_left(scene.s(6) - 1);
    const bool whole =
        scene.paint.text_in(inner, value, colors::strong, scene.theme().text, Align::left, Fit::elide);
    if (t.hovered && (!tooltip.empty() || !whole)) tip(scene, tooltip.empty() ? value : tooltip);
    return menu && t.clicked;
}

void splitter(Scene& scene, const char* id, const Rect& place, bool vertical, float direction, float& size,
              float least, float most) {
    const float grab = scene.s(3);
    const Rect area = vertical ? Rect{place.x0 - grab, place.y0, place.x1 + grab, place.y1}
                               : Rect{place.x0, place.y0 - grab, place.x1, place.y1 + grab};
    const Touch t = touch(id, area);
    const ImU32 color = t.held ? colors::accent : t.hovered ? rgb(0x46505f) : colors::separator;
    if (vertical)
        scene.paint.line(place.x0, place.y0, place.x0, place.y1, color);
    else
        scene.paint.line(place.x0, place.y0, place.x1, place.y0, color);
    if (t.hovered || t.held)
        ImGui::SetMouseCursor(vertical ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
    if (t.held) {
        const ImVec2 delta = ImGui::GetIO().MouseDelta;
        size += direction * (vertical ? delta.x : delta.y) / scene.theme().scale;
        size = std::clamp(size, least, std::max(least, most));
    }
}

void section_label(Scene& scene, float x, float y, std::string_view text) {
    scene.paint.text(x, y, capitals(text), colors::dim, scene.theme().label);
}

void empty_note(Scene& scene, const Rect& place, std::string_view text) {
    const ImFont* font = scene.theme().text;
    const float w = std::min(place.w() - scene.s(24), scene.s(340));
    if (w < scene.s(60) || place.h() < font->FontSize) return;
    const ImVec2 size = font->CalcTextSizeA(font->FontSize, 1e9f, w, text.data(), text.data() + text.size());
    if (size.y > place.h()) return;
    const float x = place.x0 + (place.w() - size.x) / 2, y = place.y0 + (place.h() - size.y) / 2;
    scene.paint.paragraph({x, y, x + w + 1, place.y1}, text, colors::dim, font);
}

void progress_line(Scene& scene, const Rect& place, double share) {
    scene.paint.fill(place, colors::track);
    const float w = place.w() * static_cast<float>(std::clamp(share, 0.02, 1.0));
    scene.paint.fill({place.x0, place.y0, place.x0 + w, place.y1}, colors::accent);
}

Tip::Tip(Scene& scene) : scene_(scene), placed_(false) {
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(scene.s(10), scene.s(8)));
    ImGui::BeginTooltip();
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, scene.s(3)));
}

Tip::Tip(Scene& scene, float x, float y) : scene_(scene), placed_(true) {
    ImGui::SetNextWindowPos({x, y});
    ImGui::PushStyleColor(ImGuiCol_WindowBg, ImGui::GetStyleColorVec4(ImGuiCol_PopupBg));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
    ImGui::Begin("##placed tip", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoInputs |
                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_AlwaysAutoResize |
                     ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, scene.s(3)));
}

Tip::~Tip() {
    ImGui::PopStyleVar();
    if (placed_) {
        ImGui::End();
        ImGui::PopStyleVar();
        ImGui::PopStyleColor();
    } else {
        ImGui::EndTooltip();
        ImGui::PopStyleVar();
    }
}

void Tip::line(std::initializer_list<Span> spans) {
    bool first = true;
    for (const Span& span : spans) {
        if (span.text.empty()) continue;
        if (!first) ImGui::SameLine(0, 0);
        first = false;
        ImGui::PushFont(const_cast<ImFont*>(span.font ? span.font : scene_.theme().text));
        ImGui::PushStyleColor(ImGuiCol_Text, span.color);
        ImGui::TextUnformatted(span.text.data(), span.text.data() + span.text.size());
        ImGui::PopStyleColor();
        ImGui::PopFont();
    }
}

void Tip::pair(std::string_view label, std::string_view value) {
    line({{label, colors::dim}, {"  ", colors::dim}, {value, colors::strong}});
}

void Tip::wrapped(std::string_view text, ImU32 color) {
    ImGui::PushTextWrapPos(scene_.s(360));
    ImGui::PushStyleColor(ImGuiCol_Text, color);
    ImGui::TextUnformatted(text.data(), text.data() + text.size());
    ImGui::PopStyleColor();
    ImGui::PopTextWrapPos();
}

Rect Tip::room(float width, float height) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::Dummy({width, height});
    return {at.x, at.y, at.x + width, at.y + height};
}

void tip(Scene& scene, std::string_view text) {
    Tip t(scene);
    t.wrapped(text);
}

void color_bar(const Rect& place, render::ColorMap map) {
    if (place.empty()) return;
    ImDrawList* list = ImGui::GetWindowDrawList();
    constexpr int pieces = 24;
    for (int i = 0; i < pieces; ++i) {
        const float a = static_cast<float>(i) / pieces, b = static_cast<float>(i + 1) / pieces;
        const ImU32 left = render::color_at(map, a), right = render::color_at(map, b);
        list->AddRectFilledMultiColor({place.x0 + a * place.w(), place.y0},
                                      {place.x0 + b * place.w(), place.y1}, left, right, right, left);
    }
}

}  // namespace convlens::ui

#include "app/ui/messages.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "app/ui/widgets.h"

namespace convlens::ui {

namespace {

constexpr double news_ms = 6000, error_ms = 15000;
constexpr std::size_t most_shown = 4;

}  // namespace

void Messages::draw(Scene& scene, const Rect& place) {
    if (!scene.input.messages) return;
    const std::vector<engine::Message>& all = *scene.input.messages;
    if (all.size() < seen_) {
        seen_ = 0;
        shown_.clear();
    }
    const double now = scene.input.now_ms;
    for (; seen_ < all.size(); ++seen_) {
        const engine::Message& message = all[seen_];
        // The same sentence again: the one on screen stays longer instead.
        std::erase_if(shown_, [&](const Shown& s) { return all[s.index].text == message.text; });
        const bool error = message.kind == engine::Message::Kind::error;
        shown_.push_back({seen_, now + (error ? error_ms : news_ms)});
    }
    std::erase_if(shown_, [&](const Shown& s) { return s.until_ms <= now; });
    if (shown_.size() > most_shown) shown_.erase(shown_.begin(), shown_.end() - most_shown);
    if (shown_.empty() || place.w() < scene.s(80) || place.h() < scene.s(24)) return;
    scene.wants_refresh = true;  // until the last one has gone

    const Theme& theme = scene.theme();
    const float w = std::min(scene.s(520), place.w() - scene.s(24));
    const float text_w = w - scene.s(46);
    float y = place.y1 - scene.s(12);
    std::size_t closed = all.size();
    for (auto it = shown_.rbegin(); it != shown_.rend(); ++it) {
        const engine::Message& message = all[it->index];
        const std::string& text = message.text;
        const float text_h =
            theme.text
                ->CalcTextSizeA(theme.text->FontSize, 1e9f, text_w, text.data(), text.data() + text.size())
                .y;
        const float h = std::min(text_h + scene.s(18), place.h() - scene.s(12));
        const float x = std::floor(place.x0 + (place.w() - w) / 2);
        if (y - h < place.y0) break;
        ImGui::SetNextWindowPos({x, std::floor(y - h)});
        ImGui::SetNextWindowSize({w, h});
        ImGui::PushStyleColor(ImGuiCol_WindowBg, ImGui::GetStyleColorVec4(ImGuiCol_PopupBg));
        ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
        const std::string id = "##message " + std::to_string(it->index);
        if (ImGui::Begin(id.c_str(), nullptr,
                         ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                             ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav |
                             ImGuiWindowFlags_NoFocusOnAppearing)) {
            const Rect box{x, std::floor(y - h), x + w, std::floor(y - h) + h};
            const ImU32 color = message.kind == engine::Message::Kind::error     ? colors::error
                                : message.kind == engine::Message::Kind::warning ? colors::warning
                                                                                 : colors::accent;
            scene.paint.fill({box.x0, box.y0, box.x0 + scene.s(4), box.y1}, color);
            scene.paint.paragraph(
                {box.x0 + scene.s(16), box.y0 + scene.s(9), box.x0 + scene.s(16) + text_w + 1, box.y1}, text,
                colors::text, theme.text);
            const Rect close{box.x1 - scene.s(28), box.y0, box.x1, box.y0 + scene.s(34)};
            const Touch t = touch("close", close);
            const float cx = (close.x0 + close.x1) / 2, cy = box.y0 + scene.s(17), r = scene.s(4);
            const ImU32 mark = t.hovered ? colors::strong : colors::dim;
            ImGui::GetWindowDrawList()->AddLine({cx - r, cy - r}, {cx + r, cy + r}, mark, 1.3f * theme.scale);
            ImGui::GetWindowDrawList()->AddLine({cx + r, cy - r}, {cx - r, cy + r}, mark, 1.3f * theme.scale);
            if (t.clicked) closed = it->index;
        }
        ImGui::End();
        ImGui::PopStyleVar();
        ImGui::PopStyleColor();
        y -= h + scene.s(8);
    }
    std::erase_if(shown_, [&](const Shown& s) { return s.index == closed; });
}

}  // namespace convlens::ui

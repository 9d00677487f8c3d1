#include "app/ui/paint.h"

#include <algorithm>
#include <cfloat>

namespace convlens::ui {

namespace {

ImVec2 low(const Rect& r) { return {r.x0, r.y0}; }
ImVec2 high(const Rect& r) { return {r.x1, r.y1}; }
float whole(float v) { return static_cast<float>(static_cast<int>(v + (v < 0 ? -0.5f : 0.5f))); }

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The longest prefix of at most `bytes` bytes that ends between two characters.
std::size_t whole_prefix(std::string_view text, std::size_t bytes) {
    bytes = std::min(bytes, text.size());
    while (bytes > 0 && bytes < text.size() && continues(text[bytes])) --bytes;
    return bytes;
}

std::size_t whole_suffix_begin(std::string_view text, std::size_t bytes) {
    std::size_t begin = text.size() - std::min(bytes, text.size());
    while (begin < text.size() && continues(text[begin])) ++begin;
    return begin;
}

}  // namespace

Rect Rect::take_top(float height) {
    const Rect part{x0, y0, x1, std::min(y1, y0 + height)};
    y0 = part.y1;
    return part;
}
Rect Rect::take_bottom(float height) {
    const Rect part{x0, std::max(y0, y1 - height), x1, y1};
    y1 = part.y0;
    return part;
}
Rect Rect::take_left(float width) {
    const Rect part{x0, y0, std::min(x1, x0 + width), y1};
    x0 = part.x1;
    return part;
}
Rect Rect::take_right(float width) {
    const Rect part{std::max(x0, x1 - width), y0, x1, y1};
    x1 = part.x0;
    return part;
}

void Painter::begin() {
    clipped_.clear();
    scrolling_ = 0;
}

void Painter::record(std::string_view text) {
    if (scrolling_ == 0) clipped_.emplace_back(text);
}

float Painter::width(std::string_view text, const ImFont* font) const {
    if (text.empty()) return 0;
    return font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, text.data(), text.data() + text.size()).x;
}

float Painter::text(float x, float y, std::string_view text, ImU32 color, const ImFont* font) {
    if (text.empty()) return 0;
    x = whole(x);
    y = whole(y);
    const float w = width(text, font);
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ImVec2 clip0 = list->GetClipRectMin(), clip1 = list->GetClipRectMax();
    if (x >= clip1.x || y >= clip1.y || x + w <= clip0.x || y + font->FontSize <= clip0.y) return w;
    // The line is higher than its letters: an eighth above and below stays empty.
    const float slack = font->FontSize / 8 + 1;
    if (x + 1 < clip0.x || x + w > clip1.x + 1 || y + slack < clip0.y || y + font->FontSize - slack > clip1.y)
        record(text);
    list->AddText(font, font->FontSize, {x, y}, color, text.data(), text.data() + text.size());
    return w;
}

std::string Painter::elided(std::string_view text, const ImFont* font, float limit) const {
    if (width(text, font) <= limit) return std::string(text);
    static constexpr std::string_view dots = "\u2026";
    std::size_t low_bytes = 0, high_bytes = text.size();
    std::string best(dots);
    while (low_bytes < high_bytes) {
        const std::size_t kept = (low_bytes + high_bytes + 1) / 2;
        // Two thirds from the end: names differ there.
        const std::size_t head = whole_prefix(text, kept / 3);
        const std::size_t tail = std::max(head, whole_suffix_begin(text, kept - kept / 3));
        std::string candidate =
            std::string(text.substr(0, head)) + std::string(dots) + std::string(text.substr(tail));
        if (width(candidate, font) <= limit) {
            best = std::move(candidate);
            low_bytes = kept;
        } else {
            high_bytes = kept - 1;
        }
    }
    return best;
}

bool Painter::text_in(const Rect& place, std::string_view text, ImU32 color, const ImFont* font, Align align,
                      Fit fit) {
    if (text.empty()) return true;
    float w = width(text, font);
    bool fits = w <= place.w() + 0.75f;
    std::string shortened;
    if (!fits) {
        if (fit == Fit::elide) {
            if (place.w() < font->FontSize) return false;
            shortened = elided(text, font, place.w());
            text = shortened;
            w = width(text, font);
        } else {
            record(text);
        }
    }
    float x = place.x0;
    if (align == Align::center) x = place.x0 + std::max(0.0f, (place.w() - w) / 2);
    if (align == Align::right) x = place.x1 - w;
    if (!fits && fit == Fit::must_fit) {
        ImGui::GetWindowDrawList()->PushClipRect(low(place), high(place), true);
        const Scrolling recorded(*this);
        this->text(std::max(x, place.x0), place.y0 + (place.h() - font->FontSize) / 2, text, color, font);
        ImGui::GetWindowDrawList()->PopClipRect();
        return false;
    }
    this->text(x, place.y0 + (place.h() - font->FontSize) / 2, text, color, font);
    return fits;
}

float Painter::paragraph(const Rect& place, std::string_view text, ImU32 color, const ImFont* font) {
    if (text.empty() || place.w() < font->FontSize) return 0;
    const char* begin = text.data();
    const char* end = begin + text.size();
    const ImVec2 size = font->CalcTextSizeA(font->FontSize, FLT_MAX, place.w(), begin, end);
    if (size.y > place.h() + 1) record(text);
    const ImVec4 clip(place.x0, place.y0, place.x1 + 1, place.y1 + 1);
    ImGui::GetWindowDrawList()->AddText(font, font->FontSize, {whole(place.x0), whole(place.y0)}, color,
                                        begin, end, place.w(), &clip);
    return size.y;
}

void Painter::fill(const Rect& place, ImU32 color, float rounding) {
    if (place.empty()) return;
    ImGui::GetWindowDrawList()->AddRectFilled(low(place), high(place), color, rounding);
}

void Painter::frame(const Rect& place, ImU32 color, float rounding, float thickness) {
    if (place.empty()) return;
    ImGui::GetWindowDrawList()->AddRect(low(place), high(place), color, rounding, 0, thickness);
}

void Painter::line(float x0, float y0, float x1, float y1, ImU32 color) {
    if (y0 == y1)
        fill({whole(x0), whole(y0), whole(x1), whole(y0) + 1}, color);
    else
        fill({whole(x0), whole(y0), whole(x0) + 1, whole(y1)}, color);
}

void Painter::bar(const Rect& place, double share, ImU32 color, ImU32 track) {
    if (place.empty()) return;
    const float rounding = std::min(place.h() / 2, 2 * theme_.scale);
    if (track != 0) fill(place, track, rounding);
    if (!(share > 0)) return;
    const float w = std::max(place.h() / 2, place.w() * static_cast<float>(std::min(share, 1.0)));
    fill({place.x0, place.y0, place.x0 + w, place.y1}, color, rounding);
}

}  // namespace convlens::ui

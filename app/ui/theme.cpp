#include "app/ui/theme.h"

#include <array>
#include <cstdio>
#include <string_view>

namespace convlens::ui {

namespace {

constexpr std::array<const char*, 2> inter_folders = {"/usr/share/fonts/opentype/inter/",
                                                      "/usr/share/fonts/truetype/inter/"};
constexpr std::array<const char*, 2> mono_folders = {"/usr/share/fonts/truetype/jetbrains-mono/",
                                                     "/usr/share/fonts/opentype/jetbrains-mono/"};

constexpr ImWchar digit_ranges[] = {'0', '9', 0};
constexpr ImWchar thin_ranges[] = {0x2009, 0x2009, 0x202f, 0x202f, 0};
constexpr ImWchar glyph_ranges[] = {
    0x0020, 0x017f,  // Latin
    0x0391, 0x03c9,  // Greek
    0x2009, 0x2026,  // thin space, dashes, quotes, bullet, ellipsis
    0x202f, 0x202f,  // narrow no-break space
    0x2070, 0x209c,  // superscripts, subscripts
    0x2190, 0x2199,  // arrows
    0x2212, 0x2212,  // minus
    0x2248, 0x2265,  // about, at most, at least
    0,
};

std::string find_face(const std::array<const char*, 2>& folders, const char* file, std::string* missing) {
    for (const char* folder : folders) {
        const std::string path = std::string(folder) + file;
        if (std::FILE* f = std::fopen(path.c_str(), "rb")) {
            std::fclose(f);
            return path;
        }
    }
    if (missing && missing->empty()) *missing = file;
    return {};
}

// ImGui's sizes are ascent to descent; `em` is the type size. Digits come first, at one advance.
ImFont* add_face(const std::string& path, float em, float line, float digit_advance, float spacing) {
    ImFontAtlas& fonts = *ImGui::GetIO().Fonts;
    const float px = static_cast<float>(static_cast<int>(em * line + 0.5f));
    if (path.empty()) {
        ImFontConfig config;
        config.SizePixels = px;
        return fonts.AddFontDefault(&config);
    }
    ImFontConfig digits;
    digits.OversampleH = 2;
    digits.OversampleV = 1;
    digits.PixelSnapH = true;
    digits.GlyphMinAdvanceX = digits.GlyphMaxAdvanceX =
        static_cast<float>(static_cast<int>(digit_advance * em + 0.5f));
    ImFont* font = fonts.AddFontFromFileTTF(path.c_str(), px, &digits, digit_ranges);
    // The face's own thin spaces vanish at these sizes.
    ImFontConfig thin;
    thin.MergeMode = true;
    thin.GlyphMinAdvanceX = thin.GlyphMaxAdvanceX = static_cast<float>(static_cast<int>(0.22f * em + 0.5f));
    fonts.AddFontFromFileTTF(path.c_str(), px, &thin, thin_ranges);
    ImFontConfig rest;
    rest.OversampleH = 2;
    rest.OversampleV = 1;
    rest.MergeMode = true;
    rest.GlyphExtraSpacing.x = spacing;
    fonts.AddFontFromFileTTF(path.c_str(), px, &rest, glyph_ranges);
    return font;
}

ImVec4 color4(ImU32 color) { return ImGui::ColorConvertU32ToFloat4(color); }

void set_style(float scale) {
    ImGuiStyle style;
    style.WindowPadding = {10, 8};
    style.WindowRounding = 6;
    style.PopupRounding = 6;
    style.ChildRounding = 0;
    style.FrameRounding = 4;
    style.ScrollbarRounding = 4;
    style.ScrollbarSize = 8;
    style.WindowBorderSize = 0;
    style.ChildBorderSize = 0;
    style.PopupBorderSize = 1;
    style.FramePadding = {8, 4};
    style.ItemSpacing = {8, 4};
    style.WindowMinSize = {1, 1};
    style.AntiAliasedLinesUseTex = true;
    style.ScaleAllSizes(scale);
    style.PopupBorderSize = 1;
    ImVec4* c = style.Colors;
    c[ImGuiCol_Text] = color4(colors::text);
    c[ImGuiCol_TextDisabled] = color4(colors::dim);
    c[ImGuiCol_WindowBg] = color4(colors::ground);
    c[ImGuiCol_ChildBg] = ImVec4(0, 0, 0, 0);
    c[ImGuiCol_PopupBg] = color4(rgb(0x20252d));
    c[ImGuiCol_Border] = color4(rgb(0x3a4250));
    c[ImGuiCol_Header] = color4(colors::accent_ground);
    c[ImGuiCol_HeaderHovered] = color4(colors::raised_hover);
    c[ImGuiCol_HeaderActive] = color4(colors::accent_ground);
    c[ImGuiCol_ScrollbarBg] = ImVec4(0, 0, 0, 0);
    c[ImGuiCol_ScrollbarGrab] = color4(rgb(0x39414e));
    c[ImGuiCol_ScrollbarGrabHovered] = color4(rgb(0x4a5464));
    c[ImGuiCol_ScrollbarGrabActive] = color4(rgb(0x596577));
    c[ImGuiCol_NavHighlight] = color4(colors::accent);
    ImGui::GetStyle() = style;
}

}  // namespace

ImU32 category_color(const std::string& category) {
    struct Hue {
        std::string_view name;
        ImU32 color;
    };
    static constexpr Hue hues[] = {
        {"convolution", rgb(0x5aa9e6)}, {"depthwise", rgb(0x8f8cff)}, {"normalisation", rgb(0xb48ead)},
        {"activation", rgb(0x8bd17c)},  {"pooling", rgb(0xf2c14e)},   {"fully_connected", rgb(0xff8a5b)},
        {"elementwise", rgb(0x6fd3c7)}, {"concat", rgb(0x6fd3c7)},    {"softmax", rgb(0xf27fb2)},
    };
    for (const Hue& hue : hues)
        if (hue.name == category) return hue.color;
    return rgb(0x8b95a5);
}

const char* category_text(const std::string& category) {
    if (category == "depthwise") return "depthwise convolution";
    if (category == "fully_connected") return "fully connected";
    if (category == "elementwise") return "element-wise";
    return category.c_str();
}

Theme build_theme(float scale, std::string* missing) {
    Theme theme;
    theme.scale = scale;
    ImFontAtlas& fonts = *ImGui::GetIO().Fonts;
    fonts.Clear();
    const std::string regular = find_face(inter_folders, "Inter-Regular.otf", missing);
    const std::string semibold = find_face(inter_folders, "Inter-SemiBold.otf", missing);
    const std::string mono = find_face(mono_folders, "JetBrainsMono-Regular.ttf", missing);
    constexpr float inter_line = 1.21f, mono_line = 1.32f, inter_digit = 0.635f;
    theme.text = add_face(regular, 13 * scale, inter_line, inter_digit, 0);
    theme.strong = add_face(semibold, 13 * scale, inter_line, inter_digit, 0);
    theme.small = add_face(regular, 11 * scale, inter_line, inter_digit, 0);
    theme.label = add_face(semibold, 11 * scale, inter_line, inter_digit, 0.7f * scale);
    theme.title = add_face(semibold, 15 * scale, inter_line, inter_digit, 0);
    theme.mono = add_face(mono, 12 * scale, mono_line, 0.6f, 0);
    fonts.Build();
    set_style(scale);
    return theme;
}

}  // namespace convlens::ui

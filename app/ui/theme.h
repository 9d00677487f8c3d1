// Colours, type and measures of the window.
#pragma once

#include <imgui.h>

#include <string>

namespace convlens::ui {

// 0xRRGGBB and alpha to what ImGui packs.
constexpr ImU32 rgb(unsigned hex, unsigned alpha = 255) {
    return IM_COL32((hex >> 16) & 255, (hex >> 8) & 255, hex & 255, alpha);
}
constexpr ImU32 with_alpha(ImU32 color, unsigned alpha) {
    return (color & ~IM_COL32_A_MASK) | (static_cast<ImU32>(alpha) << IM_COL32_A_SHIFT);
}

namespace colors {
inline constexpr ImU32 ground = rgb(0x14171c), panel = rgb(0x1b1f26), strip = rgb(0x171b21);
inline constexpr ImU32 raised = rgb(0x232831), raised_hover = rgb(0x2b323d), line = rgb(0x2e3541);
inline constexpr ImU32 separator = rgb(0x2a303a), track = rgb(0x262c36);
inline constexpr ImU32 text = rgb(0xd8dee9), strong = rgb(0xe6edf5), dim = rgb(0x8b95a5),
                       faint = rgb(0x667080);
inline constexpr ImU32 accent = rgb(0x4cc2ff), accent_ground = rgb(0x21475c), accent_row = rgb(0x1d3242);
inline constexpr ImU32 warning = rgb(0xf2c14e), error = rgb(0xff6b6b), good = rgb(0x8bd17c);
inline constexpr ImU32 bar = rgb(0x3a5f7d);
}  // namespace colors

// The hue of a layer category ("convolution", "depthwise", ...); a neutral one for others.
ImU32 category_color(const std::string& category);
// "convolution", "depthwise convolution", "add and others": for tooltips and legends.
const char* category_text(const std::string& category);

struct Theme {
    float scale = 1;
    ImFont* text = nullptr;    // 13 px
    ImFont* strong = nullptr;  // 13 px semibold
    ImFont* small = nullptr;   // 11 px
    ImFont* label = nullptr;   // 11 px semibold, letter-spaced, for capitals
    ImFont* title = nullptr;   // 15 px semibold
    ImFont* mono = nullptr;    // 12 px

    float s(float unscaled) const { return static_cast<float>(static_cast<int>(unscaled * scale + 0.5f)); }
};

// Fonts and style of the current ImGui context at this scale. Faces that are not installed are replaced by
// ImGui's own; the first missing file is named in `missing`.
Theme build_theme(float scale, std::string* missing);

}  // namespace convlens::ui

#include "app/ui/arrangement.h"

#include <algorithm>
#include <cmath>

namespace convlens::ui {

namespace {

constexpr float status_height = 40;
constexpr float least_wall_w = 260, least_wall_h = 150;
constexpr float least_left = 150, least_right = 290, least_strip = 56, least_foot = 110;
constexpr float most_left_share = 0.3f, most_right_share = 0.37f;

// A wish cut down to what is there; 0 when that is less than is useful.
float granted(float wish, float least, float room) {
    const float size = std::min(std::max(wish, least), room);
    return size >= least ? std::floor(size) : 0;
}

}  // namespace

Arrangement arrange(float width, float height, float scale, const commands::ViewState& view) {
    Arrangement a;
    const float w = width / scale, h = height / scale;
    const float status = h >= 90 ? status_height : std::min(h, 30.0f);
    float rest = h - status;
    // A quarter of the height each at most, so that the wall stays the largest.
    const float foot =
        granted(std::min(view.foot_height, rest * 0.5f), least_foot, rest - least_wall_h - least_strip);
    const float strip =
        granted(std::min(view.strip_height, rest * 0.4f), least_strip, rest - foot - least_wall_h);
    float across = w;
    const float right = view.sides_hidden ? 0
                                          : granted(std::min(view.right_width, w * most_right_share),
                                                    least_right, across - least_wall_w);
    across -= right;
    const float left = view.sides_hidden ? 0
                                         : granted(std::min(view.left_width, w * most_left_share), least_left,
                                                   across - least_wall_w);

    const auto px = [scale](float v) { return std::floor(v * scale + 0.5f); };
    Rect all{0, 0, width, height};
    a.status = all.take_top(px(status));
    a.strip = all.take_top(px(strip));
    a.foot = all.take_bottom(px(foot));
    a.left = all.take_left(px(left));
    a.right = all.take_right(px(right));
    a.wall = all;
    a.least_left = least_left;
    a.most_left = std::min(w * most_left_share, w - right - least_wall_w);
    a.least_right = least_right;
    a.most_right = std::min(w * most_right_share, w - left - least_wall_w);
    a.least_strip = least_strip;
    a.most_strip = std::min(rest * 0.4f, rest - foot - least_wall_h);
    a.least_foot = least_foot;
    a.most_foot = std::min(rest * 0.5f, rest - strip - least_wall_h);
    return a;
}

}  // namespace convlens::ui

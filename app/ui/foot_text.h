// "whole pass 1.42 ms   sum of layers 1.36 ms": figures in one line below a chart.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "app/ui/scene.h"

namespace convlens::ui {

// Pairs that do not fit are left out from the end.
inline void draw_foot_figures(Scene& scene, const Rect& place,
                              std::initializer_list<std::pair<const char*, std::string>> pairs) {
    const Theme& theme = scene.theme();
    float x = place.x0;
    for (const auto& pair : pairs) {
        const float label = scene.paint.width(pair.first, theme.text),
                    value = scene.paint.width(pair.second, theme.strong);
        if (x + label + scene.s(5) + value > place.x1) return;
        scene.paint.text_in({x, place.y0, x + label + 1, place.y1}, pair.first, colors::dim, theme.text);
        x += label + scene.s(5);
        scene.paint.text_in({x, place.y0, x + value + 1, place.y1}, pair.second, colors::strong,
                            theme.strong);
        x += value + scene.s(16);
    }
}

}  // namespace convlens::ui

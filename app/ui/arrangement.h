// Where the panes are, for a window of any size. Pure.
#pragma once

#include "app/commands/view_state.h"
#include "app/ui/paint.h"

namespace convlens::ui {

// Panes that are too small for a window of this size are empty; the wall is the last to go.
struct Arrangement {
    Rect status, strip, left, wall, right, foot;
    float least_left = 0, most_left = 0, least_right = 0, most_right = 0;  // limits of the splitters,
    float least_strip = 0, most_strip = 0, least_foot = 0, most_foot = 0;  // unscaled
};
Arrangement arrange(float width, float height, float scale, const commands::ViewState& view);

}  // namespace convlens::ui

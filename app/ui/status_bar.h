// The line at the top: what runs, on what, how fast, in how much memory.
#pragma once

#include "app/ui/scene.h"

namespace convlens::ui {

void draw_status_bar(Scene& scene, const Rect& place);

}  // namespace convlens::ui

// Memory as address over layer order: a rectangle for each tensor, as wide as it lives, as high as it is
// large.
#pragma once

#include "app/ui/scene.h"

namespace convlens::ui {

void draw_memory_chart(Scene& scene, Rect place, float reserved_right);

}  // namespace convlens::ui

// The page of keys.
#pragma once

#include "app/ui/scene.h"

namespace convlens::ui {

void draw_help(Scene& scene, const Rect& window);

}  // namespace convlens::ui

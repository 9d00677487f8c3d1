// How each algorithm does the selected layer's work at what price: time, workspace, error, or the reason why
// not.
#pragma once

#include "app/ui/scene.h"

namespace convlens::ui {

void draw_algorithm_panel(Scene& scene, Rect place);

}  // namespace convlens::ui

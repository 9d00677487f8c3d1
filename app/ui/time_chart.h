// Time by layer in network order: bars of medians, whiskers from p10 to p90, the totals below.
#pragma once

#include "app/ui/scene.h"

namespace convlens::ui {

void draw_time_chart(Scene& scene, Rect place);

}  // namespace convlens::ui

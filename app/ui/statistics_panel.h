// Histogram and figures of the selected map, or of all maps of the layer.
#pragma once

#include "app/ui/scene.h"

namespace convlens::ui {

// The tab: large histogram, all figures.
void draw_statistics_panel(Scene& scene, Rect place);
// The short form below the algorithms; draws nothing where there is no room.
void draw_statistics_summary(Scene& scene, Rect place);

}  // namespace convlens::ui

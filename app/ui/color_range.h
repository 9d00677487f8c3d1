// From values to colours: which range and which colour map. Pure.
#pragma once

#include "app/measure/statistics.h"
#include "app/render/atlas_tile.h"

namespace convlens::ui {

struct ColorRange {
    float lo = 0, hi = 1;
    render::ColorMap map = render::ColorMap::viridis;
    bool known = false;
    // Place of a value on the bar, 0 to 1.
    float place(float value) const;
};

// Signed values get a range symmetric around zero and the diverging map, so that zero is dark; others start
// at zero in viridis. The end is rounded up to two significant digits, so that it stands still while values
// move a little. Equal ends (nothing but zeros) stay equal: the maps' constant colour.
ColorRange range_of(double min, double max);
// Ends as given: a range that was set by hand.
ColorRange range_as_given(float lo, float hi);
// The smallest number of two significant digits that is not below `value` (>= 0).
double rounded_up(double value);

}  // namespace convlens::ui

#include "app/ui/color_range.h"

#include <algorithm>
#include <cmath>

namespace convlens::ui {

float ColorRange::place(float value) const {
    if (!(hi > lo) || std::isnan(value)) return 0;
    return std::clamp((value - lo) / (hi - lo), 0.0f, 1.0f);
}

double rounded_up(double value) {
    if (!(value > 0) || !std::isfinite(value)) return 0;
    const double exponent = std::floor(std::log10(value)) - 1;
    const double unit = std::pow(10.0, exponent);
    const double steps = std::ceil(value / unit - 1e-9);
    // Dividing by a power of ten is exact for more values than multiplying with its inverse.
    return exponent < 0 ? steps / std::pow(10.0, -exponent) : steps * unit;
}

ColorRange range_of(double min, double max) {
    ColorRange range;
    range.known = true;
    if (min < 0) {
        const auto end = static_cast<float>(rounded_up(std::max(-min, max)));
        range.lo = -end;
        range.hi = end;
        range.map = render::ColorMap::diverging;
    } else {
        range.lo = 0;
        range.hi = static_cast<float>(rounded_up(max));
    }
    return range;
}

ColorRange range_as_given(float lo, float hi) {
    ColorRange range{std::min(lo, hi), std::max(lo, hi), render::ColorMap::viridis, true};
    if (range.lo < 0) range.map = render::ColorMap::diverging;
    return range;
}

}  // namespace convlens::ui

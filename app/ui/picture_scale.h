// Pictures brought to the size at which the window shows them.
#pragma once

#include <cstdint>
#include <vector>

namespace convlens::ui {

// RGB, top row first. Smaller: mean of the covered area; larger: linear between pixel middles. Sizes >= 1.
std::vector<std::uint8_t> scale_picture(const std::uint8_t* rgb, int width, int height, int new_width,
                                        int new_height);

}  // namespace convlens::ui

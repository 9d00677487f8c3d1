// The input: the picture with what the network saw of it, the heat map, boxes and points; pause, step, next.
#pragma once

#include <cstdint>
#include <vector>

#include "app/ui/scene.h"

namespace convlens::ui {

class InputPanel {
  public:
    // Returns the height used.
    float draw(Scene& scene, const Rect& place);

  private:
    void draw_picture(Scene& scene, const Rect& place);
    void draw_heat(Scene& scene, const Rect& picture, double scale);
    float draw_buttons(Scene& scene, const Rect& place);

    const input::Frame* frame_ = nullptr;  // whose scaled bytes are kept
    std::uint64_t number_ = 0, key_ = 0;
    int width_ = 0, height_ = 0;
    std::vector<std::uint8_t> bytes_;
    std::uint64_t heat_pass_ = 0, heat_generation_ = 0;
    int heat_w_ = 0, heat_h_ = 0;
    input::FramePtr held_;  // keeps frame_ valid for the comparison
};

}  // namespace convlens::ui

// The answer: the top classes, the heat map's legend with what was found, or the picture that came out.
#pragma once

#include <cstdint>

#include "app/ui/scene.h"

namespace convlens::ui {

class OutputPanel {
  public:
    void draw(Scene& scene, const Rect& place);

  private:
    void draw_picture(Scene& scene, Rect place);

    std::uint64_t pass_ = 0, generation_ = 0;
    int width_ = 0, height_ = 0;
};

}  // namespace convlens::ui

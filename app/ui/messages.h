// News and errors: they come up above the foot, stay a while, go by themselves or by a click.
#pragma once

#include <cstddef>
#include <vector>

#include "app/ui/scene.h"

namespace convlens::ui {

class Messages {
  public:
    // `place`: the part of the window that messages may cover.
    void draw(Scene& scene, const Rect& place);

  private:
    struct Shown {
        std::size_t index;
        double until_ms;
    };
    std::vector<Shown> shown_;
    std::size_t seen_ = 0;
};

}  // namespace convlens::ui

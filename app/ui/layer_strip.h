// The strip of cards, one a layer in order: what it shows on the average, its name, shape and share of time.
#pragma once

#include <cstdint>
#include <vector>

#include "app/ui/scene.h"

namespace convlens::ui {

class LayerStrip {
  public:
    void draw(Scene& scene, const Rect& place);

  private:
    struct Cell {  // of the atlas
        int layer = -1;
        std::uint64_t pass = 0;
        int width = 0, height = 0;  // drawn part
    };
    struct Grid {  // of the cards
        float card_w = 0, card_h = 0, pitch = 0, picture_w = 0, picture_h = 0;
        int first = 0, last = -1;  // visible layers
    };
    void scroll(Scene& scene, const Rect& place, const Grid& grid);
    void fill_atlas(Scene& scene, const Grid& grid);
    void draw_card(Scene& scene, const Rect& card, const Grid& grid, int layer);
    void draw_picture(Scene& scene, const Rect& place, int layer);
    Cell& cell_of(int layer) { return cells_[static_cast<std::size_t>(layer) % cells_.size()]; }

    std::vector<Cell> cells_;
    int cell_w_ = 0, cell_h_ = 0, columns_ = 16;
    std::uint64_t generation_ = 0, pass_ = 0;
    int next_ = 0;  // whose turn it is to be redrawn
    int selected_ = -2;
    float scroll_ = 0, target_ = 0;
    bool clear_ = true;
    std::uint64_t texture_ = 0;
};

}  // namespace convlens::ui

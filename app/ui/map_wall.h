// The wall: every map of the selected layer's first output as a tile; zoom, pan, probe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "app/ui/color_range.h"
#include "app/ui/scene.h"
#include "app/ui/wall_layout.h"

namespace convlens::ui {

class MapWall {
  public:
    void draw(Scene& scene, const Rect& place);

  private:
    void draw_header(Scene& scene, Rect place, const ColorRange& range);
    float draw_range_menu(Scene& scene, float right, float mid, const ColorRange& range, float least_x);
    void handle_mouse(Scene& scene, const Rect& pane);
    void collect_tiles(Scene& scene, const ColorRange& range);
    void fill_atlas(Scene& scene, const Rect& pane);
    void draw_tiles(Scene& scene, const Rect& pane);
    void draw_marks(Scene& scene, const Rect& pane);
    void draw_values(Scene& scene, const Rect& pane, const ColorRange& range);
    void draw_probe_tip(Scene& scene, const Rect& pane, const ColorRange& range);
    ColorRange shared_range(const Scene& scene) const;
    ColorRange range_of_map(const Scene& scene, std::int64_t map, const ColorRange& shared) const;

    WallLayout layout_;
    WallView view_;
    std::vector<render::AtlasTile> tiles_, drawn_;
    std::vector<std::int64_t> visible_;  // maps with a tile, in the order of tiles_
    std::uint64_t drawn_values_ = 0, drawn_generation_ = 0, drawn_base_ = 0, texture_ = 0;
    int drawn_tensor_ = -1;
    int drawn_w_ = 0, drawn_h_ = 0;
    bool probe_of_mouse_ = false;
    int shown_layer_ = -1;
    std::int64_t shown_map_ = -1;
};

}  // namespace convlens::ui

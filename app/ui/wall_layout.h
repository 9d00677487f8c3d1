// Geometry of the map wall: no ImGui. Three coordinate systems and the ways between them:
//   tensor index  (map, row, column)
//   wall          pixels at zoom 1; (0, 0) is the middle of the pane at zoom 1
//   pane          pixels of the window from the pane's left top corner
#pragma once

#include <cstdint>
#include <optional>

namespace convlens::ui {

struct WallView {
    double zoom = 1, x = 0, y = 0;  // x, y: the wall position in the middle of the pane
};

struct WallCell {
    std::int64_t map = 0, row = 0, column = 0;
    bool operator==(const WallCell&) const = default;
};

// Whole pane pixels, x1 and y1 excluded; may lie outside the pane.
struct TileEdges {
    std::int64_t x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    std::int64_t width() const { return x1 - x0; }
    std::int64_t height() const { return y1 - y0; }
};

class WallLayout {
  public:
    WallLayout() = default;
    // A pane of pane_w x pane_h pixels, `maps` maps of map_w x map_h. Chooses the number of columns with
    // which the maps become largest; magnifies by whole numbers where that loses little. Tiles have a least
    // size; a wall that is higher than the pane then is panned.
    WallLayout(int pane_w, int pane_h, std::int64_t maps, std::int64_t map_w, std::int64_t map_h,
               double scale);

    bool empty() const { return maps_ <= 0 || pane_w_ <= 0 || pane_h_ <= 0; }
    std::int64_t columns() const { return columns_; }
    std::int64_t rows() const { return rows_; }
    double tile_width() const { return tile_w_; }  // at zoom 1
    double tile_height() const { return tile_h_; }
    double gap() const { return gap_; }
    double largest_zoom() const;

    TileEdges tile(std::int64_t map, const WallView& view) const;
    // First and last grid column and row that touch the pane; false: none.
    bool visible(const WallView& view, std::int64_t& column0, std::int64_t& column1, std::int64_t& row0,
                 std::int64_t& row1) const;
    // The element that pane pixel (x, y) shows; none in gaps and outside.
    std::optional<WallCell> at(int x, int y, const WallView& view) const;
    // Middle of an element in pane pixels.
    void position(const WallCell& cell, const WallView& view, double& x, double& y) const;

    // Zooms by `factor` so that pane position (x, y) keeps showing the same place where the borders allow.
    WallView zoomed(const WallView& view, double factor, double x, double y) const;
    // The nearest view that leaves no empty border that panning could fill.
    WallView clamped(WallView view) const;
    // The view moved as little as needed to show a whole map (or its middle, when larger than the pane).
    WallView revealed(const WallView& view, std::int64_t map) const;

  private:
    double fit(double gap) const;
    double to_pane_x(double wall, const WallView& view) const;
    double to_pane_y(double wall, const WallView& view) const;

    int pane_w_ = 0, pane_h_ = 0;
    std::int64_t maps_ = 0, map_w_ = 1, map_h_ = 1;
    std::int64_t columns_ = 1, rows_ = 1;
    double scale_ = 1, tile_w_ = 0, tile_h_ = 0, gap_ = 0;
};

}  // namespace convlens::ui

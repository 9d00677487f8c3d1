#include "app/ui/wall_layout.h"

#include <algorithm>
#include <cmath>

namespace convlens::ui {

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t rounded(double value) { return static_cast<std::int64_t>(std::floor(value + 0.5)); }

constexpr double least_tile = 6;               // longer side, unscaled pixels
constexpr double largest_single = 40;          // cells of 1x1 maps
constexpr double largest_texel = 128;          // zoom limit, unscaled pixels an element
constexpr double whole_multiple_share = 0.88;  // a whole magnification may be this much smaller

}  // namespace

double WallLayout::fit(double gap) const {
    double best = 0;
    const std::int64_t most = std::min<std::int64_t>(maps_, pane_w_);
    for (std::int64_t columns = 1; columns <= most; ++columns) {
        const auto rows = static_cast<double>(ceil_div(maps_, columns));
        const auto c = static_cast<double>(columns);
        const double w = (pane_w_ - (c - 1) * gap) / (c * static_cast<double>(map_w_));
        const double h = (pane_h_ - (rows - 1) * gap) / (rows * static_cast<double>(map_h_));
        best = std::max(best, std::min(w, h));
    }
    return best;
}

WallLayout::WallLayout(int pane_w, int pane_h, std::int64_t maps, std::int64_t map_w, std::int64_t map_h,
                       double scale)
    : pane_w_(pane_w), pane_h_(pane_h), maps_(maps), map_w_(map_w), map_h_(map_h), scale_(scale) {
    if (empty() || map_w <= 0 || map_h <= 0) {
        maps_ = 0;
        return;
    }
    const auto longer = static_cast<double>(std::max(map_w_, map_h_));
    gap_ = std::max(1.0, std::floor(4 * scale));
    double magnification = fit(gap_);
    if (magnification * longer < 28 * scale) {
        gap_ = std::max(1.0, std::floor(2 * scale));
        magnification = fit(gap_);
    }
    if (magnification * longer < 10 * scale) {
        gap_ = 1;
        magnification = fit(gap_);
    }
    if (longer == 1) magnification = std::min(magnification, std::floor(largest_single * scale));
    magnification = std::max(magnification, std::ceil(least_tile * scale) / longer);
    const double whole = std::floor(magnification);
    if (whole >= 1 && whole >= whole_multiple_share * magnification) magnification = whole;
    tile_w_ = std::max(1.0, std::floor(static_cast<double>(map_w_) * magnification + 1e-6));
    tile_h_ = std::max(1.0, std::floor(static_cast<double>(map_h_) * magnification + 1e-6));
    columns_ =
        std::clamp<std::int64_t>(static_cast<std::int64_t>((pane_w_ + gap_) / (tile_w_ + gap_)), 1, maps_);
    rows_ = ceil_div(maps_, columns_);
}

double WallLayout::largest_zoom() const {
    return std::max(1.0, largest_texel * scale_ * static_cast<double>(map_w_) / std::max(1.0, tile_w_));
}

double WallLayout::to_pane_x(double wall, const WallView& view) const {
    return pane_w_ / 2 + (wall - view.x) * view.zoom;
}

double WallLayout::to_pane_y(double wall, const WallView& view) const {
    return pane_h_ / 2 + (wall - view.y) * view.zoom;
}

TileEdges WallLayout::tile(std::int64_t map, const WallView& view) const {
    const double x = -(pane_w_ / 2) + static_cast<double>(map % columns_) * (tile_w_ + gap_);
    const double y = -(pane_h_ / 2) + static_cast<double>(map / columns_) * (tile_h_ + gap_);
    TileEdges edges{rounded(to_pane_x(x, view)), rounded(to_pane_y(y, view)),
                    rounded(to_pane_x(x + tile_w_, view)), rounded(to_pane_y(y + tile_h_, view))};
    edges.x1 = std::max(edges.x1, edges.x0 + 1);
    edges.y1 = std::max(edges.y1, edges.y0 + 1);
    return edges;
}

bool WallLayout::visible(const WallView& view, std::int64_t& column0, std::int64_t& column1,
                         std::int64_t& row0, std::int64_t& row1) const {
    if (empty()) return false;
    const double left = view.x + (0 - pane_w_ / 2) / view.zoom + pane_w_ / 2;
    const double right = view.x + (pane_w_ - pane_w_ / 2) / view.zoom + pane_w_ / 2;
    const double top = view.y + (0 - pane_h_ / 2) / view.zoom + pane_h_ / 2;
    const double bottom = view.y + (pane_h_ - pane_h_ / 2) / view.zoom + pane_h_ / 2;
    column0 = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(left / (tile_w_ + gap_))));
    column1 = std::min(columns_ - 1, static_cast<std::int64_t>(std::floor(right / (tile_w_ + gap_))));
    row0 = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(top / (tile_h_ + gap_))));
    row1 = std::min(rows_ - 1, static_cast<std::int64_t>(std::floor(bottom / (tile_h_ + gap_))));
    return column0 <= column1 && row0 <= row1;
}

std::optional<WallCell> WallLayout::at(int x, int y, const WallView& view) const {
    if (empty() || x < 0 || y < 0 || x >= pane_w_ || y >= pane_h_) return std::nullopt;
    const double wall_x = view.x + (x + 0.5 - pane_w_ / 2) / view.zoom + pane_w_ / 2;
    const double wall_y = view.y + (y + 0.5 - pane_h_ / 2) / view.zoom + pane_h_ / 2;
    const auto column = static_cast<std::int64_t>(std::floor(wall_x / (tile_w_ + gap_)));
    const auto row = static_cast<std::int64_t>(std::floor(wall_y / (tile_h_ + gap_)));
    // Edges are rounded to whole pixels, so that the pixel may belong to a neighbour.
    for (std::int64_t r = row - 1; r <= row + 1; ++r) {
        for (std::int64_t c = column - 1; c <= column + 1; ++c) {
            if (c < 0 || c >= columns_ || r < 0 || r >= rows_) continue;
            const std::int64_t map = r * columns_ + c;
            if (map >= maps_) continue;
            const TileEdges edges = tile(map, view);
            if (x < edges.x0 || x >= edges.x1 || y < edges.y0 || y >= edges.y1) continue;
            const double u = (static_cast<double>(x - edges.x0) + 0.5) / static_cast<double>(edges.width());
            const double v = (static_cast<double>(y - edges.y0) + 0.5) / static_cast<double>(edges.height());
            return WallCell{map,
                            std::min(map_h_ - 1, static_cast<std::int64_t>(v * static_cast<double>(map_h_))),
                            std::min(map_w_ - 1, static_cast<std::int64_t>(u * static_cast<double>(map_w_)))};
        }
    }
    return std::nullopt;
}

void WallLayout::position(const WallCell& cell, const WallView& view, double& x, double& y) const {
    const TileEdges edges = tile(cell.map, view);
    x = static_cast<double>(edges.x0) + (static_cast<double>(cell.column) + 0.5) *
                                            static_cast<double>(edges.width()) / static_cast<double>(map_w_);
    y = static_cast<double>(edges.y0) + (static_cast<double>(cell.row) + 0.5) *
                                            static_cast<double>(edges.height()) / static_cast<double>(map_h_);
}

WallView WallLayout::zoomed(const WallView& view, double factor, double x, double y) const {
    WallView result = view;
    result.zoom = std::clamp(view.zoom * factor, 1.0, largest_zoom());
    result.x = view.x + (x - pane_w_ / 2) * (1 / view.zoom - 1 / result.zoom);
    result.y = view.y + (y - pane_h_ / 2) * (1 / view.zoom - 1 / result.zoom);
    return clamped(result);
}

WallView WallLayout::clamped(WallView view) const {
    if (empty()) return {};
    if (!std::isfinite(view.zoom) || !std::isfinite(view.x) || !std::isfinite(view.y)) return {};
    view.zoom = std::clamp(view.zoom, 1.0, largest_zoom());
    const auto bound = [&](double centre, int pane, double content) {
        const double begin = -(pane / 2);
        const double least = begin + (pane / 2) / view.zoom;
        const double most = begin + content - (pane - pane / 2) / view.zoom;
        return std::clamp(centre, least, std::max(least, most));
    };
    const double width = static_cast<double>(columns_) * (tile_w_ + gap_) - gap_;
    const double height = static_cast<double>(rows_) * (tile_h_ + gap_) - gap_;
    view.x = bound(view.x, pane_w_, width);
    view.y = bound(view.y, pane_h_, height);
    return view;
}

WallView WallLayout::revealed(const WallView& view, std::int64_t map) const {
    if (empty() || map < 0 || map >= maps_) return view;
    const TileEdges edges = tile(map, view);
    const auto shift = [](std::int64_t low, std::int64_t high, std::int64_t pane) -> double {
        if (high - low > pane) return static_cast<double>((low + high) / 2 - pane / 2);
        if (low < 0) return static_cast<double>(low);
        if (high > pane) return static_cast<double>(high - pane);
        return 0;
    };
    WallView result = view;
    result.x += shift(edges.x0, edges.x1, pane_w_) / view.zoom;
    result.y += shift(edges.y0, edges.y1, pane_h_) / view.zoom;
    return clamped(result);
}

}  // namespace convlens::ui

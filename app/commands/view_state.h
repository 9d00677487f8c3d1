// What the window shows of a snapshot: selection, ranges, zoom, pane sizes. No ImGui; commands change it,
// panels read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convlens::commands {

enum class RangePolicy : std::uint8_t { map, layer, network, manual };
enum class RightTab : std::uint8_t { algorithms, statistics };
enum class FootView : std::uint8_t { charts, table };

struct Probe {  // an element of the selected layer's first output
    std::int64_t channel = 0, row = 0, column = 0;
};

struct ViewState {
    int layer = 0;               // selected layer; moves all panes
    std::int64_t map = -1;       // selected map of that layer; -1: none
    std::optional<Probe> probe;  // pinned by command or under the mouse
    // Wall: 1 fits the pane's columns; larger zooms. Centre in wall pixels at zoom 1.
    double wall_zoom = 1, wall_x = 0, wall_y = 0;
    RangePolicy range = RangePolicy::layer;
    float range_lo = -1, range_hi = 1;  // manual
    RightTab right_tab = RightTab::algorithms;
    FootView foot_view = FootView::charts;
    int table_sort_column = 0;
    bool table_sort_descending = false;
    // Pane sizes in unscaled pixels (1600x900 arrangement), moved by splitters.
    float left_width = 248, right_width = 408, strip_height = 160, foot_height = 175, foot_split = 0.5f;
    bool fixed_figures = false;  // approved pictures: times and memory replaced by set values
    bool help_open = false;
    bool sides_hidden = false;  // the wall has the room of the panes on both sides
    float font_scale = 1;
    std::vector<std::string> favourites;
};

}  // namespace convlens::commands

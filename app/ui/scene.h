// What every panel gets in one refresh, and what panels keep between refreshes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/commands/view_state.h"
#include "app/engine/snapshot.h"
#include "app/render/canvas.h"
#include "app/ui/figures.h"
#include "app/ui/paint.h"
#include "app/ui/tensor_maps.h"
#include "app/ui/ui.h"

namespace convlens::ui {

struct Scene {
    const UiInput& input;
    commands::ViewState& view;
    render::Canvas& canvas;
    Painter& paint;
    std::vector<std::string>& commands;
    bool& wants_refresh;  // set by a panel with an animation or unfinished work

    const engine::Snapshot& snapshot;
    const engine::NetworkInfo* network = nullptr;  // null before the first model
    int layer = -1;                                // selected; -1: none
    const engine::LayerInfo* layer_info = nullptr;
    int tensor = -1;              // its first output; -1: none
    TensorMaps maps;              // of that tensor
    const float* host = nullptr;  // its element 0; null where its memory is used otherwise
    std::uint64_t address = 0;
    Figures figures;
    bool statistics_fit = false;  // snapshot.maps are of the selected layer

    Scene(const UiInput& in, commands::ViewState& view_state, render::Canvas& canvas_, Painter& painter,
          std::vector<std::string>& lines, bool& refresh);

    const Theme& theme() const { return paint.theme(); }
    float s(float unscaled) const { return theme().s(unscaled); }
    void emit(std::string line) { commands.push_back(std::move(line)); }
    // Statistics of one map of the selected layer; null where they are not there yet.
    const measure::MapStatistics* statistics(std::int64_t map) const;
    // Value of an element of the selected layer's first output; false where it is not available (yet: what
    // the snapshot does not hold is asked for).
    bool value_at(std::int64_t map, std::int64_t row, std::int64_t column, float& value) const;
    // Offsets that value_at() was asked for where no host memory is, ascending, each once; at most as many as
    // a snapshot carries.
    std::vector<std::int64_t> take_wanted() const;
    std::string layer_name(int index) const;
    // Equal for two snapshots of one generation whose tensors hold the same values.
    std::uint64_t values() const { return snapshot.values != 0 ? snapshot.values : snapshot.pass; }

  private:
    mutable std::vector<std::int64_t> wanted_;
};

// "32×112×112" of a tensor without its batch; "1000" for vectors.
std::string shape_text(const TensorDesc& desc);

}  // namespace convlens::ui

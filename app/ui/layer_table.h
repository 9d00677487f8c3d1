// All layers as a table that sorts by any column.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/ui/scene.h"

namespace convlens::ui {

enum class TableColumn : int {
    index = 0,
    name,
    operation,
    shape,
    algorithm,
    median,
    share,
    spread,
    cpu,
    rate,
    operations,
    moved,
    workspace,
    weights,
    count
};

class LayerTable {
  public:
    void draw(Scene& scene, Rect place);
    // Layer numbers in the order of a column; equal ones stay in network order. For tests too.
    static std::vector<int> sorted(const Scene& scene, int column, bool descending);

  private:
    int shown_layer_ = -1;
};

}  // namespace convlens::ui

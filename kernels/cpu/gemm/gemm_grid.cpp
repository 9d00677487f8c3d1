#include "kernels/cpu/gemm/gemm_grid.h"

#include <algorithm>

#include "kernels/cpu/gemm/gemm.h"

namespace convlens::cpu {

GemmGrid::Part GemmGrid::part(std::int64_t task) const {
    // Neighbouring tasks share columns of B: rows change first.
    const std::int64_t row_part = task % row_parts;
    const std::int64_t column_part = task / row_parts % column_parts;
    const std::int64_t panels = (columns + panel - 1) / panel;
    Part part;
    part.group = task / (row_parts * column_parts);
    part.row_begin = rows * row_part / row_parts;
    part.row_end = rows * (row_part + 1) / row_parts;
    part.column_begin = panels * column_part / column_parts * panel;
    part.column_end = std::min(columns, panels * (column_part + 1) / column_parts * panel);
    return part;
}

GemmGrid gemm_grid(const ThreadPool& pool, std::int64_t groups, std::int64_t rows, std::int64_t columns,
                   std::int64_t k) {
    GemmGrid grid;
    grid.groups = groups;
    grid.rows = rows;
    grid.columns = columns;
    grid.panel = gemm_panel_columns();
    const std::int64_t tile = gemm_tile_rows();
    const std::int64_t tiles = (rows + tile - 1) / tile;
    const std::int64_t panels = (columns + grid.panel - 1) / grid.panel;
    const double operations = 2.0 * static_cast<double>(groups) * static_cast<double>(rows) *
                              static_cast<double>(columns) * static_cast<double>(k);
    const std::int64_t most = std::max<std::int64_t>(1, groups * tiles * panels);
    const std::int64_t wanted = task_count(pool, operations, most);
    grid.threaded = wanted > 1;
    const std::int64_t each = (wanted + groups - 1) / groups;
    if (each <= 1) return grid;
    const bool by_columns = panels >= each && (tiles < 2 * each || columns > rows);
    if (by_columns) {
        grid.column_parts = std::min(each, panels);
    } else {
        grid.row_parts = std::min(each, tiles);
        grid.column_parts = std::clamp<std::int64_t>(each / grid.row_parts, 1, panels);
    }
    return grid;
}

}  // namespace convlens::cpu

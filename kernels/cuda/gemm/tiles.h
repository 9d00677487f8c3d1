// The tiles of the f32 matrix product and the choice among them: the one place of both.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

// One block computes rows x columns of the product in steps of slices * slice_depth products, each slice by
// its own warps. A warp is 4 x 8 threads with thread_rows x thread_columns results each.
struct TileShape {
    int rows, columns;
    int thread_rows, thread_columns;
    int slices, slice_depth;
    int stages;      // steps in shared memory at one time
    int min_blocks;  // blocks of one multiprocessor that the registers must allow

    constexpr int depth() const { return slices * slice_depth; }
    constexpr int slice_threads() const { return rows / thread_rows * (columns / thread_columns); }
    constexpr int threads() const { return slices * slice_threads(); }
    constexpr int stage_floats() const { return depth() * (rows + columns); }
    // A result's row in shared memory, padded so that columns are read without conflicts.
    constexpr int result_row() const { return columns + 4; }
    constexpr int shared_floats() const {
        const int steps = stages * stage_floats(), results = slices * rows * result_row();
        return steps > results ? steps : results;
    }
};

inline constexpr std::array<TileShape, 8> tile_shapes = {{
    {128, 64, 8, 8, 1, 16, 4, 3},
    {64, 64, 8, 8, 2, 16, 3, 3},
    {64, 64, 8, 8, 4, 16, 3, 1},
    {128, 32, 8, 4, 1, 16, 4, 4},
    {64, 32, 8, 4, 4, 16, 3, 2},
    {32, 64, 8, 8, 4, 8, 4, 3},
    {32, 32, 8, 4, 8, 8, 3, 2},
    {32, 32, 8, 4, 4, 8, 4, 4},
}};

// Where the parts of a sum that several blocks computed are joined, always in the order of the parts.
enum class SplitForm : std::uint8_t {
    none,
    cluster,    // through the shared memory of a cluster of blocks (compute capability 9.0)
    workspace,  // through global memory, by a second kernel
};

struct TileChoice {
    int tile = 0;
    int splits = 1;
    SplitForm form = SplitForm::none;
};

// For each of `groups` products of rows x depth by depth x columns. `clusters`: whether the device has them.
TileChoice choose_tile(std::int64_t rows, std::int64_t columns, std::int64_t depth, std::int64_t groups,
                       bool clusters, int multiprocessors);

}  // namespace convlens::cuda

#include "kernels/cuda/gemm/tiles.h"

#include <algorithm>
#include <limits>

namespace convlens::cuda {
namespace {

// Of one step of one block, in microseconds: alone on a multiprocessor, and its share where that is full.
struct StepTime {
    double alone, full;
};
constexpr std::array<StepTime, tile_shapes.size()> step_times = {{
    {2.19, 1.97},
    {3.02, 1.80},
    {1.45, 1.40},
    {1.20, 0.92},
    {1.27, 0.99},
    {0.78, 0.55},
    {0.85, 0.58},
    {0.76, 0.52},
    {0.53, 0.27},
}};

constexpr double launch_time = 3.2, cluster_time = 0.4, cluster_time_rank = 0.1, join_time = 2.2;
// Bytes a microsecond of the parts in the workspace.
constexpr double join_rate = 2e6;

std::int64_t round_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

TileChoice choose_tile(std::int64_t rows, std::int64_t columns, std::int64_t depth, std::int64_t groups, bool,
                       bool clusters, int multiprocessors) {
    TileChoice best;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < tile_shapes.size(); ++i) {
        const TileShape& tile = tile_shapes[i];
        const std::int64_t tiles = round_up(rows, tile.rows) * round_up(columns, tile.columns) * groups;
        const std::int64_t steps = round_up(depth, tile.depth());
        for (const int splits : {1, 2, 3, 4, 6, 8, 12, 16}) {
            if (splits > 1 && (splits > steps || tiles * splits > 8 * std::int64_t{multiprocessors})) break;
            TileChoice choice{static_cast<int>(i), splits, SplitForm::none};
            const auto block_steps = static_cast<double>(round_up(steps, splits));
            const auto blocks = static_cast<double>(round_up(tiles * splits, multiprocessors));
            double time = launch_time + std::max(step_times[i].alone * block_steps,
                                                 step_times[i].full * block_steps * blocks);
            if (splits > 1 && clusters && splits <= 8) {
                choice.form = SplitForm::cluster;
                time += cluster_time + cluster_time_rank * splits;
            } else if (splits > 1) {
                choice.form = SplitForm::workspace;
                time += join_time + 8.0 * static_cast<double>(splits) * static_cast<double>(rows) *
                                        static_cast<double>(columns * groups) / join_rate;
            }
            if (time < least) {
                least = time;
                best = choice;
            }
        }
    }
    return best;
}

}  // namespace convlens::cuda

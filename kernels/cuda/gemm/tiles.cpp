#include "kernels/cuda/gemm/tiles.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace convlens::cuda {
namespace {

// Microseconds of a block, measured on an H200 over the layers of small networks and of the paper. Other
// devices differ in pace more than in the order of the tiles, so there is one table.
struct TileTime {
    double alone;  // a step of one block alone on a multiprocessor
    double full;   // a step's share where the multiprocessor is full
    double once;   // beginning and end
    double more;   // of each further block on the multiprocessor
};
constexpr std::array<TileTime, tile_shapes.size()> tile_times = {{
    {0.915, 0.865, 2.31, 0.65},
    {0.944, 0.868, 1.66, 0.76},
    {1.442, 1.704, 1.43, 3.33},
    {0.591, 0.508, 2.50, 0.55},
    {1.060, 1.032, 0.53, 1.41},
    {0.542, 0.469, 1.20, 0.91},
    {0.561, 0.553, 0.29, 1.06},
    {0.336, 0.278, 0.15, 0.60},
}};

constexpr double cluster_time = 0.64, cluster_time_part = 0.12;
// Clusters lie within one part of the device, which leaves some multiprocessors without blocks.
constexpr double cluster_waste = 1.165;
constexpr double join_time = 1.32, join_time_megafloat = 0.69;
constexpr std::array<int, 10> split_counts = {1, 2, 3, 4, 5, 6, 8, 12, 16, 32};
constexpr int most_cluster = 8;
// More blocks than this many a multiprocessor need no splits.
constexpr std::int64_t enough_blocks = 8;

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

TileChoice choose_tile(std::int64_t rows, std::int64_t columns, std::int64_t depth, std::int64_t groups,
                       bool clusters, int multiprocessors) {
    TileChoice best;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < tile_shapes.size(); ++i) {
        const TileShape& tile = tile_shapes[i];
        const TileTime& t = tile_times[i];
        const std::int64_t tiles = ceil_divide(rows, tile.rows) * ceil_divide(columns, tile.columns) * groups;
        const std::int64_t steps = ceil_divide(depth, tile.depth());
        for (const int splits : split_counts) {
            if (splits > 1 && (splits > steps || tiles * splits > enough_blocks * multiprocessors)) break;
            const auto estimate = [&](SplitForm form) {
                const double waste = form == SplitForm::cluster ? cluster_waste : 1.0;
                const double share = static_cast<double>(tiles * splits) / multiprocessors;
                const double blocks = std::max(1.0, std::ceil(share * waste));
                const auto block_steps = static_cast<double>(ceil_divide(steps, splits));
                double time =
                    t.once + t.more * (blocks - 1) + block_steps * std::max(t.alone, t.full * blocks);
                if (form == SplitForm::cluster) time += cluster_time + cluster_time_part * splits;
                if (form == SplitForm::workspace)
                    time += join_time + join_time_megafloat * 1e-6 * splits * static_cast<double>(rows) *
                                            static_cast<double>(columns * groups);
                if (time < least) {
                    least = time;
                    best = {static_cast<int>(i), splits, form};
                }
            };
            if (splits == 1) {
                estimate(SplitForm::none);
                continue;
            }
            if (clusters && splits <= most_cluster) estimate(SplitForm::cluster);
            estimate(SplitForm::workspace);
        }
    }
    return best;
}

}  // namespace convlens::cuda

// Statistics of feature maps where they lie: range, mean, deviation, zeros, NaN and infinities of every map
// of many tensors in two launches, and a histogram in a third.
//
// Method: a block takes a strip of channels and a range of cells of one tensor; its threads lie along
// whichever is contiguous. A thread sums sixteen values at a time in f32 about one of them (so that what
// cancels is no larger than their own spread) and joins these sums in double about the channel's first value.
// Blocks leave partial sums, which the second launch joins in a fixed order: by channel plainly, since all
// parts of a channel are about the same value, and over channels by Chan's formula. The result does not
// depend on the order in which blocks run. Limits: f32, fewer than 2^31 cells a map, fewer than 2^31 blocks
// in all, 1024 bins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/layout.h"
#include "kernels/cuda/stream.h"
#include "kernels/cuda/walk.h"

namespace convlens::cuda {

// One tensor, as the kernels read it; made by plan_statistics().
struct StatisticsTensor {
    const float* data = nullptr;  // channel 0, cell 0
    std::int64_t channels = 0, channel_stride = 0;
    Walk<1> cells;
    int lanes = 1, rows = 256;  // channels and cells side by side in a block; their product is the block
    bool cells_fastest = false;
    std::int64_t strips = 0, splits = 0;  // of the channels, of the cells; their product is the blocks
    std::int64_t split_cells = 0;
    std::int64_t first_part = 0;  // of splits x channels
    std::int64_t first_map = -1;  // in the results, or no results by map
};

// What a request is about: channels and up to three axes of cells of batch item 0.
struct StatisticsSource {
    const float* data = nullptr;
    std::int64_t channels = 0, channel_stride = 0;
    std::int64_t dims[3]{1, 1, 1}, strides[3]{};
    bool maps = false;  // results by map are wanted
};

struct StatisticsPart {
    float min, max;
    std::uint32_t zeros, nans, infinities, unused;
    double sum, squares;  // about the channel's first value
};

// Of the finite values; all 0 when there are none.
struct MapResult {
    float min, max, mean, deviation;
    std::uint32_t zeros, nans, infinities;
};
struct TensorResult {
    float min, max, mean, deviation;
    std::uint64_t zeros, nans, infinities;
};

struct StatisticsPlan {
    std::vector<StatisticsTensor> tensors;
    std::vector<std::uint32_t> first_blocks;  // of each tensor, and the number of all blocks
    std::int64_t blocks = 0, parts = 0, maps = 0;
    std::size_t part_bytes() const { return static_cast<std::size_t>(parts) * sizeof(StatisticsPart); }
};

StatisticsPlan plan_statistics(const std::vector<StatisticsSource>& sources);

// On the device: the plan's tensors and first_blocks, part_bytes() of scratch, and the results: one a tensor,
// and the maps.
struct StatisticsMemory {
    const StatisticsTensor* tensors = nullptr;
    const std::uint32_t* first_blocks = nullptr;
    StatisticsPart* parts = nullptr;
    TensorResult* tensor_results = nullptr;
    MapResult* map_results = nullptr;
};
void run_statistics(const StatisticsPlan& plan, const StatisticsMemory& memory, Stream stream);

inline constexpr int max_bins = 1024;

// Adds to counts (cleared by the caller) of `bins` bins from the finite minimum to the maximum that `map`, or
// else `tensor`, holds on the device; values equal to the maximum fall into the last.
struct HistogramParams {
    JointShape shape;  // operand: the values, from `data`
    const float* data = nullptr;
    const TensorResult* tensor = nullptr;
    const MapResult* map = nullptr;
    int bins = 64;
    std::uint64_t* counts = nullptr;
};
void run_histogram(const HistogramParams& params, int multiprocessors, Stream stream);

}  // namespace convlens::cuda

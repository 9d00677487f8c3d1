// Statistics of feature maps, computed where the map lies (any strides).
#pragma once

#include <cstdint>
#include <vector>

#include "convlens/tensor.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::measure {

struct MapStatistics {
    float min = 0, max = 0;          // of the finite values; 0 when there are none
    double mean = 0, deviation = 0;  // of the finite values; two-pass
    double zero_share = 0;           // 0 to 1
    std::int64_t count = 0, nan_count = 0, inf_count = 0;
    bool is_dead() const { return count > 0 && nan_count + inf_count == 0 && min == 0 && max == 0; }
    bool is_constant() const { return nan_count + inf_count == 0 && min == max; }
};

struct Histogram {
    float lo = 0, hi = 0;  // range of the bins; values equal to hi fall into the last
    std::vector<std::int64_t> counts;
    std::int64_t nan_count = 0, inf_count = 0;
};

// One entry a channel of batch item n. desc: rank 1 to 5, N C [D] H W; rank 1 and 2 are C values of one cell
// each. `data` points at element 0 of the tensor (desc.offset already added), host memory.
std::vector<MapStatistics> map_statistics(const float* data, const TensorDesc& desc, std::int64_t n,
                                          cpu::ThreadPool& pool);
// Joined over channels.
MapStatistics joined(const std::vector<MapStatistics>& maps);
// channel -1: all channels of batch item n. Bins span the finite min to max.
Histogram map_histogram(const float* data, const TensorDesc& desc, std::int64_t n, std::int64_t channel,
                        int bins);

}  // namespace convlens::measure

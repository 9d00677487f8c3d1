// Statistics of feature maps where they lie in a device's memory (inside the library only).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "convlens/tensor.h"

namespace convlens {

// Of the finite values (0 when there are none); the counts are of all.
struct ValueStatistics {
    float min = 0, max = 0;
    double mean = 0, deviation = 0;
    double zero_share = 0;  // 0 to 1
    std::int64_t count = 0, nan_count = 0, inf_count = 0;
};

struct StatisticsRequest {
    struct Tensor {
        const void* data = nullptr;  // element 0: desc.offset is already added; device memory
        TensorDesc desc;  // f32, rank 1 to 5, N C [D] [H] W; rank 1 and 2 are C values of one cell each
    };
    std::vector<Tensor> tensors;  // batch item 0 of each
    int maps_of = -1;             // the tensor whose maps are wanted one by one
    int histogram_of = -1;        // the tensor whose histogram is wanted
    std::int64_t channel = -1;    // of that tensor; -1: all
    int bins = 64;                // 1 to 1024
};

struct StatisticsResult {
    std::vector<ValueStatistics> tensors;  // joined over the channels
    std::vector<ValueStatistics> maps;     // one a channel of maps_of
    // Bins from the finite minimum to the maximum; values equal to the maximum fall into the last.
    float low = 0, high = 0;
    std::vector<std::int64_t> counts;
    std::int64_t nan_count = 0, inf_count = 0;
};

// The context must outlive it. Keeps its memory between calls: 28 bytes a map, 40 a tensor and 8 a bin come back in one copy.
class MapStatisticsTaker {
  public:
    virtual ~MapStatisticsTaker() = default;
    // After the work handed over so far; waits. The result stays valid until the next call. Throws
    // Error(bad_parameter) for a tensor, channel or number of bins out of range, Error(runtime_failure) when
    // the device fails.
    virtual const StatisticsResult& take(const StatisticsRequest& request) = 0;
};

}  // namespace convlens

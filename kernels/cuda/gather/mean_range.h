// The range of small pictures that average maps: mean of |x| over channels on a grid of cells.
#pragma once

#include <cstdint>

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

struct MeanView {
    const float* data;  // element 0, device memory
    std::int64_t width, height, channels;
    std::int64_t stride_x, stride_y, stride_c;  // in elements
};
struct MeanRange {
    float lo, hi;  // of the finite means; lo > hi where there is none
};

// One block a view; views and out are device memory. grid: 1 to 16 cells a side. Sums in the order of the
// channels.
void mean_ranges(const MeanView* views, int count, int grid, MeanRange* out, Stream stream);

}  // namespace convlens::cuda

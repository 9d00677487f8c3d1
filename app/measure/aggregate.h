// All maps of a tensor as one small picture: the mean of |x| over evenly chosen maps.
#pragma once

#include <cstdint>
#include <optional>

#include "convlens/tensor.h"

namespace convlens::measure {

struct AggregateView {
    std::int64_t width = 0, height = 0;                     // 0: nothing to show
    std::int64_t channels = 0;                              // maps that are averaged
    std::int64_t stride_x = 0, stride_y = 0, stride_c = 0;  // in elements, from element 0 of the tensor
};
// At most `most_channels` maps. Tensors whose maps are one cell each become a square of their values.
AggregateView aggregate_view(const TensorDesc& desc);

// Range of the picture's values on a grid of 8 x 8 cells; finite ones only.
struct AggregateRange {
    float lo = 0, hi = 0;
};
inline constexpr int aggregate_grid = 8;
// `data`: element 0 of the tensor, host memory. Empty where no sampled value is finite.
std::optional<AggregateRange> aggregate_range(const float* data, const AggregateView& view);

}  // namespace convlens::measure

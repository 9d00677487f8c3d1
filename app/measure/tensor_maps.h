// A tensor as feature maps: which element is row y, column x of map m, whatever the layout.
#pragma once

#include <cstdint>

#include "convlens/tensor.h"

namespace convlens::measure {

// Batch item 0 of N C [D] H W. Ranks 0 to 2 are maps of one cell each; rank 3 is one row a map; above rank 4
// every axis between N and H counts maps.
struct TensorMaps {
    std::int64_t count = 0, height = 0, width = 0;  // count 0: nothing to show
    std::int64_t stride_y = 0, stride_x = 0;        // in elements
    std::int64_t maps_per_channel = 1;  // entries of per-channel statistics: map / maps_per_channel

    TensorMaps() = default;
    explicit TensorMaps(const TensorDesc& desc);
    // Elements from element 0 of the tensor to (0, 0) of the map.
    std::int64_t offset(std::int64_t map) const;
    std::int64_t offset(std::int64_t map, std::int64_t row, std::int64_t column) const {
        return offset(map) + row * stride_y + column * stride_x;
    }
    // Elements from map m to map m + 1 where that is the same for all m; else 0.
    std::int64_t uniform_stride() const { return uniform_ ? stride_map_ : 0; }

  private:
    Dims map_dims_, map_strides_;  // the axes that count maps, outermost first
    bool uniform_ = true;
    std::int64_t stride_map_ = 0;
};

}  // namespace convlens::measure

#include "app/measure/tensor_maps.h"

namespace convlens::measure {

TensorMaps::TensorMaps(const TensorDesc& desc) {
    const int rank = desc.rank();
    for (const std::int64_t dim : desc.dims)
        if (dim <= 0) return;
    height = width = 1;
    const int first_map_axis = rank >= 2 ? 1 : 0;
    int last_map_axis = rank - 1;
    if (rank >= 3) {
        width = desc.dims[rank - 1];
        stride_x = desc.strides[rank - 1];
        last_map_axis = rank - 2;
    }
    if (rank >= 4) {
        height = desc.dims[rank - 2];
        stride_y = desc.strides[rank - 2];
        last_map_axis = rank - 3;
    }
    count = 1;
    for (int axis = first_map_axis; axis <= last_map_axis; ++axis) {
        map_dims_.push_back(desc.dims[axis]);
        map_strides_.push_back(desc.strides[axis]);
        count *= desc.dims[axis];
        if (axis > first_map_axis) {
            maps_per_channel *= desc.dims[axis];
            if (desc.strides[axis - 1] != desc.strides[axis] * desc.dims[axis]) uniform_ = false;
        }
    }
    if (!map_strides_.empty()) stride_map_ = map_strides_.back();
}

std::int64_t TensorMaps::offset(std::int64_t map) const {
    std::int64_t result = 0;
    for (int axis = map_dims_.rank() - 1; axis >= 0; --axis) {
        result += map % map_dims_[axis] * map_strides_[axis];
        map /= map_dims_[axis];
    }
    return result;
}

}  // namespace convlens::measure

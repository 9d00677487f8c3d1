// The executor's inside: planned layers and the buffers that they read.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "app/network/executor.h"
#include "app/network/program.h"
#include "primitives/aligned_buffer.h"

namespace convlens::network {

// The smallest problem-side view of a strided tensor: walks its elements in row-major order.
template <class Body>
void for_each_offset(const TensorDesc& desc, const Body& body) {
    const int rank = desc.rank();
    if (desc.is_empty()) return;
    const int inner_axis = rank - 1;
    const std::int64_t inner = rank > 0 ? desc.dims[inner_axis] : 1,
                       step = rank > 0 ? desc.strides[inner_axis] : 0;
    Dims index = Dims::filled(rank, 0);
    std::int64_t base = desc.offset;
    for (;;) {
        for (std::int64_t i = 0; i < inner; ++i) body(base + i * step);
        int axis = rank - 2;
        for (; axis >= 0; --axis) {
            base += desc.strides[axis];
            if (++index[axis] < desc.dims[axis]) break;
            base -= desc.dims[axis] * desc.strides[axis];
            index[axis] = 0;
        }
        if (axis < 0) return;
    }
}

struct PlannedLayer {
    Operation operation;
    std::unique_ptr<Plan> plan;
    AlignedBuffer packed;
    // Base pointers in the order of execute(), one list an arena.
    std::vector<std::vector<const void*>> sources;
    std::vector<void*> dst;
};

}  // namespace convlens::network

// The executor's inside: planned layers and the buffers that they read.
#pragma once

#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <vector>

#include "app/network/executor.h"
#include "app/network/program.h"

namespace convlens::network {

// 64-byte aligned host memory.
class AlignedBuffer {
  public:
    AlignedBuffer() = default;
    explicit AlignedBuffer(std::size_t bytes) : bytes_(bytes) {
        if (bytes == 0) return;
        data_.reset(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
        if (!data_)
            throw Error(Status::runtime_failure,
                        "out of memory for " + std::to_string(bytes) + " bytes of weights or workspace");
    }
    std::byte* data() const { return data_.get(); }
    float* floats() const { return reinterpret_cast<float*>(data_.get()); }
    std::size_t bytes() const { return bytes_; }

  private:
    struct Free {
        void operator()(std::byte* p) const { std::free(p); }
    };
    std::unique_ptr<std::byte, Free> data_;
    std::size_t bytes_ = 0;
};

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

// Host memory for packed weights, workspaces and results: 64-byte aligned, not cleared.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string>

#include "convlens/error.h"

namespace convlens {

class AlignedBuffer {
  public:
    AlignedBuffer() = default;
    // Throws Error(runtime_failure) when there is not enough memory. Of 0 bytes: data() is null.
    explicit AlignedBuffer(std::size_t bytes) : bytes_(bytes) {
        if (bytes == 0) return;
        data_.reset(static_cast<std::byte*>(::operator new(bytes, alignment, std::nothrow)));
        if (data_ == nullptr)
            throw Error(Status::runtime_failure, "out of memory for " + std::to_string(bytes) +
                                                     " bytes of weights or workspace; use a smaller input");
    }
    std::byte* data() const { return data_.get(); }
    float* floats() const { return reinterpret_cast<float*>(data_.get()); }
    std::size_t bytes() const { return bytes_; }

  private:
    static constexpr std::align_val_t alignment{64};
    struct Free {
        void operator()(std::byte* p) const { ::operator delete(p, alignment); }
    };
    std::unique_ptr<std::byte, Free> data_;
    std::size_t bytes_ = 0;
};

}  // namespace convlens

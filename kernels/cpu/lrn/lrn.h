// Local response normalisation over channels (axis 1): src / (k + alpha / size * sum of squares)^beta, the
// window being c - floor((size - 1) / 2) .. c + ceil((size - 1) / 2).
#pragma once

#include <cstdint>

#include "kernels/cpu/layout.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

struct LrnParams {
    Layout src, dst;  // equal dims
    std::int64_t size = 5;
    float alpha = 1e-4f;
    float beta = 0.75f;
    float k = 1.0f;
    std::int64_t before() const { return (size - 1) / 2; }
    std::int64_t after() const { return size - 1 - before(); }
};

// By definition, in double: the reference. Any element type, any strides.
void lrn_direct(const LrnParams& params, const void* src, void* dst, ThreadPool& pool);

struct LrnBlocks {
    // Positions side by side, or channels of one position at a time; the window is no longer than this.
    static constexpr std::int64_t strip = 512;
    JointShape positions;  // all axes but the channels; operands: src, dst
    std::int64_t channels = 0;
    std::int64_t src_step = 0, dst_step = 0;  // between channels
    std::int64_t size = 5;
    float alpha = 1e-4f;
    float beta = 0.75f;
    float k = 1.0f;
};

// f32, any strides: along the channels where they are contiguous, else many positions side by side.
void lrn_blocks(const LrnBlocks& params, const float* src, float* dst, ThreadPool& pool);

}  // namespace convlens::cpu

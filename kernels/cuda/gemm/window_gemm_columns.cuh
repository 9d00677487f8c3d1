// Where the elements of A lie in src: what a column adds to the first tap of a row.
#pragma once

#include "kernels/cuda/gemm/window_gemm_params.cuh"

namespace convlens::cuda {

// Without branches, so that it is computed between other instructions.
__device__ __forceinline__ ColumnEntry column_entry(const WindowGemmParams& p, int k) {
    auto tap = static_cast<std::uint32_t>(k);
    const auto c = static_cast<std::int32_t>(p.channels.split(tap));
    const auto w = static_cast<std::int32_t>(p.window_w.split(tap)) * p.dilations[2];
    const auto h = static_cast<std::int32_t>(p.window_h.split(tap)) * p.dilations[1];
    const auto d = static_cast<std::int32_t>(tap) * p.dilations[0];
    return {c * p.src_strides[0] + d * p.src_strides[1] + h * p.src_strides[2] + w * p.src_strides[3],
            k < p.depth ? d : column_outside, h, w};
}

// The first tap of an output cell.
struct RowStart {
    const float* src;
    std::int32_t d, h, w;

    __device__ __forceinline__ RowStart(const WindowGemmParams& p, const float* base, std::int64_t row) {
        src = base;
        d = h = w = -2 * column_outside;
        if (row >= p.rows) return;
        auto n = static_cast<std::uint32_t>(row);
        w = static_cast<std::int32_t>(p.dst_w.split(n)) * p.strides[2] - p.pads[2];
        h = static_cast<std::int32_t>(p.dst_h.split(n)) * p.strides[1] - p.pads[1];
        d = static_cast<std::int32_t>(p.dst_d.split(n)) * p.strides[0] - p.pads[0];
        src += n * p.src_steps[0] + d * p.src_steps[2] + h * p.src_steps[3] + w * p.src_steps[4];
    }
    __device__ __forceinline__ bool holds(const WindowGemmParams& p, const ColumnEntry& e) const {
        return static_cast<std::uint32_t>(d + e.d) < static_cast<std::uint32_t>(p.src[0]) &&
               static_cast<std::uint32_t>(h + e.h) < static_cast<std::uint32_t>(p.src[1]) &&
               static_cast<std::uint32_t>(w + e.w) < static_cast<std::uint32_t>(p.src[2]);
    }
};

}  // namespace convlens::cuda

// What happens to a finished sum: bias, residual, activation, store.
#pragma once

#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/gemm/window_gemm_params.cuh"

namespace convlens::cuda {

__device__ __forceinline__ std::int64_t dst_offset(const WindowGemmParams& p, std::uint32_t row) {
    if (p.even_dst) return row * p.dst_cell;
    std::uint32_t n = row;
    const std::uint32_t w = p.dst_w.split(n), h = p.dst_h.split(n), d = p.dst_d.split(n);
    return n * p.dst_steps[0] + d * p.dst_steps[2] + h * p.dst_steps[3] + w * p.dst_steps[4];
}

template <bool clamps>
__device__ __forceinline__ float finish_one(const WindowGemmParams& p, float sum, float low, float high) {
    if constexpr (clamps) return clamp_value(sum, low, high);
    return activate_smooth(p.operands.activation, sum);
}

// Four neighbouring outputs of one row, from column `column` of the group on.
template <bool clamps>
__device__ __forceinline__ void finish_quad(const WindowGemmParams& p, float4 sum, std::uint32_t row,
                                            int column, int group) {
    const float low = clamp_low(p.operands.activation), high = clamp_high(p.operands.activation);
    const std::int64_t at = dst_offset(p, row) + group * p.dst_group + column * p.dst_steps[1];
    const float* bias = p.operands.bias ? p.operands.bias + group * p.columns + column : nullptr;
    float value[4] = {sum.x, sum.y, sum.z, sum.w};
    if (p.quad_dst) {
        if (bias) {
#pragma unroll
            for (int i = 0; i < 4; ++i) value[i] += __ldg(bias + i);
        }
        if (p.operands.residual) {
            const float4 residual = *reinterpret_cast<const float4*>(p.operands.residual + at);
            value[0] += residual.x;
            value[1] += residual.y;
            value[2] += residual.z;
            value[3] += residual.w;
        }
        float4 result;
        result.x = finish_one<clamps>(p, value[0], low, high);
        result.y = finish_one<clamps>(p, value[1], low, high);
        result.z = finish_one<clamps>(p, value[2], low, high);
        result.w = finish_one<clamps>(p, value[3], low, high);
        *reinterpret_cast<float4*>(p.operands.dst + at) = result;
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (column + i >= p.columns) break;
        const std::int64_t here = at + i * p.dst_steps[1];
        if (bias) value[i] += __ldg(bias + i);
        if (p.operands.residual) value[i] += p.operands.residual[here];
        p.operands.dst[here] = finish_one<clamps>(p, value[i], low, high);
    }
}

}  // namespace convlens::cuda

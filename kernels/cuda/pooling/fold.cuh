// How a window's cells are folded: a maximum that keeps NaN, or a sum; and the geometry in 32 bits.
#pragma once

#include <limits>

#include "kernels/cuda/pooling/pooling.h"
#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {

struct MaxFold {
    static constexpr float identity = -std::numeric_limits<float>::infinity();
    static __device__ __forceinline__ float fold(float sofar, float x) {
        return sofar > x || sofar != sofar ? sofar : x;
    }
};

struct SumFold {
    static constexpr float identity = 0.0f;
    static __device__ __forceinline__ float fold(float sofar, float x) { return sofar + x; }
};

struct ShortAxis {
    int src, dst, window, stride, dilation, pad_begin, pad_end;
    std::int64_t src_stride, dst_stride;
};

struct ShortCells {
    int first, count, counted;  // as kernels::PoolAxis::Cells
};

__device__ __forceinline__ ShortCells cells_of(const ShortAxis& axis, int o) {
    const int start = o * axis.stride - axis.pad_begin;
    const auto up_to = [&](int limit) {
        if (limit <= start) return 0;
        const int cells =
            axis.dilation == 1 ? limit - start : (limit - start + axis.dilation - 1) / axis.dilation;
        return min(axis.window, cells);
    };
    const int skipped = up_to(0);
    return {start + skipped * axis.dilation, up_to(axis.src) - skipped, up_to(axis.src + axis.pad_end)};
}

struct ShortPooling {
    PoolKind kind;
    ShortAxis axes[3];  // D H W
    std::int64_t src_batch_stride, src_channel_stride, dst_batch_stride, dst_channel_stride;
    const float* src;
    float* dst;
};

// What a folded window is finished with.
__device__ __forceinline__ float pooling_factor(PoolKind kind, const ShortCells& d, const ShortCells& h,
                                                const ShortCells& w) {
    const float real =
        static_cast<float>(d.count) * static_cast<float>(h.count) * static_cast<float>(w.count);
    if (kind == PoolKind::max) return 1.0f;
    if (!(real > 0.0f)) return 0.0f;
    if (kind == PoolKind::average_exclude_pad) return real;
    return static_cast<float>(d.counted) * static_cast<float>(h.counted) * static_cast<float>(w.counted);
}

// False where an index of the geometry leaves 31 bits.
inline bool shorten(const PoolingParams& params, const float* src, float* dst, ShortPooling& out) {
    constexpr std::int64_t limit = std::int64_t{1} << 30;
    const auto fits = [](std::int64_t a, std::int64_t b) { return a < limit && b < limit && a * b < limit; };
    out = {};
    for (std::size_t i = 0; i < 3; ++i) {
        const auto& a = params.axes[i];
        if (!fits(a.window, a.dilation) || !fits(a.dst, a.stride) || a.src >= limit / 2 ||
            a.pad_end >= limit / 2 || a.pad_begin >= limit / 2)
            return false;
        out.axes[i] = {static_cast<int>(a.src),
                       static_cast<int>(a.dst),
                       static_cast<int>(a.window),
                       static_cast<int>(a.stride),
                       static_cast<int>(a.dilation),
                       static_cast<int>(a.pad_begin),
                       static_cast<int>(a.pad_end),
                       a.src_stride,
                       a.dst_stride};
    }
    out.kind = params.kind;
    out.src_batch_stride = params.src_batch_stride;
    out.src_channel_stride = params.src_channel_stride;
    out.dst_batch_stride = params.dst_batch_stride;
    out.dst_channel_stride = params.dst_channel_stride;
    out.src = src + params.src_offset;
    out.dst = dst + params.dst_offset;
    return true;
}

}  // namespace convlens::cuda

// One window for `width` neighbouring channels (4, or 1).
#pragma once

#include "kernels/cuda/pooling/fold.cuh"

namespace convlens::cuda {

template <int width>
__device__ __forceinline__ void load_cell(const float* from, float (&x)[width]) {
    if constexpr (width == 4) {
        const float4 v = *reinterpret_cast<const float4*>(from);
        x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
    } else {
        x[0] = *from;
    }
}

// A plane of at most side x side cells: every load is issued before the first is used.
template <class Fold, int side, int width>
__device__ __forceinline__ void fold_small(const ShortPooling& p, const float* plane, const ShortCells& h,
                                           const ShortCells& w, float (&result)[width]) {
    float x[side][side][width];
    const std::int64_t row_step = p.axes[1].dilation * p.axes[1].src_stride;
    const std::int64_t step = p.axes[2].dilation * p.axes[2].src_stride;
#pragma unroll
    for (int r = 0; r < side; ++r)
#pragma unroll
        for (int s = 0; s < side; ++s) {
#pragma unroll
            for (int i = 0; i < width; ++i) x[r][s][i] = Fold::identity;
            if (r < h.count && s < w.count) load_cell(plane + r * row_step + s * step, x[r][s]);
        }
#pragma unroll
    for (int r = 0; r < side; ++r)
#pragma unroll
        for (int s = 0; s < side; ++s)
#pragma unroll
            for (int i = 0; i < width; ++i) result[i] = Fold::fold(result[i], x[r][s][i]);
}

template <class Fold, int width>
__device__ __forceinline__ void fold_plane(const ShortPooling& p, const float* plane, const ShortCells& h,
                                           const ShortCells& w, float (&result)[width]) {
    const std::int64_t row_step = p.axes[1].dilation * p.axes[1].src_stride;
    const std::int64_t step = p.axes[2].dilation * p.axes[2].src_stride;
    for (int r = 0; r < h.count; ++r) {
        const float* row = plane + r * row_step;
#pragma unroll 4
        for (int s = 0; s < w.count; ++s) {
            float x[width];
            load_cell(row + s * step, x);
#pragma unroll
            for (int i = 0; i < width; ++i) result[i] = Fold::fold(result[i], x[i]);
        }
    }
}

// side: the longest window of H and W, or 0 for any. src and dst: of the batch item and channel.
template <class Fold, int side, int width>
__device__ __forceinline__ void pool_window(const ShortPooling& p, const float* src, float* dst, int od,
                                            int oh, int ow) {
    const ShortCells d = cells_of(p.axes[0], od), h = cells_of(p.axes[1], oh), w = cells_of(p.axes[2], ow);
    float result[width];
#pragma unroll
    for (int i = 0; i < width; ++i) result[i] = Fold::identity;
    src += d.first * p.axes[0].src_stride + h.first * p.axes[1].src_stride + w.first * p.axes[2].src_stride;
    for (int i = 0; i < d.count; ++i) {
        if constexpr (side > 0)
            fold_small<Fold, side>(p, src, h, w, result);
        else
            fold_plane<Fold>(p, src, h, w, result);
        src += p.axes[0].dilation * p.axes[0].src_stride;
    }
    if constexpr (Fold::identity == 0.0f) {
        const float divisor = pooling_factor(p.kind, d, h, w);
#pragma unroll
        for (int i = 0; i < width; ++i) result[i] = divisor > 0.0f ? result[i] / divisor : 0.0f;
    }
    dst += od * p.axes[0].dst_stride + oh * p.axes[1].dst_stride + ow * p.axes[2].dst_stride;
    if constexpr (width == 4)
        *reinterpret_cast<float4*>(dst) = make_float4(result[0], result[1], result[2], result[3]);
    else
        *dst = result[0];
}

// The longest side that has code of its own, or 0.
inline int side_of(const ShortPooling& p) {
    const int longest = std::max(p.axes[1].window, p.axes[2].window);
    return longest <= 2 ? 2 : longest == 3 ? 3 : 0;
}

// Calls body(Fold{}, std::integral_constant<int, side>{}).
template <class Body>
void with_fold_and_side(const ShortPooling& p, const Body& body) {
    const auto with_side = [&](auto fold) {
        switch (side_of(p)) {
            case 2:
                return body(fold, std::integral_constant<int, 2>{});
            case 3:
                return body(fold, std::integral_constant<int, 3>{});
            default:
                return body(fold, std::integral_constant<int, 0>{});
        }
    };
    if (p.kind == PoolKind::max)
        with_side(MaxFold{});
    else
        with_side(SumFold{});
}

}  // namespace convlens::cuda

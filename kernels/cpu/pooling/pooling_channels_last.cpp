#include "kernels/cpu/pooling/pooling.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pooling/pooling_channels_last.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/pooling/fold-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {

using Cells = PoolAxis::Cells;
using Vector = hn::Vec<hn::ScalableTag<float>>;

Cells cells_of(const PoolAxis& axis, std::int64_t o) {
    const std::int64_t start = o * axis.stride - axis.pad_begin;
    if (start >= 0 && start + (axis.window - 1) * axis.dilation < axis.src)
        return {start, axis.window, axis.window};  // no division
    return axis.cells(o);
}

// `count` vectors of channels of one window, from `src` (its first real cell) to `dst`.
template <class Fold, int count>
HWY_INLINE void fold_window(const PoolingParams& p, const std::array<Cells, 3>& cells, float divisor,
                            const float* src, float* dst) {
    const hn::ScalableTag<float> d;
    const std::size_t lanes = hn::Lanes(d);
    Vector sofar[count];
    for (int v = 0; v < count; ++v) sofar[v] = hn::Set(d, Fold::identity);
    for (std::int64_t i = 0; i < cells[0].count; ++i) {
        const float* plane = src + i * p.axes[0].dilation * p.axes[0].src_stride;
        for (std::int64_t j = 0; j < cells[1].count; ++j) {
            const float* cell = plane + j * p.axes[1].dilation * p.axes[1].src_stride;
            const std::int64_t step = p.axes[2].dilation * p.axes[2].src_stride;
            for (std::int64_t k = 0; k < cells[2].count; ++k, cell += step)
                for (int v = 0; v < count; ++v)
                    sofar[v] = Fold::fold(sofar[v], hn::LoadU(d, cell + static_cast<std::size_t>(v) * lanes));
        }
    }
    const auto by = hn::Set(d, divisor);
    for (int v = 0; v < count; ++v) {
        if (divisor != 1.0f) sofar[v] = hn::Div(sofar[v], by);
        hn::StoreU(sofar[v], d, dst + static_cast<std::size_t>(v) * lanes);
    }
}

// Fewer channels than a vector holds.
template <class Fold>
void fold_few(const PoolingParams& p, const std::array<Cells, 3>& cells, float divisor, const float* src,
              float* dst) {
    for (std::int64_t c = 0; c < p.channels; ++c) {
        float sofar = Fold::identity;
        for (std::int64_t i = 0; i < cells[0].count; ++i)
            for (std::int64_t j = 0; j < cells[1].count; ++j)
                for (std::int64_t k = 0; k < cells[2].count; ++k)
                    sofar = Fold::fold_one(sofar, src[c + i * p.axes[0].dilation * p.axes[0].src_stride +
                                                      j * p.axes[1].dilation * p.axes[1].src_stride +
                                                      k * p.axes[2].dilation * p.axes[2].src_stride]);
        dst[c] = divisor == 1.0f ? sofar : sofar / divisor;
    }
}

template <class Fold>
void fold_channels(const PoolingParams& p, const std::array<Cells, 3>& cells, float divisor, const float* src,
                   float* dst) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
    if (p.channels < lanes) {
        fold_few<Fold>(p, cells, divisor, src, dst);
        return;
    }
    std::int64_t c = 0;
    for (; c + 4 * lanes <= p.channels; c += 4 * lanes)
        fold_window<Fold, 4>(p, cells, divisor, src + c, dst + c);
    for (; c + lanes <= p.channels; c += lanes) fold_window<Fold, 1>(p, cells, divisor, src + c, dst + c);
    // The last vector may overlap the one before: the same values are written again.
    if (c < p.channels)
        fold_window<Fold, 1>(p, cells, divisor, src + p.channels - lanes, dst + p.channels - lanes);
}

// All outputs of one row.
template <class Fold>
void pool_row(const PoolingParams& p, std::int64_t n, std::int64_t od, std::int64_t oh, const float* src,
              float* dst) {
    const auto& [ad, ah, aw] = p.axes;
    std::array<Cells, 3> cells{cells_of(ad, od), cells_of(ah, oh), {}};
    const float* plane = src + p.src_offset + n * p.src_batch_stride + cells[0].first * ad.src_stride +
                         cells[1].first * ah.src_stride;
    float* row = dst + p.dst_offset + n * p.dst_batch_stride + od * ad.dst_stride + oh * ah.dst_stride;
    for (std::int64_t o = 0; o < aw.dst; ++o) {
        cells[2] = cells_of(aw, o);
        float divisor = 1.0f;
        if (p.kind != PoolKind::max) {
            const bool real = cells[0].count > 0 && cells[1].count > 0 && cells[2].count > 0;
            for (const Cells& axis : cells)
                divisor *=
                    static_cast<float>(p.kind == PoolKind::average_include_pad ? axis.counted : axis.count);
            if (!real) divisor = 1.0f;
        }
        fold_channels<Fold>(p, cells, divisor, plane + cells[2].first * aw.src_stride,
                            row + o * aw.dst_stride);
    }
}

void PoolChannelsLastRow(const PoolingParams& p, std::int64_t n, std::int64_t od, std::int64_t oh,
                         const float* src, float* dst) {
    if (p.kind == PoolKind::max)
        pool_row<MaxFold>(p, n, od, oh, src, dst);
    else
        pool_row<SumFold>(p, n, od, oh, src, dst);
}

}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convlens::cpu {

HWY_EXPORT(PoolChannelsLastRow);

void pooling_channels_last(const PoolingParams& p, const float* src, float* dst, ThreadPool& pool) {
    const std::int64_t rows = p.batch * p.axes[0].dst * p.axes[1].dst;
    const double work = static_cast<double>(rows) * static_cast<double>(p.axes[2].dst * p.channels) *
                        static_cast<double>(p.axes[0].window * p.axes[1].window * p.axes[2].window);
    const std::int64_t tasks = task_count(pool, work, rows, 2e5);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        for (std::int64_t row = rows * task / tasks; row < rows * (task + 1) / tasks; ++row)
            HWY_DYNAMIC_DISPATCH(PoolChannelsLastRow)
        (p, row / (p.axes[0].dst * p.axes[1].dst), row / p.axes[1].dst % p.axes[0].dst, row % p.axes[1].dst,
         src, dst);
    });
}

}  // namespace convlens::cpu
#endif

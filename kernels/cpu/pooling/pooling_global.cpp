#include "kernels/cpu/pooling/pooling.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pooling/pooling_global.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/pooling/fold-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {

using Vector = hn::Vec<hn::ScalableTag<float>>;

// `count` vectors of channels over all cells.  A sum is taken row by row, then over the rows: its rounding
// error grows with H + W, not with H * W.
template <class Fold, int count>
HWY_INLINE void fold_stripe(const PoolingParams& p, float divisor, const float* src, float* dst,
                            std::int64_t dst_step) {
    const hn::ScalableTag<float> d;
    const std::size_t lanes = hn::Lanes(d);
    const auto& [ad, ah, aw] = p.axes;
    Vector all[count];
    for (int v = 0; v < count; ++v) all[v] = hn::Set(d, Fold::identity);
    for (std::int64_t i = 0; i < ad.src * ah.src; ++i) {
        const float* cell = src + i / ah.src * ad.src_stride + i % ah.src * ah.src_stride;
        Vector row[count];
        for (int v = 0; v < count; ++v) row[v] = hn::Set(d, Fold::identity);
        for (std::int64_t k = 0; k < aw.src; ++k, cell += aw.src_stride)
            for (int v = 0; v < count; ++v)
                row[v] = Fold::fold(row[v], hn::LoadU(d, cell + static_cast<std::size_t>(v) * lanes));
        for (int v = 0; v < count; ++v) all[v] = Fold::fold(all[v], row[v]);
    }
    HWY_ALIGN float out[count * HWY_MAX_BYTES / 4];
    for (int v = 0; v < count; ++v)
        hn::Store(hn::Div(all[v], hn::Set(d, divisor)), d, out + static_cast<std::size_t>(v) * lanes);
    for (std::int64_t x = 0; x < static_cast<std::int64_t>(lanes) * count; ++x) dst[x * dst_step] = out[x];
}

template <class Fold>
float fold_channel(const PoolingParams& p, const float* src) {
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto& [ad, ah, aw] = p.axes;
    HWY_ALIGN float lane[HWY_MAX_BYTES / 4];
    auto all = hn::Set(d, Fold::identity);
    float rest = Fold::identity;
    // Planes without gaps are one long row.
    const bool joined = aw.src_stride == 1 && (ah.src_stride == aw.src || ah.src == 1);
    const std::int64_t rows = joined ? 1 : ah.src;
    const std::int64_t length = joined ? ah.src * aw.src : aw.src;
    for (std::int64_t i = 0; i < ad.src * rows; ++i) {
        const float* cell = src + i / rows * ad.src_stride + i % rows * ah.src_stride;
        std::int64_t k = 0;
        if (aw.src_stride == 1) {
            auto row0 = hn::Set(d, Fold::identity);
            auto row1 = row0;
            for (; k + 2 * lanes <= length; k += 2 * lanes) {
                row0 = Fold::fold(row0, hn::LoadU(d, cell + k));
                row1 = Fold::fold(row1, hn::LoadU(d, cell + k + lanes));
            }
            for (; k + lanes <= length; k += lanes) row0 = Fold::fold(row0, hn::LoadU(d, cell + k));
            all = Fold::fold(all, Fold::fold(row0, row1));
        }
        float row = Fold::identity;
        for (; k < length; ++k) row = Fold::fold_one(row, cell[k * aw.src_stride]);
        rest = Fold::fold_one(rest, row);
    }
    hn::Store(all, d, lane);
    for (std::int64_t x = 0; x < lanes; ++x) rest = Fold::fold_one(rest, lane[x]);
    return rest;
}

// Channels [first, last) of one image.
template <class Fold>
void pool_channels(const PoolingParams& p, const float* src, float* dst, std::int64_t first,
                   std::int64_t last, float divisor) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
    std::int64_t c = first;
    if (p.src_channel_stride == 1) {
        for (; c + 4 * lanes <= last; c += 4 * lanes)
            fold_stripe<Fold, 4>(p, divisor, src + c, dst + c * p.dst_channel_stride, p.dst_channel_stride);
        for (; c + lanes <= last; c += lanes)
            fold_stripe<Fold, 1>(p, divisor, src + c, dst + c * p.dst_channel_stride, p.dst_channel_stride);
    }
    for (; c < last; ++c)
        dst[c * p.dst_channel_stride] = fold_channel<Fold>(p, src + c * p.src_channel_stride) / divisor;
}

void PoolGlobal(const PoolingParams& p, const float* src, float* dst, std::int64_t first, std::int64_t last,
                float divisor) {
    if (p.kind == PoolKind::max)
        pool_channels<MaxFold>(p, src, dst, first, last, divisor);
    else
        pool_channels<SumFold>(p, src, dst, first, last, divisor);
}

}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convlens::cpu {

HWY_EXPORT(PoolGlobal);

void pooling_global(const PoolingParams& p, const float* src, float* dst, ThreadPool& pool) {
    float divisor = 1.0f;
    if (p.kind != PoolKind::max)
        for (const PoolAxis& axis : p.axes) {
            const PoolAxis::Cells cells = axis.cells(0);
            divisor *=
                static_cast<float>(p.kind == PoolKind::average_include_pad ? cells.counted : cells.count);
        }
    // A task is a stripe of channels of one image, a multiple of every vector length.
    constexpr std::int64_t stripe = 64;
    const std::int64_t stripes = (p.channels + stripe - 1) / stripe;
    const std::int64_t all = p.batch * stripes;
    const double work = static_cast<double>(p.batch) * static_cast<double>(p.channels) *
                        static_cast<double>(p.axes[0].src * p.axes[1].src * p.axes[2].src);
    const std::int64_t tasks = task_count(pool, work, all, 2e5);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        for (std::int64_t i = all * task / tasks; i < all * (task + 1) / tasks; ++i) {
            const std::int64_t n = i / stripes;
            const std::int64_t first = i % stripes * stripe;
            HWY_DYNAMIC_DISPATCH(PoolGlobal)
            (p, src + p.src_offset + n * p.src_batch_stride, dst + p.dst_offset + n * p.dst_batch_stride,
             first, std::min(p.channels, first + stripe), divisor);
        }
    });
}

}  // namespace convlens::cpu
#endif

#include "kernels/cpu/pooling/pooling.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pooling/pooling_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/pooling/fold-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {

using Cells = PoolAxis::Cells;

// Columns of a folded strip that fit the stack; the rest is room for whole vectors beyond the end.
constexpr std::int64_t strip_length = 2048;
constexpr std::int64_t strip_slack = 2 * HWY_MAX_BYTES / 4;

// strip[x] = fold over the window's depth and rows at column `from` + x, x in [0, count).
template <class Fold>
void fold_rows(const PoolingParams& p, const Cells& cd, const Cells& ch, const float* src, std::int64_t from,
               std::int64_t count, float* strip) {
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const std::int64_t step = p.axes[2].src_stride;
    for (std::int64_t x = 0; x < count; ++x) strip[x] = Fold::identity;
    for (std::int64_t i = 0; i < cd.count; ++i)
        for (std::int64_t j = 0; j < ch.count; ++j) {
            const float* row = src + i * p.axes[0].dilation * p.axes[0].src_stride +
                               j * p.axes[1].dilation * p.axes[1].src_stride + from * step;
            std::int64_t x = 0;
            if (step == 1)
                for (; x + lanes <= count; x += lanes)
                    hn::StoreU(Fold::fold(hn::LoadU(d, strip + x), hn::LoadU(d, row + x)), d, strip + x);
            for (; x < count; ++x) strip[x] = Fold::fold_one(strip[x], row[x * step]);
        }
}

// out[o] = fold over `window` cells of strip starting at o * stride, o in [0, count). Strides 1 and 2 are
// vectors of outputs, the last of which may overlap the one before.
template <class Fold>
void fold_columns(const PoolAxis& axis, const float* strip, std::int64_t count, float* out) {
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto vector_at = [&](std::int64_t o) HWY_ATTR {
        auto sofar = hn::Set(d, Fold::identity);
        for (std::int64_t k = 0; k < axis.window; ++k) {
            const float* cell = strip + o * axis.stride + k * axis.dilation;
            auto value = hn::Zero(d);
            if (axis.stride == 1) {
                value = hn::LoadU(d, cell);
            } else {
                auto between = hn::Zero(d);
                hn::LoadInterleaved2(d, cell, value, between);
            }
            sofar = Fold::fold(sofar, value);
        }
        hn::StoreU(sofar, d, out + o);
    };
    std::int64_t o = 0;
    if (axis.stride <= 2 && count >= lanes) {
        for (; o + lanes <= count; o += lanes) vector_at(o);
        if (o < count) vector_at(count - lanes);
        return;
    }
    for (; o < count; ++o) {
        float sofar = Fold::identity;
        for (std::int64_t k = 0; k < axis.window; ++k)
            sofar = Fold::fold_one(sofar, strip[o * axis.stride + k * axis.dilation]);
        out[o] = sofar;
    }
}

float divisor_of(const PoolingParams& p, const Cells& cd, const Cells& ch, const Cells& cw) {
    if (p.kind == PoolKind::max || cd.count == 0 || ch.count == 0 || cw.count == 0) return 1.0f;
    if (p.kind == PoolKind::average_exclude_pad)
        return static_cast<float>(cd.count) * static_cast<float>(ch.count) * static_cast<float>(cw.count);
    return static_cast<float>(cd.counted) * static_cast<float>(ch.counted) * static_cast<float>(cw.counted);
}

// One output by itself: at the borders, and where a window does not fit a strip.
template <class Fold>
float fold_single(const PoolingParams& p, const Cells& cd, const Cells& ch, const Cells& cw,
                  const float* src) {
    float sofar = Fold::identity;
    for (std::int64_t k = 0; k < cw.count; ++k) {
        float column = 0;
        fold_rows<Fold>(p, cd, ch, src, cw.first + k * p.axes[2].dilation, 1, &column);
        sofar = Fold::fold_one(sofar, column);
    }
    return sofar / divisor_of(p, cd, ch, cw);
}

template <class Fold>
void pool_row(const PoolingParams& p, const Cells& cd, const Cells& ch, const float* src, float* dst) {
    alignas(64) float strip[strip_length + strip_slack];
    alignas(64) float out[strip_length];
    const PoolAxis& aw = p.axes[2];
    const std::int64_t reach = (aw.window - 1) * aw.dilation + 1;
    // Outputs whose windows lie inside src.
    const std::int64_t first = std::min(aw.dst, (aw.pad_begin + aw.stride - 1) / aw.stride);
    const std::int64_t room = aw.src + aw.pad_begin - reach;
    const std::int64_t last = room < 0 ? first : std::clamp(room / aw.stride + 1, first, aw.dst);
    const bool fits = reach <= strip_length;
    const auto single = [&](std::int64_t o) {
        dst[o * aw.dst_stride] = fold_single<Fold>(p, cd, ch, aw.cells(o), src);
    };
    for (std::int64_t o = 0; o < (fits ? first : aw.dst); ++o) single(o);
    if (!fits) return;
    const float divisor = divisor_of(p, cd, ch, {0, aw.window, aw.window});
    const std::int64_t most = (strip_length - reach) / aw.stride + 1;
    for (std::int64_t o = first; o < last; o += most) {
        const std::int64_t count = std::min(most, last - o);
        const std::int64_t from = o * aw.stride - aw.pad_begin;
        const std::int64_t length = (count - 1) * aw.stride + reach;
        fold_rows<Fold>(p, cd, ch, src, from, length, strip);
        for (std::int64_t x = 0; x < strip_slack; ++x) strip[length + x] = 0.0f;
        fold_columns<Fold>(aw, strip, count, out);
        if (divisor != 1.0f)
            for (std::int64_t x = 0; x < count; ++x) out[x] /= divisor;
        for (std::int64_t x = 0; x < count; ++x) dst[(o + x) * aw.dst_stride] = out[x];
    }
    for (std::int64_t o = last; o < aw.dst; ++o) single(o);
}

void PoolRow(const PoolingParams& p, const Cells& cd, const Cells& ch, const float* src, float* dst) {
    if (p.kind == PoolKind::max)
        pool_row<MaxFold>(p, cd, ch, src, dst);
    else
        pool_row<SumFold>(p, cd, ch, src, dst);
}

}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convlens::cpu {

HWY_EXPORT(PoolRow);

void pooling_rows(const PoolingParams& p, const float* src, float* dst, ThreadPool& pool) {
    const auto& [ad, ah, aw] = p.axes;
    const std::int64_t rows = p.batch * p.channels * ad.dst * ah.dst;
    const double work = static_cast<double>(rows) * static_cast<double>(aw.dst) *
                        static_cast<double>(ad.window * ah.window * aw.window);
    const std::int64_t tasks = task_count(pool, work, rows, 2e5);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        for (std::int64_t row = rows * task / tasks; row < rows * (task + 1) / tasks; ++row) {
            const std::int64_t oh = row % ah.dst;
            const std::int64_t od = row / ah.dst % ad.dst;
            const std::int64_t c = row / (ah.dst * ad.dst) % p.channels;
            const std::int64_t n = row / (ah.dst * ad.dst) / p.channels;
            const PoolAxis::Cells cd = ad.cells(od);
            const PoolAxis::Cells ch = ah.cells(oh);
            HWY_DYNAMIC_DISPATCH(PoolRow)
            (p, cd, ch,
             src + p.src_offset + n * p.src_batch_stride + c * p.src_channel_stride +
                 cd.first * ad.src_stride + ch.first * ah.src_stride,
             dst + p.dst_offset + n * p.dst_batch_stride + c * p.dst_channel_stride + od * ad.dst_stride +
                 oh * ah.dst_stride);
        }
    });
}

}  // namespace convlens::cpu
#endif

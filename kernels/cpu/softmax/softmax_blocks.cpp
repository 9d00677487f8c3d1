#include "kernels/cpu/softmax/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax/softmax_blocks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/activation-inl.h"
#include "kernels/cpu/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {

template <class V>
HWY_INLINE V maximum(V sofar, V x) {
    return hn::IfThenElse(hn::Or(hn::Gt(sofar, x), hn::IsNaN(sofar)), sofar, x);
}

template <class D, class V>
HWY_INLINE V exp_keeping_nan(D d, V x) {
    return hn::IfThenElse(hn::IsNaN(x), x, exp_vector(d, x));
}

// Side by side: each of n positions is a row of its own.
void UpdateMaximum(const float* x, float* most, std::int64_t n) {
    map_floats(
        n, most, [](auto, auto sofar, auto value) HWY_ATTR { return maximum(sofar, value); }, most, x);
}
void ExpShifted(const float* x, const float* most, float* out, float* sum, std::int64_t n) {
    map_floats(
        n, out,
        [](auto d, auto value, auto shift) HWY_ATTR { return exp_keeping_nan(d, hn::Sub(value, shift)); }, x,
        most);
    map_floats(
        n, sum, [](auto, auto sofar, auto value) HWY_ATTR { return hn::Add(sofar, value); }, sum, out);
}
void DivideBy(const float* x, const float* by, float* out, std::int64_t n) {
    map_floats(
        n, out, [](auto, auto value, auto divisor) HWY_ATTR { return hn::Div(value, divisor); }, x, by);
}
void SubtractBoth(const float* x, const float* a, const float* b, float* out, std::int64_t n) {
    map_floats(
        n, out, [](auto, auto value, auto va, auto vb) HWY_ATTR { return hn::Sub(hn::Sub(value, va), vb); },
        x, a, b);
}

// One contiguous row of n.
void SoftmaxRow(const float* x, float* y, std::int64_t n, bool logarithm) {
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    constexpr float lowest = -std::numeric_limits<float>::infinity();
    HWY_ALIGN float lane[HWY_MAX_BYTES / 4];
    auto most_lanes = hn::Set(d, lowest);
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) most_lanes = maximum(most_lanes, hn::LoadU(d, x + i));
    hn::Store(most_lanes, d, lane);
    float most = lowest;
    const auto fold = [&](float value) { most = most > value || std::isnan(most) ? most : value; };
    for (; i < n; ++i) fold(x[i]);
    for (std::int64_t k = 0; k < lanes; ++k) fold(lane[k]);

    const auto shift = hn::Set(d, most);
    auto sum_lanes = hn::Zero(d);
    const auto store = [&](float* to, auto value) HWY_ATTR {
        if (!logarithm) hn::StoreU(value, d, to);
    };
    for (i = 0; i + lanes <= n; i += lanes) {
        const auto value = exp_keeping_nan(d, hn::Sub(hn::LoadU(d, x + i), shift));
        sum_lanes = hn::Add(sum_lanes, value);
        store(y + i, value);
    }
    float sum = 0.0f;
    if (i < n) {
        HWY_ALIGN float rest[HWY_MAX_BYTES / 4] = {};
        for (std::int64_t k = 0; i + k < n; ++k) rest[k] = x[i + k];
        hn::Store(exp_keeping_nan(d, hn::Sub(hn::Load(d, rest), shift)), d, rest);
        for (std::int64_t k = 0; i + k < n; ++k) {
            sum += rest[k];
            if (!logarithm) y[i + k] = rest[k];
        }
    }
    hn::Store(sum_lanes, d, lane);
    for (std::int64_t k = 0; k < lanes; ++k) sum += lane[k];

    if (logarithm) {
        const auto log_sum = hn::Set(d, std::log(sum));
        map_floats(
            n, y, [&](auto, auto value) HWY_ATTR { return hn::Sub(hn::Sub(value, shift), log_sum); }, x);
    } else {
        const auto divisor = hn::Set(d, sum);
        map_floats(
            n, y, [&](auto, auto value) HWY_ATTR { return hn::Div(value, divisor); }, y);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convlens::cpu {

HWY_EXPORT(UpdateMaximum);
HWY_EXPORT(ExpShifted);
HWY_EXPORT(DivideBy);
HWY_EXPORT(SubtractBoth);
HWY_EXPORT(SoftmaxRow);

namespace {

// `n` rows side by side, the axis strided.
void softmax_across(const SoftmaxBlocks& p, const float* src, float* dst, std::int64_t n) {
    constexpr std::int64_t strip = strip_floats;
    const std::int64_t src_step = p.rows.inner_stride(0);
    const std::int64_t dst_step = p.rows.inner_stride(1);
    alignas(64) float most[strip], sum[strip], from[strip], to[strip];
    std::fill(most, most + n, -std::numeric_limits<float>::infinity());
    std::fill(sum, sum + n, 0.0f);
    const auto load = [&](const float* base, std::int64_t step, float* buffer) {
        if (step == 1) return base;
        for (std::int64_t i = 0; i < n; ++i) buffer[i] = base[i * step];
        return static_cast<const float*>(buffer);
    };
    const auto finish = [&](float* base, const float* buffer) {
        if (dst_step != 1)
            for (std::int64_t i = 0; i < n; ++i) base[i * dst_step] = buffer[i];
    };
    for (std::int64_t a = 0; a < p.length; ++a)
        HWY_DYNAMIC_DISPATCH(UpdateMaximum)(load(src + a * p.src_step, src_step, from), most, n);
    for (std::int64_t a = 0; a < p.length; ++a) {
        float* base = dst + a * p.dst_step;
        float* out = dst_step == 1 && !p.logarithm ? base : to;
        HWY_DYNAMIC_DISPATCH(ExpShifted)(load(src + a * p.src_step, src_step, from), most, out, sum, n);
        if (!p.logarithm) finish(base, to);
    }
    if (p.logarithm)
        for (std::int64_t i = 0; i < n; ++i) sum[i] = std::log(sum[i]);
    for (std::int64_t a = 0; a < p.length; ++a) {
        float* base = dst + a * p.dst_step;
        float* out = dst_step == 1 ? base : to;
        if (p.logarithm)
            HWY_DYNAMIC_DISPATCH(SubtractBoth)(load(src + a * p.src_step, src_step, from), most, sum, out, n);
        else
            HWY_DYNAMIC_DISPATCH(DivideBy)(load(base, dst_step, from), sum, out, n);
        finish(base, to);
    }
}

}  // namespace

void softmax_blocks(const SoftmaxBlocks& p, const float* src, float* dst, ThreadPool& pool) {
    // Short rows leave vectors empty when taken one by one.
    const bool along = p.src_step == 1 && p.dst_step == 1 && p.length >= 16;
    const std::int64_t inner = p.rows.inner();
    const std::int64_t strip = along ? 1 : std::min(inner, strip_floats);
    const std::int64_t strips = (inner + strip - 1) / strip;
    const std::int64_t all = p.rows.elements / inner * strips;
    const double work = static_cast<double>(p.rows.elements) * static_cast<double>(p.length) * 8;
    const std::int64_t tasks = task_count(pool, work, all, 2e5);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        for (std::int64_t i = all * task / tasks; i < all * (task + 1) / tasks; ++i) {
            const std::int64_t first = i % strips * strip;
            const AxisValues index = unravel(i / strips * inner + first, p.rows.rank, p.rows.dims);
            const float* from = src + p.rows.address(0, index);
            float* to = dst + p.rows.address(1, index);
            if (along)
                HWY_DYNAMIC_DISPATCH(SoftmaxRow)(from, to, p.length, p.logarithm);
            else
                softmax_across(p, from, to, std::min(strip, inner - first));
        }
    });
}

}  // namespace convlens::cpu
#endif

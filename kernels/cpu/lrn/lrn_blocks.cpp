#include "kernels/cpu/lrn/lrn.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/lrn/lrn_blocks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {

void Square(const float* x, float* out, std::int64_t n) {
    map_floats(
        n, out, [](auto, auto value) HWY_ATTR { return hn::Mul(value, value); }, x);
}
void AddSquare(const float* x, float* sum, std::int64_t n) {
    map_floats(
        n, sum, [](auto, auto sofar, auto value) HWY_ATTR { return hn::MulAdd(value, value, sofar); }, sum,
        x);
}
// sum[i] = sum over j in [0, size) of x[i + j]
void SlidingSum(const float* x, std::int64_t size, float* sum, std::int64_t n) {
    map_floats(
        n, sum, [](auto, auto value) HWY_ATTR { return value; }, x);
    for (std::int64_t j = 1; j < size; ++j)
        map_floats(
            n, sum, [](auto, auto sofar, auto value) HWY_ATTR { return hn::Add(sofar, value); }, sum, x + j);
}
// out = x / (k + factor * sum)^0.75
void DivideByThreeQuarters(const float* x, const float* sum, float factor, float k, float* out,
                           std::int64_t n) {
    map_floats(
        n, out,
        [&](auto d, auto value, auto squares) HWY_ATTR {
            const auto root = hn::Sqrt(hn::MulAdd(squares, hn::Set(d, factor), hn::Set(d, k)));
            return hn::Div(value, hn::Mul(root, hn::Sqrt(root)));
        },
        x, sum);
}

}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cmath>

namespace convlens::cpu {

HWY_EXPORT(Square);
HWY_EXPORT(AddSquare);
HWY_EXPORT(SlidingSum);
HWY_EXPORT(DivideByThreeQuarters);

namespace {

constexpr std::int64_t strip = lrn_strip;

void normalize(const LrnBlocks& p, const float* x, const float* sum, float* out, std::int64_t n) {
    const float factor = p.alpha / static_cast<float>(p.size);
    if (p.beta == 0.75f) {
        HWY_DYNAMIC_DISPATCH(DivideByThreeQuarters)(x, sum, factor, p.k, out, n);
        return;
    }
    for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] / std::pow(p.k + factor * sum[i], p.beta);
}

// One position, channels contiguous.
void lrn_along(const LrnBlocks& p, const float* src, float* dst) {
    alignas(64) float squares[2 * strip], sum[strip];
    const std::int64_t before = (p.size - 1) / 2;
    for (std::int64_t c = 0; c < p.channels; c += strip) {
        const std::int64_t n = std::min(strip, p.channels - c);
        const std::int64_t first = std::max<std::int64_t>(0, c - before);
        const std::int64_t last = std::min(p.channels, c - before + p.size - 1 + n);
        std::fill(squares, squares + n + p.size - 1, 0.0f);
        HWY_DYNAMIC_DISPATCH(Square)(src + first, squares + (first - (c - before)), last - first);
        HWY_DYNAMIC_DISPATCH(SlidingSum)(squares, p.size, sum, n);
        normalize(p, src + c, sum, dst + c, n);
    }
}

// n positions side by side.
void lrn_across(const LrnBlocks& p, const float* src, float* dst, std::int64_t n) {
    alignas(64) float sum[strip], from[strip], to[strip];
    const std::int64_t src_step = p.positions.inner_stride(0);
    const std::int64_t dst_step = p.positions.inner_stride(1);
    const auto load = [&](std::int64_t c) {
        const float* base = src + c * p.src_step;
        if (src_step == 1) return base;
        for (std::int64_t i = 0; i < n; ++i) from[i] = base[i * src_step];
        return static_cast<const float*>(from);
    };
    const std::int64_t before = (p.size - 1) / 2;
    for (std::int64_t c = 0; c < p.channels; ++c) {
        const std::int64_t last = std::min(p.channels, c - before + p.size);
        std::fill(sum, sum + n, 0.0f);
        for (std::int64_t i = std::max<std::int64_t>(0, c - before); i < last; ++i)
            HWY_DYNAMIC_DISPATCH(AddSquare)(load(i), sum, n);
        float* base = dst + c * p.dst_step;
        normalize(p, load(c), sum, dst_step == 1 ? base : to, n);
        if (dst_step != 1)
            for (std::int64_t i = 0; i < n; ++i) base[i * dst_step] = to[i];
    }
}

}  // namespace

void lrn_blocks(const LrnBlocks& p, const float* src, float* dst, ThreadPool& pool) {
    const bool along = p.src_step == 1 && p.dst_step == 1;
    const std::int64_t inner = p.positions.inner();
    const std::int64_t length = along ? 1 : std::min(inner, strip);
    const std::int64_t strips = (inner + length - 1) / length;
    const std::int64_t all = p.positions.elements / inner * strips;
    const double work = static_cast<double>(p.positions.elements) * static_cast<double>(p.channels) *
                        static_cast<double>(p.size);
    const std::int64_t tasks = task_count(pool, work, all, 2e5);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        for (std::int64_t i = all * task / tasks; i < all * (task + 1) / tasks; ++i) {
            const std::int64_t first = i % strips * length;
            const AxisValues index = unravel(i / strips * inner + first, p.positions.rank, p.positions.dims);
            const float* from = src + p.positions.address(0, index);
            float* to = dst + p.positions.address(1, index);
            if (along)
                lrn_along(p, from, to);
            else
                lrn_across(p, from, to, std::min(length, inner - first));
        }
    });
}

}  // namespace convlens::cpu
#endif

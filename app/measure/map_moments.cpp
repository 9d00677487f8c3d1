#include "app/measure/map_moments.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "app/measure/map_moments.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convlens::measure {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One vector of doubles and as many floats: a sum in double can't overflow, so it is finite exactly when
// every value is, and it is exact for a constant map.
using D = hn::ScalableTag<double>;
using F = hn::Rebind<float, D>;

// Per lane figures of values[i * stride + lane], i < count.
struct LaneMoments {
    static constexpr std::size_t most = HWY_MAX_BYTES / sizeof(double);
    double sum[most], squares[most];
    float min[most], max[most], zeros[most];
};

void first_pass(const float* HWY_RESTRICT values, std::int64_t count, std::int64_t stride, LaneMoments& out) {
    const D d;
    const F f;
    auto sum = hn::Zero(d);
    auto low = hn::LoadU(f, values);
    auto high = low;
    auto zeros = hn::Zero(f);
    const auto one = hn::Set(f, 1.0f);
    for (std::int64_t i = 0; i < count; ++i) {
        const auto v = hn::LoadU(f, values + i * stride);
        sum = hn::Add(sum, hn::PromoteTo(d, v));
        low = hn::Min(low, v);
        high = hn::Max(high, v);
        zeros = hn::Add(zeros, hn::IfThenElseZero(hn::Eq(v, hn::Zero(f)), one));
    }
    hn::StoreU(sum, d, out.sum);
    hn::StoreU(low, f, out.min);
    hn::StoreU(high, f, out.max);
    hn::StoreU(zeros, f, out.zeros);
}

template <class V>
void second_pass(const float* HWY_RESTRICT values, std::int64_t count, std::int64_t stride, V mean,
                 LaneMoments& out) {
    const D d;
    const F f;
    auto squares = hn::Zero(d);
    for (std::int64_t i = 0; i < count; ++i) {
        const auto distance = hn::Sub(hn::PromoteTo(d, hn::LoadU(f, values + i * stride)), mean);
        squares = hn::MulAdd(distance, distance, squares);
    }
    hn::StoreU(squares, d, out.squares);
}

// The same by scalars, for blocks with NaN or infinity and for what is shorter than a vector.
Moments scalar_moments(const float* values, std::int64_t count, std::int64_t stride) {
    Moments m;
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const float v = values[i * stride];
        if (std::isfinite(v)) {
            ++m.finite;
            sum += v;
            m.min = std::min(m.min, v);
            m.max = std::max(m.max, v);
            m.zeros += v == 0.0f ? 1 : 0;
        } else {
            ++(std::isnan(v) ? m.nans : m.infinities);
        }
    }
    if (m.finite == 0) return m;
    m.mean = sum / static_cast<double>(m.finite);
    for (std::int64_t i = 0; i < count; ++i) {
        const float v = values[i * stride];
        if (std::isfinite(v)) m.squares += (v - m.mean) * (v - m.mean);
    }
    return m;
}

Moments lane(const LaneMoments& lanes, std::size_t i, std::int64_t count) {
    Moments m;
    m.min = lanes.min[i];
    m.max = lanes.max[i];
    m.mean = lanes.sum[i] / static_cast<double>(count);
    m.squares = lanes.squares[i];
    m.finite = count;
    m.zeros = static_cast<std::int64_t>(lanes.zeros[i]);
    return m;
}

std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }

void contiguous(const float* values, std::int64_t count, Moments& into) {
    const auto width = static_cast<std::size_t>(lanes());
    const std::int64_t steps = count / lanes(), whole = steps * lanes();
    if (steps > 0) {
        LaneMoments block;
        first_pass(values, steps, lanes(), block);
        double sum = 0;
        for (std::size_t i = 0; i < width; ++i) sum += block.sum[i];
        if (std::isfinite(sum)) {
            Moments m;
            m.finite = whole;
            m.mean = sum / static_cast<double>(whole);
            second_pass(values, steps, lanes(), hn::Set(D(), m.mean), block);
            for (std::size_t i = 0; i < width; ++i) {
                m.squares += block.squares[i];
                m.min = std::min(m.min, block.min[i]);
                m.max = std::max(m.max, block.max[i]);
                m.zeros += static_cast<std::int64_t>(block.zeros[i]);
            }
            into.join(m);
        } else {
            into.join(scalar_moments(values, whole, 1));
        }
    }
    if (whole < count) into.join(scalar_moments(values + whole, count - whole, 1));
}

void channels_last(const float* values, std::int64_t cells, std::int64_t stride, std::int64_t channels,
                   Moments* into) {
    const std::int64_t width = lanes();
    LaneMoments block;
    for (std::int64_t done = 0; done < channels; done += width) {
        // The last vector starts early enough to lie inside; its first lanes were joined already.
        const std::int64_t first = std::min(done, channels - width);
        first_pass(values + first, cells, stride, block);
        const auto mean = hn::Div(hn::LoadU(D(), block.sum), hn::Set(D(), static_cast<double>(cells)));
        second_pass(values + first, cells, stride, mean, block);
        for (std::int64_t c = done; c < std::min(done + width, channels); ++c) {
            const auto i = static_cast<std::size_t>(c - first);
            into[c].join(std::isfinite(block.sum[i]) ? lane(block, i, cells)
                                                     : scalar_moments(values + c, cells, stride));
        }
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace convlens::measure
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convlens::measure {

HWY_EXPORT(lanes);
HWY_EXPORT(contiguous);
HWY_EXPORT(channels_last);

void Moments::join(const Moments& other) {
    nans += other.nans;
    infinities += other.infinities;
    if (other.finite == 0) return;
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    zeros += other.zeros;
    const auto mine = static_cast<double>(finite);
    const auto theirs = static_cast<double>(other.finite);
    const double distance = other.mean - mean;
    mean += distance * (theirs / (mine + theirs));
    squares += other.squares + distance * distance * (mine * theirs / (mine + theirs));
    finite += other.finite;
}

std::int64_t moments_lanes() { return HWY_DYNAMIC_DISPATCH(lanes)(); }

void contiguous_moments(const float* values, std::int64_t count, Moments& into) {
    HWY_DYNAMIC_DISPATCH(contiguous)(values, count, into);
}

void channel_moments(const float* values, std::int64_t cells, std::int64_t stride, std::int64_t channels,
                     Moments* into) {
    HWY_DYNAMIC_DISPATCH(channels_last)(values, cells, stride, channels, into);
}

}  // namespace convlens::measure
#endif

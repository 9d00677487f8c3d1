#include "kernels/cpu/batch_normalization/batch_normalization.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/batch_normalization/batch_normalization_blocks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/activation-inl.h"
#include "kernels/cpu/activation/activation.h"
#include "kernels/cpu/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {

// dst = clamp((x - mean) * factor + bias).  The mean is subtracted first: folding it into the bias would
// cancel where it is large.
void NormalizeFloats(const float* x, const float* mean, const float* factor, const float* bias, float low,
                     float high, float* dst, std::int64_t n) {
    map_floats(
        n, dst,
        [&](auto d, auto vx, auto vmean, auto vfactor, auto vbias) HWY_ATTR {
            const auto y = hn::MulAdd(hn::Sub(vx, vmean), vfactor, vbias);
            return clamp_vector(d, y, hn::Set(d, low), hn::Set(d, high));
        },
        x, mean, factor, bias);
}

}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cmath>

namespace convlens::cpu {

HWY_EXPORT(NormalizeFloats);

void batch_normalization_blocks(const BatchNormalizationBlocks& p, const float* src,
                                const ChannelStatistics& statistics, float* factors, float* dst,
                                ThreadPool& pool) {
    for (std::int64_t c = 0; c < p.channels; ++c)
        factors[c] = static_cast<float>(statistics.scale[c] /
                                        std::sqrt(static_cast<double>(statistics.variance[c]) + p.epsilon));
    const bool clamps = is_clamp(p.activation);
    const float low = clamps ? clamp_low(p.activation) : -std::numeric_limits<float>::infinity();
    const float high = clamps ? clamp_high(p.activation) : std::numeric_limits<float>::infinity();
    for_each_block(p.shape, {src, statistics.mean, factors, statistics.bias}, dst, pool, clamps ? 2 : 8,
                   [&](const float* const* sources, float* block, std::int64_t n) {
                       HWY_DYNAMIC_DISPATCH(NormalizeFloats)
                       (sources[0], sources[1], sources[2], sources[3], low, high, block, n);
                       if (!clamps) activate_floats(p.activation, block, block, n);
                   });
}

}  // namespace convlens::cpu
#endif

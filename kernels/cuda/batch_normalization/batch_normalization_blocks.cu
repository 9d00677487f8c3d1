#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/batch_normalization/batch_normalization.h"
#include "kernels/cuda/map.cuh"

namespace convlens::cuda {
namespace {

// Operands of the walk: src, channel, dst.
struct Operands {
    const float* src;
    ChannelStatistics statistics;
    float* dst;
    std::int64_t elements;
    float epsilon;
    Activation activation;
    bool one_channel;  // the same for a whole group
};

// The mean is subtracted first: folding it into the bias would cancel where it is large.
template <bool clamps>
__device__ __forceinline__ float normalize(const Operands& o, float x, float mean, float variance,
                                           float scale, float bias) {
    const float y = (x - mean) * (scale * rsqrtf(variance + o.epsilon)) + bias;
    if constexpr (clamps) return clamp_value(y, clamp_low(o.activation), clamp_high(o.activation));
    return activate_smooth(o.activation, y);
}

template <bool clamps>
__device__ __forceinline__ float normalize_one(const Operands& o, std::int64_t at, std::int64_t c) {
    const ChannelStatistics& s = o.statistics;
    return normalize<clamps>(o, o.src[at], s.mean[c], s.variance[c], s.scale[c], s.bias[c]);
}

template <bool clamps>
__global__ void __launch_bounds__(256) normalize_groups(Walk<3> walk, Operands o) {
    const std::int64_t group = thread_number();
    if (group >= walk.count) return;
    std::int64_t at[3] = {};
    locate(walk, group, at);
    const int left = static_cast<int>(min(o.elements - group * 4, std::int64_t{4}));
    if (left < 4) {
        for (int i = 0; i < left; ++i)
            o.dst[at[2] + i] = normalize_one<clamps>(o, at[0] + i, at[1] + (o.one_channel ? 0 : i));
        return;
    }
    float x[4], mean[4], variance[4], scale[4], bias[4], y[4];
    load_group(o.src + at[0], false, x);
    load_group(o.statistics.mean + at[1], o.one_channel, mean);
    load_group(o.statistics.variance + at[1], o.one_channel, variance);
    load_group(o.statistics.scale + at[1], o.one_channel, scale);
    load_group(o.statistics.bias + at[1], o.one_channel, bias);
#pragma unroll
    for (int i = 0; i < 4; ++i) y[i] = normalize<clamps>(o, x[i], mean[i], variance[i], scale[i], bias[i]);
    *reinterpret_cast<float4*>(o.dst + at[2]) = make_float4(y[0], y[1], y[2], y[3]);
}

template <bool clamps>
__global__ void __launch_bounds__(256) normalize_elements(Walk<3> walk, Operands o) {
    const std::int64_t i = thread_number();
    if (i >= walk.count) return;
    std::int64_t at[3] = {};
    locate(walk, i, at);
    o.dst[at[2]] = normalize_one<clamps>(o, at[0], at[1]);
}

bool may_group(const JointShape& shape, const float* src, const ChannelStatistics& s, const float* dst) {
    if (!has_whole_groups(shape, 4) || shape.elements < 4) return false;
    if (group_access(shape, 0, src, 4) != GroupAccess::vector) return false;
    if (group_access(shape, 4, dst, 4) != GroupAccess::vector) return false;
    for (const float* of_channels : {s.mean, s.variance, s.scale, s.bias})
        if (group_access(shape, 1, of_channels, 4) == GroupAccess::none) return false;
    return true;
}

template <bool clamps>
void run(const JointShape& shape, const Operands& operands, bool groups, Stream stream) {
    constexpr int block = 256;
    const Walk<3> walk = make_walk(shape, {0, 1, 4}, groups ? 4 : 1);
    if (groups)
        normalize_groups<clamps><<<blocks_for(walk.count, block), block, 0, stream>>>(walk, operands);
    else
        normalize_elements<clamps><<<blocks_for(walk.count, block), block, 0, stream>>>(walk, operands);
}

}  // namespace

void batch_normalization_blocks(const BatchNormalizationBlocks& params, const float* src,
                                const ChannelStatistics& statistics, float* dst, Stream stream) {
    const JointShape& shape = params.shape;
    if (shape.elements == 0) return;
    const Operands operands{
        src + shape.offsets[0], statistics,        dst + shape.offsets[4],    shape.elements,
        params.epsilon,         params.activation, shape.inner_stride(1) == 0};
    const bool groups = may_group(shape, src, statistics, dst);
    if (is_clamp(params.activation))
        run<true>(shape, operands, groups, stream);
    else
        run<false>(shape, operands, groups, stream);
}

}  // namespace convlens::cuda

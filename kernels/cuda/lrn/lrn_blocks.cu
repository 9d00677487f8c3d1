#include "kernels/cuda/lrn/lrn.h"
#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {
namespace {

constexpr int block = 256;

struct Lrn {
    Walk<2> positions;              // src, dst
    std::int64_t channels, groups;  // groups of channels of one thread
    std::int64_t count;             // threads
    Divisor by_groups, by_positions;
    std::int64_t src_step, dst_step;
    std::int64_t before, after;
    float factor, beta, k;
    const float* src;
    float* dst;
};

__device__ __forceinline__ float normalize(const Lrn& l, float x, float sum) {
    const float scale = l.k + l.factor * sum;
    if (l.beta == 0.75f) {
        const float root = sqrtf(scale);
        return x / (root * sqrtf(root));
    }
    return x / powf(scale, l.beta);
}

// The quotient and the rest of a thread's number.
__device__ __forceinline__ std::int64_t split(const Lrn& l, std::int64_t i, const Divisor& divisor,
                                              std::int64_t length, std::int64_t& rest) {
    const std::int64_t quotient =
        l.count < divisor_limit ? divisor.quotient(static_cast<std::uint32_t>(i)) : i / length;
    rest = i - quotient * length;
    return quotient;
}

// Neighbouring threads on neighbouring channels.
__global__ void __launch_bounds__(block) lrn_along(const __grid_constant__ Lrn l) {
    const std::int64_t i = thread_number();
    if (i >= l.count) return;
    std::int64_t c = 0;
    const std::int64_t position = split(l, i, l.by_groups, l.groups, c);
    std::int64_t at[2] = {};
    locate(l.positions, position, at);
    const float* src = l.src + at[0];
    const std::int64_t first = max(std::int64_t{0}, c - l.before);
    const std::int64_t last = min(l.channels - 1, c + l.after);
    float sum = 0.0f;
#pragma unroll 8
    for (std::int64_t k = first; k <= last; ++k) {
        const float x = src[k * l.src_step];
        sum += x * x;
    }
    l.dst[at[1] + c * l.dst_step] = normalize(l, src[c * l.src_step], sum);
}

constexpr int together = 4;

// Neighbouring threads on neighbouring positions, `together` channels each.
__global__ void __launch_bounds__(block) lrn_across(const __grid_constant__ Lrn l) {
    const std::int64_t i = thread_number();
    if (i >= l.count) return;
    std::int64_t position = 0;
    const std::int64_t c = split(l, i, l.by_positions, l.positions.count, position) * together;
    std::int64_t at[2] = {};
    locate(l.positions, position, at);
    const float* src = l.src + at[0];
    const std::int64_t first = max(std::int64_t{0}, c - l.before);
    const std::int64_t last = min(l.channels - 1, c + together - 1 + l.after);
    float sum[together] = {}, own[together] = {};
#pragma unroll 8
    for (std::int64_t k = first; k <= last; ++k) {
        const float x = src[k * l.src_step];
#pragma unroll
        for (int j = 0; j < together; ++j) {
            if (k >= c + j - l.before && k <= c + j + l.after) sum[j] += x * x;
            if (k == c + j) own[j] = x;
        }
    }
#pragma unroll
    for (int j = 0; j < together; ++j)
        if (c + j < l.channels) l.dst[at[1] + (c + j) * l.dst_step] = normalize(l, own[j], sum[j]);
}

}  // namespace

void lrn_blocks(const LrnBlocks& params, const float* src, float* dst, Stream stream) {
    if (params.positions.elements == 0 || params.channels == 0) return;
    const bool along = params.src_step == 1;
    Lrn l{};
    l.positions = make_walk(params.positions, {0, 1});
    l.channels = params.channels;
    l.groups = divide_up(params.channels, along ? 1 : together);
    l.count = l.groups * l.positions.count;
    if (l.count < divisor_limit) {
        l.by_groups = Divisor::of(l.groups);
        l.by_positions = Divisor::of(l.positions.count);
    }
    l.src_step = params.src_step;
    l.dst_step = params.dst_step;
    l.before = (params.size - 1) / 2;
    l.after = params.size - 1 - l.before;
    l.factor = params.alpha / static_cast<float>(params.size);
    l.beta = params.beta;
    l.k = params.k;
    l.src = src + params.positions.offsets[0];
    l.dst = dst + params.positions.offsets[1];
    const unsigned blocks = blocks_for(l.count, block);
    if (along)
        lrn_along<<<blocks, block, 0, stream>>>(l);
    else
        lrn_across<<<blocks, block, 0, stream>>>(l);
}

}  // namespace convlens::cuda

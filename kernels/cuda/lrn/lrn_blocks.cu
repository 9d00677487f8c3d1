#include <algorithm>

#include "kernels/cuda/lrn/lrn.h"
#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {
namespace {

constexpr int block = 256;
constexpr int together = 4;  // channels of one thread

struct Lrn {
    Walk<2> positions;  // src, dst
    int channels;
    std::int64_t count;  // threads
    Divisor by_groups, by_positions;
    std::int64_t groups;
    std::int64_t src_step, dst_step;
    int before, after;
    float factor, beta, k;
    const float* src;
    float* dst;
};

__device__ __forceinline__ float normalize(const Lrn& l, float x, float sum) {
    const float scale = l.k + l.factor * sum;
    if (l.beta == 0.75f && scale > 1e-30f && scale < 1e30f) {
        const float root = rsqrtf(scale);  // scale^(-1/2); its own is scale^(1/4)
        return x * (root * root) * rsqrtf(root);
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

__device__ __forceinline__ float4 load_group(const float* src, int c, int channels) {
    if (c < 0 || c >= channels) return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    return *reinterpret_cast<const float4*>(src + c);
}

// Contiguous channels in whole groups, window of at most 9: the neighbours of a group are in the next groups.
__global__ void __launch_bounds__(block) lrn_groups(const __grid_constant__ Lrn l) {
    const std::int64_t i = thread_number();
    if (i >= l.count) return;
    std::int64_t group = 0;
    const std::int64_t position = split(l, i, l.by_groups, l.groups, group);
    const int c = static_cast<int>(group) * together;
    std::int64_t at[2] = {};
    locate(l.positions, position, at);
    const float* src = l.src + at[0];
    const float4 x[3] = {load_group(src, c - together, l.channels), load_group(src, c, l.channels),
                         load_group(src, c + together, l.channels)};
    float squares[3 * together];
#pragma unroll
    for (int g = 0; g < 3; ++g) {
        squares[4 * g] = x[g].x * x[g].x;
        squares[4 * g + 1] = x[g].y * x[g].y;
        squares[4 * g + 2] = x[g].z * x[g].z;
        squares[4 * g + 3] = x[g].w * x[g].w;
    }
    float sum[together];
#pragma unroll
    for (int j = 0; j < together; ++j) {
        sum[j] = squares[together + j];
#pragma unroll
        for (int step = 1; step <= together; ++step) {
            if (step <= l.before) sum[j] += squares[together + j - step];
            if (step <= l.after) sum[j] += squares[together + j + step];
        }
    }
    *reinterpret_cast<float4*>(l.dst + at[1] + c) =
        make_float4(normalize(l, x[1].x, sum[0]), normalize(l, x[1].y, sum[1]), normalize(l, x[1].z, sum[2]),
                    normalize(l, x[1].w, sum[3]));
}

// across: neighbouring threads on neighbouring positions, else on neighbouring channels. window: 5, or 0 for
// any.
template <bool across, int window>
__global__ void __launch_bounds__(block) lrn_steps(const __grid_constant__ Lrn l) {
    const std::int64_t i = thread_number();
    if (i >= l.count) return;
    std::int64_t position = 0, group = 0;
    if constexpr (across)
        group = split(l, i, l.by_positions, l.positions.count, position);
    else
        position = split(l, i, l.by_groups, l.groups, group);
    const int c = static_cast<int>(group) * together;
    std::int64_t at[2] = {};
    locate(l.positions, position, at);
    const float* src = l.src + at[0];
    float sum[together] = {}, own[together] = {};
    if constexpr (window > 0) {
        constexpr int before = (window - 1) / 2, length = window + together - 1;
        float x[length];
#pragma unroll
        for (int j = 0; j < length; ++j) {
            const int channel = c + j - before;
            x[j] = channel >= 0 && channel < l.channels ? src[channel * l.src_step] : 0.0f;
        }
#pragma unroll
        for (int j = 0; j < together; ++j) {
            own[j] = x[j + before];
#pragma unroll
            for (int k = 0; k < window; ++k) sum[j] += x[j + k] * x[j + k];
        }
    } else {
        const int first = max(0, c - l.before), last = min(l.channels - 1, c + together - 1 + l.after);
#pragma unroll 8
        for (int k = first; k <= last; ++k) {
            const float x = src[k * l.src_step];
#pragma unroll
            for (int j = 0; j < together; ++j) {
                if (k >= c + j - l.before && k <= c + j + l.after) sum[j] += x * x;
                if (k == c + j) own[j] = x;
            }
        }
    }
    float* dst = l.dst + at[1] + c * l.dst_step;
#pragma unroll
    for (int j = 0; j < together; ++j)
        if (c + j < l.channels) dst[j * l.dst_step] = normalize(l, own[j], sum[j]);
}

bool is_in_groups(const LrnBlocks& params, const float* src, const float* dst) {
    const auto aligned = [&](std::size_t operand, const float* pointer) {
        if ((reinterpret_cast<std::uintptr_t>(pointer) +
             static_cast<std::uintptr_t>(params.positions.offsets[operand]) * sizeof(float)) %
                16 !=
            0)
            return false;
        // A single position has strides of no meaning.
        for (int axis = 0; axis < params.positions.rank && params.positions.elements > 1; ++axis)
            if (params.positions.strides[operand][static_cast<std::size_t>(axis)] % 4 != 0) return false;
        return true;
    };
    return params.src_step == 1 && params.dst_step == 1 && params.channels % together == 0 &&
           params.size <= 9 && aligned(0, src) && aligned(1, dst);
}

}  // namespace

void lrn_blocks(const LrnBlocks& params, const float* src, float* dst, Stream stream) {
    if (params.positions.elements == 0 || params.channels == 0) return;
    Lrn l{};
    l.positions = make_walk(params.positions, {0, 1});
    l.channels = static_cast<int>(params.channels);
    l.groups = divide_up(params.channels, together);
    l.count = l.groups * l.positions.count;
    if (l.count < divisor_limit) {
        l.by_groups = Divisor::of(l.groups);
        l.by_positions = Divisor::of(l.positions.count);
    }
    l.src_step = params.src_step;
    l.dst_step = params.dst_step;
    // No farther than all channels.
    const std::int64_t before = (params.size - 1) / 2;
    l.before = static_cast<int>(std::min(before, params.channels));
    l.after = static_cast<int>(std::min(params.size - 1 - before, params.channels));
    l.factor = params.alpha / static_cast<float>(params.size);
    l.beta = params.beta;
    l.k = params.k;
    l.src = src + params.positions.offsets[0];
    l.dst = dst + params.positions.offsets[1];
    const unsigned blocks = blocks_for(l.count, block);
    const bool across = params.src_step != 1, five = params.size == 5;
    if (is_in_groups(params, src, dst))
        lrn_groups<<<blocks, block, 0, stream>>>(l);
    else if (across && five)
        lrn_steps<true, 5><<<blocks, block, 0, stream>>>(l);
    else if (across)
        lrn_steps<true, 0><<<blocks, block, 0, stream>>>(l);
    else
        lrn_steps<false, 0><<<blocks, block, 0, stream>>>(l);
}

}  // namespace convlens::cuda

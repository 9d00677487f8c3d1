#include "kernels/cuda/convolution/bwd_filter_stage.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/cuda/convolution/bwd_filter_scale.cuh"
#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/float_element.cuh"

namespace convlens::cuda::filter_gradient {
namespace {

// A thread makes 8 channels of one cell.
template <class From, class To, int Planes, bool Scaled>
__global__ void __launch_bounds__(256) stage_kernel(const __grid_constant__ Stage s) {
    wait_for_previous_kernel();
    let_next_kernel_start();
    const std::uint32_t eights = s.eights.divisor();
    // Rows of 32 cells, so that a warp reads one channel's neighbours.
    const std::int64_t count = (s.channels_fastest ? s.cells : (s.cells + 31) / 32 * 32) * eights,
                       step = static_cast<std::int64_t>(gridDim.x) * 256;
    const From* src = static_cast<const From*>(s.src);
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x; i < count; i += step) {
        auto cell = static_cast<std::uint32_t>(i);
        std::uint32_t eight;
        if (s.channels_fastest) {
            eight = s.eights.split(cell);
        } else {
            eight = static_cast<std::uint32_t>(i / 32) % eights;
            cell = static_cast<std::uint32_t>(i / 32 / eights * 32 + i % 32);
            if (cell >= s.cells) continue;
        }
        std::uint32_t rest = cell;
        const auto w = static_cast<std::int32_t>(s.w.split(rest)),
                   h = static_cast<std::int32_t>(s.h.split(rest));
        const From* row = src + rest * s.stride_n + h * s.stride_h;
        alignas(16) To planes[Planes][8];
        float read[8];
        if (std::is_same_v<From, float> && s.vector) {
            const float4* from = reinterpret_cast<const float4*>(row + w * s.stride_w + eight * 8);
            const float4 a = __ldg(from), b = __ldg(from + 1);
            read[0] = a.x, read[1] = a.y, read[2] = a.z, read[3] = a.w;
            read[4] = b.x, read[5] = b.y, read[6] = b.z, read[7] = b.w;
        }
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            auto c = eight * 8 + j;
            const bool used = static_cast<std::int32_t>(c) < s.used;
            std::uint32_t tap = used ? c : 0;
            c = s.real_channels.split(tap);
            const std::int32_t x = w * s.step - s.pad + static_cast<std::int32_t>(tap) * s.dilation;
            const bool inside = used && static_cast<std::uint32_t>(x) < static_cast<std::uint32_t>(s.src_w);
            float value = 0;
            if (s.vector)
                value = read[j];
            else if (inside)
                value = load_float(row[x * s.stride_w + c * s.stride_c]);
            if constexpr (Scaled) value = inside ? scaled_by(value, scale_shift(__ldg(s.largest + c))) : 0.0f;
            planes[0][j] = store_float<To>(value);
            if constexpr (Planes == 2)
                planes[1][j] = store_float<To>((value - load_float(planes[0][j])) * 2048.0f);
        }
        To* to =
            static_cast<To*>(s.staged) + static_cast<std::int64_t>(cell) * s.channels * Planes + eight * 8;
#pragma unroll
        for (int p = 0; p < Planes; ++p)
            *reinterpret_cast<uint4*>(to + p * s.channels) = *reinterpret_cast<const uint4*>(planes[p]);
    }
}

constexpr unsigned finite_limit = 0x7f800000u;
__device__ __forceinline__ unsigned magnitude(float x) {
    const unsigned bits = __float_as_uint(x) & 0x7fffffffu;
    return bits < finite_limit ? bits : 0;
}

// Atomics on few addresses wait for each other: most blocks need none.
__device__ __forceinline__ void raise(unsigned* largest, unsigned value) {
    if (value > *static_cast<volatile unsigned*>(largest)) atomicMax(largest, value);
}

// A block takes rows in turn. Channels in lanes, cells in what is left of them; or all threads are cells of
// one channel (blockIdx.y).
template <bool AlongChannels>
__global__ void __launch_bounds__(256) largest_kernel(const __grid_constant__ Largest l) {
    wait_for_previous_kernel();
    let_next_kernel_start();
    const int thread = static_cast<int>(threadIdx.x);
    const int lanes = AlongChannels ? min(l.channels, 32) : 1, cells = 256 / lanes;
    const int c = static_cast<int>(blockIdx.y) * lanes + (AlongChannels ? thread % lanes : 0);
    const int first = thread / lanes;
    unsigned most = 0;
    if (c < l.channels && first < cells)
        for (std::int64_t row = blockIdx.x; row < l.rows; row += gridDim.x) {
            auto n = static_cast<std::uint32_t>(row);
            const std::uint32_t h = l.h.split(n);
            const float* from = l.src + n * l.stride_n + h * l.stride_h + c * l.stride_c;
#pragma unroll 8
            for (int w = first; w < l.w; w += cells)
                most = max(most, magnitude(__ldg(from + w * l.stride_w)));
        }
    __shared__ unsigned shared[256];
    shared[thread] = most;
    __syncthreads();
    if (thread >= lanes || c >= l.channels) return;
    for (int i = thread + lanes; i < cells * lanes; i += lanes) most = max(most, shared[i]);
    raise(l.largest + c, most);
}

// Four channels a thread, of which a warp has up to 128.
__global__ void __launch_bounds__(256) largest_fours(const __grid_constant__ Largest l) {
    wait_for_previous_kernel();
    let_next_kernel_start();
    const int thread = static_cast<int>(threadIdx.x);
    const int lanes = min(l.channels / 4, 32), cells = 256 / lanes;
    const int c = (static_cast<int>(blockIdx.y) * lanes + thread % lanes) * 4, first = thread / lanes;
    uint4 most{};
    const auto take = [](uint4& to, const uint4& v) {
        to.x = max(to.x, v.x), to.y = max(to.y, v.y), to.z = max(to.z, v.z), to.w = max(to.w, v.w);
    };
    if (c < l.channels && first < cells)
        for (std::int64_t row = blockIdx.x; row < l.rows; row += gridDim.x) {
            auto n = static_cast<std::uint32_t>(row);
            const std::uint32_t h = l.h.split(n);
            const float* from = l.src + n * l.stride_n + h * l.stride_h + c;
#pragma unroll 8
            for (int w = first; w < l.w; w += cells) {
                const float4 v = __ldg(reinterpret_cast<const float4*>(from + w * l.stride_w));
                take(most, {magnitude(v.x), magnitude(v.y), magnitude(v.z), magnitude(v.w)});
            }
        }
    __shared__ uint4 shared[256];
    shared[thread] = most;
    __syncthreads();
    if (thread >= lanes || c >= l.channels) return;
    for (int i = thread + lanes; i < cells * lanes; i += lanes) take(most, shared[i]);
    const unsigned values[4] = {most.x, most.y, most.z, most.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) raise(l.largest + c + i, values[i]);
}

__global__ void __launch_bounds__(256) zero_kernel(unsigned* values, std::int64_t count) {
    wait_for_previous_kernel();
    let_next_kernel_start();
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x;
    if (i < count) values[i] = 0;
}

template <class... P>
void start(void (*kernel)(P...), dim3 grid, Stream stream, P... p) {
    launch_dependent(true, kernel, grid, dim3(256), 0, stream, p...);
}

template <class From>
void launch_from(const Stage& s, BulkMath math, unsigned grid, Stream stream) {
    switch (math) {
        case BulkMath::fp16:
            return start(stage_kernel<From, __half, 1, false>, dim3(grid), stream, s);
        case BulkMath::bf16:
            return start(stage_kernel<From, __nv_bfloat16, 1, false>, dim3(grid), stream, s);
        default:
            break;
    }
    if constexpr (std::is_same_v<From, float>) {
        if (math == BulkMath::scaled)
            start(stage_kernel<float, __half, 1, true>, dim3(grid), stream, s);
        else
            start(stage_kernel<float, __half, 2, true>, dim3(grid), stream, s);
    }
}

}  // namespace

void launch_stage(const Stage& s, ElementType type, BulkMath math, Stream stream) {
    const std::int64_t cells = s.channels_fastest ? s.cells : (s.cells + 31) / 32 * 32;
    const std::int64_t blocks = (cells * s.eights.divisor() + 255) / 256;
    const auto grid = static_cast<unsigned>(std::min<std::int64_t>(blocks, 1 << 22));
    if (type == ElementType::f16)
        launch_from<__half>(s, math, grid, stream);
    else if (type == ElementType::bf16)
        launch_from<__nv_bfloat16>(s, math, grid, stream);
    else
        launch_from<float>(s, math, grid, stream);
}

void launch_largest(const Largest& l, Stream stream) {
    const bool fours = l.stride_c == 1 && l.channels % 4 == 0 && l.stride_n % 4 == 0 && l.stride_h % 4 == 0 &&
                       l.stride_w % 4 == 0 && reinterpret_cast<std::uintptr_t>(l.src) % 16 == 0;
    if (fours) {
        const std::int64_t groups = (l.channels / 4 + 31) / 32;
        const auto rows =
            static_cast<unsigned>(std::min<std::int64_t>(l.rows, std::max<std::int64_t>(1, 1056 / groups)));
        return start(largest_fours, dim3(rows, static_cast<unsigned>(groups)), stream, l);
    }
    const bool along_channels = l.stride_c <= l.stride_w;
    const std::int64_t groups = along_channels ? (l.channels + 31) / 32 : l.channels;
    const auto grid_x =
        static_cast<unsigned>(std::min<std::int64_t>(l.rows, std::max<std::int64_t>(1, 2048 / groups)));
    const dim3 grid(grid_x, static_cast<unsigned>(groups));
    if (along_channels)
        start(largest_kernel<true>, grid, stream, l);
    else
        start(largest_kernel<false>, grid, stream, l);
}

void launch_zero(unsigned* values, std::int64_t count, Stream stream) {
    start(zero_kernel, dim3(static_cast<unsigned>((count + 255) / 256)), stream, values, count);
}

}  // namespace convlens::cuda::filter_gradient

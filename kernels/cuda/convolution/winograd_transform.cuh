// What the transforming kernels of winograd.h share: the one-dimensional transforms, a chunk's job, the end
// of a tile.
#pragma once

#include "kernels/cuda/activation_call.cuh"
#include "kernels/cuda/convolution/winograd_job.h"
#include "kernels/cuda/convolution/winograd_wgmma.h"

namespace convlens::cuda {

// A tile of outputs and its window; tile + window - 1 cells are read on each axis.
template <int tile, int window>
struct WinogradTransform;

template <>
struct WinogradTransform<2, 3> {
    __device__ static __forceinline__ void input(const float (&d)[4], float (&t)[4]) {
        t[0] = d[0] - d[2];
        t[1] = d[1] + d[2];
        t[2] = d[2] - d[1];
        t[3] = d[1] - d[3];
    }
    __device__ static __forceinline__ void output(const float (&m)[4], float (&y)[2]) {
        y[0] = m[0] + m[1] + m[2];
        y[1] = m[1] - m[2] - m[3];
    }
};

// Interpolation points of F(4x4) besides 0 and infinity are +-p and +-q.
inline constexpr float winograd_p = 0.625f, winograd_q = 1.5f;

// Interpolation at 0, +-5/8, +-3/2 and infinity: exact in binary, and a rounding error of about a third of
// that of the points 0, +-1, +-2.
template <>
struct WinogradTransform<4, 3> {
    static constexpr float p = winograd_p, q = winograd_q, a = p * p, b = q * q;

    __device__ static __forceinline__ void input(const float (&d)[6], float (&t)[6]) {
        t[0] = fmaf(-(a + b), d[2], fmaf(a * b, d[0], d[4]));
        const float even_p = fmaf(-b, d[2], d[4]), odd_p = fmaf(-b, d[1], d[3]);
        t[1] = fmaf(p, odd_p, even_p);
        t[2] = fmaf(-p, odd_p, even_p);
        const float even_q = fmaf(-a, d[2], d[4]), odd_q = fmaf(-a, d[1], d[3]);
        t[3] = fmaf(q, odd_q, even_q);
        t[4] = fmaf(-q, odd_q, even_q);
        t[5] = fmaf(-(a + b), d[3], fmaf(a * b, d[1], d[5]));
    }
    __device__ static __forceinline__ void output(const float (&m)[6], float (&y)[4]) {
        const float s1 = m[1] + m[2], d1 = m[1] - m[2];
        const float s2 = m[3] + m[4], d2 = m[3] - m[4];
        y[0] = m[0] + s1 + s2;
        y[1] = fmaf(q, d2, p * d1);
        y[2] = fmaf(b, s2, a * s1);
        y[3] = fmaf(q * b, d2, fmaf(p * a, d1, m[5]));
    }
};

// Two outputs of five taps: as many points as four outputs of three, so the same points.
template <>
struct WinogradTransform<2, 5> {
    __device__ static __forceinline__ void input(const float (&d)[6], float (&t)[6]) {
        WinogradTransform<4, 3>::input(d, t);
    }
    __device__ static __forceinline__ void output(const float (&m)[6], float (&y)[2]) {
        y[0] = m[0] + (m[1] + m[2]) + (m[3] + m[4]);
        y[1] = fmaf(winograd_q, m[3] - m[4], fmaf(winograd_p, m[1] - m[2], m[5]));
    }
};

namespace winograd_detail {

__device__ __forceinline__ TilePlace place_of(const Job& job, std::uint32_t tile) {
    std::uint32_t image = tile + job.tile0;
    std::uint32_t y = job.image_tiles.split(image);
    const std::uint32_t x = job.tiles_x.split(y);
    return {job.image0 + image, static_cast<int>(y), static_cast<int>(x)};
}

// Where a channel of a tile lies in the transformed input, at position 0.
__device__ __forceinline__ std::int64_t transformed_at(const Job& job, std::uint32_t tile,
                                                       std::uint32_t channel) {
    if (job.stage_rows == 0) return static_cast<std::int64_t>(tile) * job.row.divisor() + channel;
    return (static_cast<std::int64_t>(channel / 32) * job.stage_rows + tile) * 32 +
           winograd_transformed_slot(tile, channel % 32);
}

// The second half of the output transform, bias, residual, activation. down: [column][output row].
template <int tile, int window>
__device__ __forceinline__ void finish_tile(const Job& job, const TilePlace& place, std::uint32_t channel,
                                            const float (&down)[tile + window - 1][tile]) {
    constexpr int side = tile + window - 1;
    const float bias = job.bias ? job.bias[channel] : 0.0f;
    const std::int64_t at = place.image * job.image_step + channel * job.channel_step +
                            place.y * tile * job.row_step + place.x * tile * job.column_step;
    const int rows = min(tile, job.dst_height - place.y * tile),
              columns = min(tile, job.dst_width - place.x * tile);
    // All of the residual is asked for before the first store.
    float sums[tile][tile];
#pragma unroll
    for (int i = 0; i < tile; ++i)
#pragma unroll
        for (int j = 0; j < tile; ++j)
            sums[i][j] = job.residual && i < rows && j < columns
                             ? job.residual[at + i * job.row_step + j * job.column_step]
                             : 0.0f;
#pragma unroll
    for (int i = 0; i < tile; ++i) {
        float across[side], done[tile];
#pragma unroll
        for (int j = 0; j < side; ++j) across[j] = down[j][i];
        WinogradTransform<tile, window>::output(across, done);
#pragma unroll
        for (int j = 0; j < tile; ++j) sums[i][j] = done[j] + bias + sums[i][j];
    }
#pragma unroll
    for (int i = 0; i < tile; ++i)
#pragma unroll
        for (int j = 0; j < tile; ++j)
            if (i < rows && j < columns)
                job.dst[at + i * job.row_step + j * job.column_step] =
                    activate_or_call(job.activation, sums[i][j]);
}

}  // namespace winograd_detail
}  // namespace convlens::cuda

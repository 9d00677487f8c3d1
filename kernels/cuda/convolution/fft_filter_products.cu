#include "kernels/cuda/convolution/fft_filter_products.h"

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/dependent_launch.cuh"

namespace convlens::cuda::fft {
namespace {

// A block: 64 k (128 floats) by 32 c (64 floats) in stages of 16 tiles; a warp 16 k by 16 c.
constexpr int rows = 128, columns = 64, depth = 16, stages = 3;
constexpr int threads = 256, warp_columns = 2;
constexpr int warp_rows_floats = 32, warp_columns_floats = 32;
// Of shared memory; four rows of a fragment lie in different banks.
constexpr int a_pitch = rows + 8, b_pitch = columns + 8;

struct Job {
    const float* a;
    const float* b;
    float* d;
    std::int64_t a_plane, b_plane, d_plane;
    int a_row, b_row, tiles, row_tiles, column_tiles;
    bool accumulate;
};

struct Stage {
    float a[depth][a_pitch], b[depth][b_pitch];
};

__device__ __forceinline__ void copy_stage(const Job& job, const float* a, const float* b, int row0,
                                           int column0, int tile0, Stage& stage) {
    const auto thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int i = thread; i < depth * rows / 4; i += threads) {
        const int t = i / (rows / 4), at = i % (rows / 4) * 4;
        const bool valid = tile0 + t < job.tiles && row0 + at < job.a_row;
        copy_async_16(&stage.a[t][at],
                      valid ? a + static_cast<std::int64_t>(tile0 + t) * job.a_row + row0 + at : a, valid);
    }
#pragma unroll
    for (int i = thread; i < depth * columns / 4; i += threads) {
        const int t = i / (columns / 4), at = i % (columns / 4) * 4;
        const bool valid = tile0 + t < job.tiles && column0 + at < job.b_row;
        copy_async_16(&stage.b[t][at],
                      valid ? b + static_cast<std::int64_t>(tile0 + t) * job.b_row + column0 + at : b, valid);
    }
}

// [16 rows: 8 k, both parts][8 columns: 4 c, both parts] of a thread: re re, re im, im re, im im.
using Sums = float[2][4][4];

#if __CUDA_ARCH__ >= 800
struct Parts {
    std::uint32_t high, low;
};
__device__ __forceinline__ Parts split(float x) {
    const std::uint32_t high = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
    return {high, __float_as_uint(x - __uint_as_float(high))};
}
__device__ __forceinline__ void multiply(float (&d)[4], const std::uint32_t (&a)[4],
                                         const std::uint32_t (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ void multiply_stage(const Stage& stage, int row0, int column0, int lane,
                                               Sums& sums) {
    const int group = lane / 4, thread = lane % 4;
    Sums part = {};
#pragma unroll
    for (int k = 0; k < depth; k += 8) {
        std::uint32_t a_high[2][4], a_low[2][4], b_high[4][2], b_low[4][2];
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const float2 pair = *reinterpret_cast<const float2*>(
                    &stage.a[k + thread + 4 * half][row0 + 16 * i + 2 * group]);
                const Parts re = split(pair.x), im = split(pair.y);
                a_high[i][2 * half] = re.high, a_high[i][2 * half + 1] = im.high;
                a_low[i][2 * half] = re.low, a_low[i][2 * half + 1] = im.low;
            }
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const Parts x = split(stage.b[k + thread + 4 * half][column0 + 8 * j + group]);
                b_high[j][half] = x.high, b_low[j][half] = x.low;
            }
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                multiply(part[i][j], a_low[i], b_high[j]);
                multiply(part[i][j], a_high[i], b_low[j]);
                multiply(part[i][j], a_high[i], b_high[j]);
            }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
            for (int x = 0; x < 4; ++x) sums[i][j][x] += part[i][j][x];
}
#else
__device__ __forceinline__ void multiply_stage(const Stage& stage, int row0, int column0, int lane,
                                               Sums& sums) {
    const int group = lane / 4, thread = lane % 4;
#pragma unroll
    for (int k = 0; k < depth; ++k)
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float2 a = *reinterpret_cast<const float2*>(&stage.a[k][row0 + 16 * i + 2 * group]);
                const float2 b = *reinterpret_cast<const float2*>(&stage.b[k][column0 + 8 * j + 2 * thread]);
                sums[i][j][0] = fmaf(a.x, b.x, sums[i][j][0]);
                sums[i][j][1] = fmaf(a.x, b.y, sums[i][j][1]);
                sums[i][j][2] = fmaf(a.y, b.x, sums[i][j][2]);
                sums[i][j][3] = fmaf(a.y, b.y, sums[i][j][3]);
            }
}
#endif

__global__ void __launch_bounds__(threads, 2) filter_products_kernel(const __grid_constant__ Job job) {
    __shared__ __align__(16) Stage ring[stages];
    let_next_kernel_start();
    wait_for_previous_kernel();
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    auto block = static_cast<int>(blockIdx.x);
    const int column0 = block % job.column_tiles * columns;
    block /= job.column_tiles;
    const int row0 = block % job.row_tiles * rows, frequency = block / job.row_tiles;
    const float* a = job.a + frequency * job.a_plane;
    const float* b = job.b + frequency * job.b_plane;
    const int warp_row = warp / warp_columns * warp_rows_floats,
              warp_column = warp % warp_columns * warp_columns_floats;
    Sums sums = {};
#pragma unroll
    for (int i = 0; i < stages - 1; ++i) {
        copy_stage(job, a, b, row0, column0, i * depth, ring[i]);
        commit_copies();
    }
    int from = 0, to = stages - 1;
#pragma unroll 1
    for (int tile0 = 0; tile0 < job.tiles; tile0 += depth) {
        wait_copies<stages - 2>();
        __syncthreads();
        copy_stage(job, a, b, row0, column0, tile0 + (stages - 1) * depth, ring[to]);
        commit_copies();
        multiply_stage(ring[from], warp_row, warp_column, lane, sums);
        from = from + 1 == stages ? 0 : from + 1;
        to = to + 1 == stages ? 0 : to + 1;
    }
    wait_copies<0>();
    const int group = lane / 4, thread = lane % 4;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int row = row0 + warp_row + 16 * i + 2 * group;
        if (row >= job.a_row) continue;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int column = column0 + warp_column + 8 * j + 2 * thread;
            if (column >= job.b_row) continue;
            auto* at = reinterpret_cast<float2*>(job.d + frequency * job.d_plane +
                                                 static_cast<std::int64_t>(row / 2) * job.b_row + column);
            float2 value = make_float2(sums[i][j][0] + sums[i][j][3], sums[i][j][1] - sums[i][j][2]);
            if (job.accumulate) {
                const float2 before = *at;
                value.x += before.x, value.y += before.y;
            }
            *at = value;
        }
    }
}

}  // namespace

void filter_products(const FilterProducts& p, bool early, Stream stream) {
    Job job{};
    job.a = p.diff, job.b = p.src, job.d = p.d;
    job.a_plane = p.diff_plane, job.b_plane = p.src_plane, job.d_plane = p.d_plane;
    job.a_row = static_cast<int>(p.diff_row), job.b_row = static_cast<int>(p.src_row);
    job.tiles = static_cast<int>(p.tiles);
    job.row_tiles = (job.a_row + rows - 1) / rows;
    job.column_tiles = (job.b_row + columns - 1) / columns;
    job.accumulate = p.accumulate;
    const auto blocks = static_cast<unsigned>(p.frequencies * job.row_tiles * job.column_tiles);
    launch_dependent(early, filter_products_kernel, dim3(blocks), dim3(threads), 0, stream, job);
}

}  // namespace convlens::cuda::fft

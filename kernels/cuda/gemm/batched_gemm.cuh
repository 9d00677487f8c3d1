// The kernel of batched_gemm.h; its instances are spread over several files.
#pragma once

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/gemm/batched_gemm.h"

namespace convlens::cuda::batched {

struct Job {
    const float* a;
    const float* b;
    float* d;
    std::int64_t a_row, b_row, d_row, a_batch, b_batch, d_batch;
    int rows, columns, depth;
    int column_tiles, row_tiles;
};

// Lanes of a warp are 8 rows of 4: a thread of the f32 engine has rows `lane / 4 + 8 i` and 4 columns in 16.
// warps_m x warps_n warps share a tile; `slices` such teams take parts of each stage's depth.
template <bool split_, int thread_m_, int thread_n_, int warps_m_, int warps_n_, int slices_, int depth_,
          int stages_, int blocks_>
struct Shape {
    static constexpr bool split = split_;
    static constexpr int thread_m = thread_m_, thread_n = thread_n_, warps_m = warps_m_, warps_n = warps_n_;
    static constexpr int slices = slices_, depth = depth_, stages = stages_, blocks = blocks_;
    static constexpr int warp_m = 8 * thread_m, warp_n = 4 * thread_n;
    static constexpr int rows = warp_m * warps_m, columns = warp_n * warps_n;
    static constexpr int threads = 32 * warps_m * warps_n * slices;
    // Row lengths in shared memory: 8 rows of a and 4 of b lie in different banks.
    static constexpr int a_pitch = depth + 4, b_pitch = columns + 8;
    static constexpr int stage = rows * a_pitch + depth * b_pitch;
    static constexpr int bytes =
        4 * (stages * stage > (slices - 1) * rows * columns ? stages * stage : (slices - 1) * rows * columns);
};

template <int width>
__device__ __forceinline__ void copy_async(float* to, const float* from, bool inside) {
    if constexpr (width == 4)
        copy_async_16(to, from, inside);
    else
        copy_async_4(to, from, inside);
}

// One stage's tiles. width_a: 4 where rows of a may be read by vectors.
template <class S, int width_a>
__device__ __forceinline__ void load_a(const Job& job, const float* a, int row0, int k0, float* shared) {
    constexpr int in_row = S::depth / width_a, count = S::rows * in_row;
#pragma unroll
    for (int base = 0; base < count; base += S::threads) {
        const int i = base + static_cast<int>(threadIdx.x);
        if (count % S::threads != 0 && i >= count) break;
        const int m = i / in_row, k = i % in_row * width_a;
        const bool inside = row0 + m < job.rows && k0 + k < job.depth;
        copy_async<width_a>(shared + m * S::a_pitch + k, inside ? a + (row0 + m) * job.a_row + k0 + k : a,
                            inside);
    }
}

template <class S>
__device__ __forceinline__ void load_b(const Job& job, const float* b, int column0, int k0, float* shared) {
    constexpr int in_row = S::columns / 4, count = S::depth * in_row;
#pragma unroll
    for (int base = 0; base < count; base += S::threads) {
        const int i = base + static_cast<int>(threadIdx.x);
        if (count % S::threads != 0 && i >= count) break;
        const int k = i / in_row, n = i % in_row * 4;
        const bool inside = k0 + k < job.depth && column0 + n < job.columns;
        copy_async<4>(shared + k * S::b_pitch + n, inside ? b + (k0 + k) * job.b_row + column0 + n : b,
                      inside);
    }
}

// The part of a stage that a warp's team has: multiply-adds.
template <class S>
struct Simt {
    float sums[S::thread_m][S::thread_n] = {};

    // A stage has sums of its own: long sums of one sign keep their accuracy.
    __device__ __forceinline__ void stage(const float* a, const float* b, int lane) {
        float parts[S::thread_m][S::thread_n] = {};
        const float* rows = a + lane / 4 * S::a_pitch;
        const float* columns = b + lane % 4 * 4;
#pragma unroll
        for (int k = 0; k < S::depth / S::slices; k += 4) {
            float4 x[S::thread_m];
#pragma unroll
            for (int i = 0; i < S::thread_m; ++i)
                x[i] = *reinterpret_cast<const float4*>(rows + 8 * i * S::a_pitch + k);
#pragma unroll
            for (int u = 0; u < 4; ++u) {
                float y[S::thread_n];
#pragma unroll
                for (int j = 0; j < S::thread_n; j += 4) {
                    const float4 four =
                        *reinterpret_cast<const float4*>(columns + (k + u) * S::b_pitch + 4 * j);
                    y[j] = four.x, y[j + 1] = four.y, y[j + 2] = four.z, y[j + 3] = four.w;
                }
#pragma unroll
                for (int i = 0; i < S::thread_m; ++i) {
                    const float factor = u == 0 ? x[i].x : u == 1 ? x[i].y : u == 2 ? x[i].z : x[i].w;
#pragma unroll
                    for (int j = 0; j < S::thread_n; ++j) parts[i][j] = fmaf(factor, y[j], parts[i][j]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < S::thread_m; ++i)
#pragma unroll
            for (int j = 0; j < S::thread_n; ++j) sums[i][j] += parts[i][j];
    }
    // The thread's sums by groups of neighbouring columns.
    static constexpr int group = 4, groups = S::thread_m * S::thread_n / 4;
    __device__ __forceinline__ static int row(int g, int lane) {
        return lane / 4 + 8 * (g / (S::thread_n / 4));
    }
    __device__ __forceinline__ static int column(int g, int lane) {
        return lane % 4 * 4 + 16 * (g % (S::thread_n / 4));
    }
    __device__ __forceinline__ float& at(int g, int i) {
        return sums[g / (S::thread_n / 4)][g % (S::thread_n / 4) * 4 + i];
    }
};

__device__ __forceinline__ void multiply_tf32(float (&d)[4], const std::uint32_t (&a)[4],
                                              const std::uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// x = high + low + at most 2^-21 |x|, of random sign: high is rounded to TF32's 11 bits, low is cut to them
// by the instruction.
__device__ __forceinline__ void split(float x, std::uint32_t& high, std::uint32_t& low) {
    high = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
    low = __float_as_uint(x - __uint_as_float(high));
}

// 16 rows of 8 floats, as the matrix instructions want them.
__device__ __forceinline__ void load_rows(std::uint32_t (&x)[4], const float* from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(shared_address(from))
                 : "memory");
#endif
}

// The same by matrix instructions: tiles of 16 x 8, depth 8.
template <class S>
struct Split {
    static constexpr int tiles_m = S::warp_m / 16, tiles_n = S::warp_n / 8;
    float sums[tiles_m][tiles_n][4] = {};

    __device__ __forceinline__ void stage(const float* a, const float* b, int lane) {
        float parts[tiles_m][tiles_n][4] = {};
        const float* rows = a + lane % 16 * S::a_pitch + lane / 16 * 4;
        const float* columns = b + lane % 4 * S::b_pitch + lane / 4;
#pragma unroll
        for (int k = 0; k < S::depth / S::slices; k += 8) {
            std::uint32_t b_high[tiles_n][2], b_low[tiles_n][2];
#pragma unroll
            for (int j = 0; j < tiles_n; ++j)
#pragma unroll
                for (int i = 0; i < 2; ++i)
                    split(columns[(k + 4 * i) * S::b_pitch + 8 * j], b_high[j][i], b_low[j][i]);
#pragma unroll
            for (int m = 0; m < tiles_m; ++m) {
                std::uint32_t x[4], a_high[4], a_low[4];
                load_rows(x, rows + 16 * m * S::a_pitch + k);
#pragma unroll
                for (int i = 0; i < 4; ++i) split(__uint_as_float(x[i]), a_high[i], a_low[i]);
                    // Neighbouring instructions have sums of their own.
#pragma unroll
                for (int j = 0; j < tiles_n; ++j) multiply_tf32(parts[m][j], a_low, b_high[j]);
#pragma unroll
                for (int j = 0; j < tiles_n; ++j) multiply_tf32(parts[m][j], a_high, b_low[j]);
#pragma unroll
                for (int j = 0; j < tiles_n; ++j) multiply_tf32(parts[m][j], a_high, b_high[j]);
            }
        }
#pragma unroll
        for (int m = 0; m < tiles_m; ++m)
#pragma unroll
            for (int j = 0; j < tiles_n; ++j)
#pragma unroll
                for (int i = 0; i < 4; ++i) sums[m][j][i] += parts[m][j][i];
    }
    static constexpr int group = 2, groups = 2 * tiles_m * tiles_n;
    __device__ __forceinline__ static int row(int g, int lane) {
        return lane / 4 + 8 * (g % 2) + 16 * (g / 2 / tiles_n);
    }
    __device__ __forceinline__ static int column(int g, int lane) {
        return lane % 4 * 2 + 8 * (g / 2 % tiles_n);
    }
    __device__ __forceinline__ float& at(int g, int i) {
        return sums[g / 2 / tiles_n][g / 2 % tiles_n][g % 2 * 2 + i];
    }
};

// Adds the sums of the slices in their order; those of the first remain.
template <class S, class Engine>
__device__ __forceinline__ void join_slices(Engine& engine, float* shared, int slice, int at, int lane) {
    __syncthreads();
    if (slice > 0)
#pragma unroll
        for (int g = 0; g < Engine::groups; ++g)
#pragma unroll
            for (int i = 0; i < Engine::group; ++i)
                shared[(slice - 1) * S::rows * S::columns + at + Engine::row(g, lane) * S::columns +
                       Engine::column(g, lane) + i] = engine.at(g, i);
    __syncthreads();
    if (slice > 0) return;
    for (int other = 0; other < S::slices - 1; ++other)
#pragma unroll
        for (int g = 0; g < Engine::groups; ++g)
#pragma unroll
            for (int i = 0; i < Engine::group; ++i)
                engine.at(g, i) += shared[other * S::rows * S::columns + at +
                                          Engine::row(g, lane) * S::columns + Engine::column(g, lane) + i];
}

// store_width: neighbouring columns of d that are written at once, where its rows allow it.
template <class S, class Engine, int store_width>
__device__ __forceinline__ void store(const Job& job, Engine& engine, float* d, int row0, int column0,
                                      int lane) {
#pragma unroll
    for (int g = 0; g < Engine::groups; ++g) {
        const int m = row0 + Engine::row(g, lane), n = column0 + Engine::column(g, lane);
        if (m >= job.rows) continue;
        float* to = d + m * job.d_row + n;
        if (store_width > 1 && n + Engine::group <= job.columns) {
            if constexpr (Engine::group == 4)
                *reinterpret_cast<float4*>(to) =
                    make_float4(engine.at(g, 0), engine.at(g, 1), engine.at(g, 2), engine.at(g, 3));
            else
                *reinterpret_cast<float2*>(to) = make_float2(engine.at(g, 0), engine.at(g, 1));
        } else {
#pragma unroll
            for (int i = 0; i < Engine::group; ++i)
                if (n + i < job.columns) to[i] = engine.at(g, i);
        }
    }
}

template <class S, int width_a, int store_width>
__global__ void __launch_bounds__(S::threads, S::blocks) kernel(Job job) {
    extern __shared__ __align__(16) float shared[];
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int slice = warp / (S::warps_m * S::warps_n), team = warp % (S::warps_m * S::warps_n);
    const int warp_row = team / S::warps_n * S::warp_m, warp_column = team % S::warps_n * S::warp_n;
    int tile = static_cast<int>(blockIdx.x);
    const int column0 = tile % job.column_tiles * S::columns;
    tile /= job.column_tiles;
    const int row0 = tile % job.row_tiles * S::rows;
    const std::int64_t index = tile / job.row_tiles;
    const float* a = job.a + index * job.a_batch;
    const float* b = job.b + index * job.b_batch;

    const int steps = (job.depth + S::depth - 1) / S::depth;
    const auto load = [&](int step) {
        float* to = shared + step % S::stages * S::stage;
        load_a<S, width_a>(job, a, row0, step * S::depth, to);
        load_b<S>(job, b, column0, step * S::depth, to + S::rows * S::a_pitch);
    };
    let_next_kernel_start();
    wait_for_previous_kernel();
#pragma unroll
    for (int step = 0; step < S::stages - 1; ++step) {
        if (step < steps) load(step);
        commit_copies();
    }

    constexpr int part = S::depth / S::slices;
    using Engine = std::conditional_t<S::split, Split<S>, Simt<S>>;
    Engine engine;
    for (int step = 0; step < steps; ++step) {
        wait_copies<S::stages - 2>();
        __syncthreads();
        if (step + S::stages - 1 < steps) load(step + S::stages - 1);
        commit_copies();
        const float* from = shared + step % S::stages * S::stage;
        engine.stage(from + warp_row * S::a_pitch + slice * part,
                     from + S::rows * S::a_pitch + slice * part * S::b_pitch + warp_column, lane);
    }
    wait_copies<0>();
    if constexpr (S::slices > 1) {
        join_slices<S>(engine, shared, slice, warp_row * S::columns + warp_column, lane);
        if (slice > 0) return;
    }
    store<S, Engine, store_width>(job, engine, job.d + index * job.d_batch, row0 + warp_row,
                                  column0 + warp_column, lane);
}

template <class S, int width_a, int store_width>
void start(const BatchedGemm& gemm, Stream stream) {
    Job job{gemm.a,       gemm.b,       gemm.d, gemm.a_row, gemm.b_row, gemm.d_row, gemm.a_batch,
            gemm.b_batch, gemm.d_batch, 0,      0,          0,          0,          0};
    job.rows = static_cast<int>(gemm.rows);
    job.columns = static_cast<int>(gemm.columns);
    job.depth = static_cast<int>(gemm.depth);
    job.column_tiles = (job.columns + S::columns - 1) / S::columns;
    job.row_tiles = (job.rows + S::rows - 1) / S::rows;
    auto* function = kernel<S, width_a, store_width>;
    if (S::bytes > 48 * 1024)
        cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, S::bytes);
    const auto blocks = static_cast<unsigned>(gemm.batch * job.column_tiles * job.row_tiles);
    launch_dependent(gemm.overlaps_previous, function, dim3(blocks), dim3(S::threads), S::bytes, stream, job);
}

// Vectors where addresses and lengths allow them.
template <class S>
void start_aligned(const BatchedGemm& gemm, Stream stream) {
    const auto aligned = [](const void* p, std::int64_t row, std::int64_t batch) {
        return reinterpret_cast<std::uintptr_t>(p) % 16 == 0 && row % 4 == 0 && batch % 4 == 0;
    };
    const bool vector_a = gemm.depth % 4 == 0 && aligned(gemm.a, gemm.a_row, gemm.a_batch);
    const bool vector_d = aligned(gemm.d, gemm.d_row, gemm.d_batch);
    if (vector_a && vector_d) return start<S, 4, 4>(gemm, stream);
    if (vector_a) return start<S, 4, 1>(gemm, stream);
    start<S, 1, 1>(gemm, stream);
}

using Start = void (*)(const BatchedGemm&, Stream);

}  // namespace convlens::cuda::batched

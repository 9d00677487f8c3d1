// The kernel of bwd_filter.h for multiply-adds and for the matrix instructions of a warp: two stages in
// shared memory, the loads of the next step are under way while one is multiplied.
#pragma once

#include "kernels/cuda/convolution/bwd_filter_loader.cuh"
#include "kernels/cuda/dependent_launch.cuh"

namespace convlens::cuda::filter_gradient {

// Which part of the work a block has: outputs fastest, so that blocks that run together share their cells.
struct Job {
    int output_tile, row_tile, group, split;
    int first, end;  // steps
    __device__ __forceinline__ explicit Job(const Args& a) {
        auto rest = static_cast<int>(blockIdx.x);
        output_tile = rest % a.output_tiles, rest /= a.output_tiles;
        row_tile = rest % a.row_tiles, rest /= a.row_tiles;
        const auto groups = static_cast<int>(a.finish.groups);
        group = rest % groups, split = rest / groups;
        first = static_cast<int>(static_cast<std::int64_t>(a.steps) * split / a.splits);
        end = static_cast<int>(static_cast<std::int64_t>(a.steps) * (split + 1) / a.splits);
    }
    // Of the parts in the workspace.
    __device__ __forceinline__ float* part_row(const Args& a, int row) const {
        const std::int64_t matrix = static_cast<std::int64_t>(split) * a.finish.groups + group;
        return a.parts +
               (matrix * a.finish.padded_rows + static_cast<std::int64_t>(row_tile) * tile_rows + row) *
                   a.finish.padded_outputs;
    }
};

// Where the element of a row and an output of a group lies in dst; -1 for a padded channel.
__device__ __forceinline__ std::int64_t dst_offset(const Finish& f, std::int64_t group, std::uint32_t row,
                                                   std::int64_t k) {
    RowPlace place = place_of(f, row);
    if (place.c >= f.real_channels) return -1;
    if (f.folded) {
        auto w = static_cast<std::uint32_t>(place.c);
        place.c = static_cast<std::int32_t>(f.fold.split(w));
        place.w = static_cast<std::int32_t>(w);
    }
    if (f.flipped) {
        place.d = f.window[0] - 1 - place.d;
        place.h = f.window[1] - 1 - place.h;
        place.w = f.window[2] - 1 - place.w;
    }
    return (group * f.outputs + k) * f.stride_k + place.c * f.stride_c + place.d * f.stride_d +
           place.h * f.stride_h + place.w * f.stride_w;
}

template <class Engine_, int Outputs, bool QuadsOnly>
struct Shape {
    using Engine = Engine_;
    using M = typename Engine::M;
    static constexpr int outputs = Outputs, threads = Engine::threads, warps = threads / 32;
    static constexpr bool quads_only = QuadsOnly;
    static constexpr int source_bytes = tile_rows * 128, stage_bytes = source_bytes + Outputs * 128;
    static constexpr int rows_at = 2 * stage_bytes;
    static constexpr int cells_at = (rows_at + static_cast<int>(sizeof(Rows<Outputs>)) + 15) / 16 * 16;
    static constexpr int shared_bytes = cells_at + warps * static_cast<int>(sizeof(CellTable<M>));
    static_assert(shared_bytes <= 227 * 1024);
};

template <class S>
__global__ void __launch_bounds__(S::threads, S::Engine::blocks)
    filter_kernel(const __grid_constant__ Args a) {
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
    constexpr bool code = true;
#else
    constexpr bool code = !S::Engine::matrix;
#endif
    if constexpr (code) {
        using M = typename S::M;
        extern __shared__ __align__(128) unsigned char shared[];
        const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
        const Job job(a);
        auto& rows = *reinterpret_cast<Rows<S::outputs>*>(shared + S::rows_at);
        auto& cells = reinterpret_cast<CellTable<M>*>(shared + S::cells_at)[warp];
        fill_rows(a, rows, job.group, job.row_tile, job.output_tile, thread, S::threads);
        __syncthreads();
        wait_for_previous_kernel();
        let_next_kernel_start();

        Loader<M, tile_rows, S::threads, true, S::quads_only> source;
        Loader<M, S::outputs, S::threads, false, S::quads_only> diff;
        const std::uint32_t base = shared_address(shared);
        const auto load = [&](int step) {
            cells.fill(a, static_cast<std::int64_t>(step) * M::depth, lane);
            source.load(a, a.src_access, cells, rows, thread, warp, lane);
            diff.load(a, a.diff_access, cells, rows, thread, warp, lane);
        };
        const auto store = [&](int stage) {
            const std::uint32_t to = base + stage * S::stage_bytes;
            source.store(to, a.src_access, thread, warp, lane);
            diff.store(to + S::source_bytes, a.diff_access, thread, warp, lane);
        };
        typename S::Engine engine;
        if (job.first < job.end) {
            load(job.first);
            store(0);
        }
        __syncthreads();
        int stage = 0;
#pragma unroll 1
        for (int step = job.first; step < job.end; ++step) {
            const bool more = step + 1 < job.end;
            if (more) load(step + 1);
            engine.multiply(base + stage * S::stage_bytes, base + stage * S::stage_bytes + S::source_bytes,
                            warp, lane);
            stage ^= 1;
            if (more) store(stage);
            __syncthreads();
        }
        engine.finish(a, job, warp, lane);
    }
}

template <class S>
void launch_shape(const Args& a, unsigned blocks, Stream stream) {
    if (S::shared_bytes > 48 * 1024)
        cudaFuncSetAttribute(filter_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes);
    launch_dependent(a.early, filter_kernel<S>, dim3(blocks), dim3(S::threads), S::shared_bytes, stream, a);
}

__device__ __forceinline__ uint4 load_chunk(std::uint32_t tile, int row, int chunk) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(tile + row * 128 + ((chunk ^ (row & 7)) << 4))
                 : "memory");
    return v;
}
// Four matrices of 8 rows and 16 bytes; each lane gives the row of one.
__device__ __forceinline__ void load_matrices(std::uint32_t (&x)[4], std::uint32_t tile, int row, int chunk) {
    CONVLENS_SM80_ASM("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                      : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                      : "r"(tile + row * 128 + ((chunk ^ (row & 7)) << 4))
                      : "memory");
}

// 16 x 8 threads of 8 x 8 sums.
template <class Data>
struct MultiplyAdd {
    using M = Math<Data, Form::as_is, Form::as_is>;
    static constexpr int threads = 128, blocks = 2;
    static constexpr bool matrix = false;
    float sums[8][8] = {};

    __device__ __forceinline__ static int row(int warp, int lane, int i) {
        return warp * 4 + lane / 8 + 16 * i;
    }
    __device__ __forceinline__ static int column(int lane, int j) { return lane % 8 + 8 * j; }

    __device__ __forceinline__ void multiply(std::uint32_t source, std::uint32_t diff, int warp, int lane) {
#pragma unroll 2
        for (int chunk = 0; chunk < 8; ++chunk) {
            float4 y[8];
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                const uint4 v = load_chunk(diff, column(lane, j), chunk);
                y[j] = make_float4(__uint_as_float(v.x), __uint_as_float(v.y), __uint_as_float(v.z),
                                   __uint_as_float(v.w));
            }
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const uint4 x = load_chunk(source, row(warp, lane, i), chunk);
#pragma unroll
                for (int j = 0; j < 8; ++j) {
                    float sum = sums[i][j];
                    sum = fmaf(__uint_as_float(x.x), y[j].x, sum);
                    sum = fmaf(__uint_as_float(x.y), y[j].y, sum);
                    sum = fmaf(__uint_as_float(x.z), y[j].z, sum);
                    sums[i][j] = fmaf(__uint_as_float(x.w), y[j].w, sum);
                }
            }
        }
    }
    __device__ __forceinline__ void finish(const Args& a, const Job& job, int warp, int lane) const {
        if (a.atomic) return add(a, job, warp, lane);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            float* to = job.part_row(a, row(warp, lane, i)) + job.output_tile * 64;
#pragma unroll
            for (int j = 0; j < 8; ++j) to[column(lane, j)] = sums[i][j];
        }
    }
    __device__ __forceinline__ void add(const Args& a, const Job& job, int warp, int lane) const {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const std::int64_t r = static_cast<std::int64_t>(job.row_tile) * tile_rows + row(warp, lane, i);
            if (r >= a.finish.rows) continue;
            const std::int64_t first = dst_offset(a.finish, job.group, static_cast<std::uint32_t>(r),
                                                  job.output_tile * std::int64_t{64});
#pragma unroll
            for (int j = 0; j < 8; ++j)
                if (job.output_tile * std::int64_t{64} + column(lane, j) < a.finish.outputs)
                    atomicAdd(static_cast<float*>(a.finish.dst) + first + column(lane, j) * a.finish.stride_k,
                              a.finish.alpha * sums[i][j]);
        }
    }
};

enum class Product { tf32, split, fp16, bf16 };

// Eight warps, 4 x 2, of 32 rows and half the outputs each. What one pair of instructions along t sums is
// added in f32.
template <class M_, Product product, int Outputs>
struct WarpMatrix {
    using M = M_;
    static constexpr int threads = 256, blocks = Outputs > 64 ? 1 : 2, columns = Outputs / 16;
    static constexpr bool matrix = true;
    float sums[2][columns][4] = {};

    __device__ __forceinline__ static void instruction(float (&d)[4], const std::uint32_t (&x)[4],
                                                       std::uint32_t y0, std::uint32_t y1) {
        if constexpr (product == Product::fp16 || product == Product::bf16)
            mma::mma_16<product == Product::bf16>(d, x[0], x[1], x[2], x[3], y0, y1);
        else
            mma::mma_tf32(d, x[0], x[1], x[2], x[3], y0, y1);
    }
    __device__ __forceinline__ static void split(const std::uint32_t (&x)[4], std::uint32_t (&high)[4],
                                                 std::uint32_t (&low)[4]) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            high[i] = mma::tf32_bits(__uint_as_float(x[i]));
            low[i] = __float_as_uint(__uint_as_float(x[i]) - __uint_as_float(high[i]));
        }
    }

    __device__ __forceinline__ void multiply(std::uint32_t source, std::uint32_t diff, int warp, int lane) {
        constexpr bool splits = product == Product::split;
        const int first_row = warp % 4 * 32, first_column = warp / 4 * (Outputs / 2);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            std::uint32_t x[2][2][4], low[splits ? 2 : 1][2][4];
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int k = 0; k < 2; ++k) {
                    load_matrices(x[i][k], source, first_row + i * 16 + lane % 16,
                                  half * 4 + k * 2 + lane / 16);
                    if constexpr (splits) {
                        std::uint32_t high[4];
                        split(x[i][k], high, low[i][k]);
#pragma unroll
                        for (int w = 0; w < 4; ++w) x[i][k][w] = high[w];
                    }
                }
#pragma unroll
            for (int j = 0; j < columns; ++j) {
                std::uint32_t y[4];
                load_matrices(y, diff, first_column + j * 8 + lane % 8, half * 4 + lane / 8);
                float part[2][4] = {};
                if constexpr (splits) {
                    std::uint32_t high[4], small[4];
                    split(y, high, small);
#pragma unroll
                    for (int k = 0; k < 2; ++k)
#pragma unroll
                        for (int i = 0; i < 2; ++i) {
                            instruction(part[i], low[i][k], high[2 * k], high[2 * k + 1]);
                            instruction(part[i], x[i][k], small[2 * k], small[2 * k + 1]);
                        }
#pragma unroll
                    for (int w = 0; w < 4; ++w) y[w] = high[w];
                }
#pragma unroll
                for (int k = 0; k < 2; ++k)
#pragma unroll
                    for (int i = 0; i < 2; ++i) instruction(part[i], x[i][k], y[2 * k], y[2 * k + 1]);
#pragma unroll
                for (int i = 0; i < 2; ++i)
#pragma unroll
                    for (int w = 0; w < 4; ++w) sums[i][j][w] += part[i][w];
            }
        }
    }
    __device__ __forceinline__ void finish(const Args& a, const Job& job, int warp, int lane) const {
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                float* to = job.part_row(a, warp % 4 * 32 + i * 16 + h * 8 + lane / 4) +
                            job.output_tile * Outputs + warp / 4 * (Outputs / 2) + lane % 4 * 2;
#pragma unroll
                for (int j = 0; j < columns; ++j)
                    *reinterpret_cast<float2*>(to + j * 8) =
                        make_float2(sums[i][j][h * 2], sums[i][j][h * 2 + 1]);
            }
    }
};

inline bool both_quads(const Args& a) {
    return a.src_access == Access::quads && a.diff_access == Access::quads;
}

// Registers allow narrow tiles only where single elements of 16 bits, or f32 to be rounded to 16, are loaded.
template <class M, Product product>
void launch_warp_matrix(const Args& a, int outputs, unsigned blocks, Stream stream) {
    constexpr bool wide_singles = !M::narrow, wide_quads = !M::narrow || sizeof(typename M::Data) == 2;
    const bool quads = both_quads(a);
    if constexpr (wide_quads)
        if (outputs == 128 && quads)
            return launch_shape<Shape<WarpMatrix<M, product, 128>, 128, true>>(a, blocks, stream);
    if constexpr (wide_singles)
        if (outputs == 128)
            return launch_shape<Shape<WarpMatrix<M, product, 128>, 128, false>>(a, blocks, stream);
    if (quads) return launch_shape<Shape<WarpMatrix<M, product, 64>, 64, true>>(a, blocks, stream);
    launch_shape<Shape<WarpMatrix<M, product, 64>, 64, false>>(a, blocks, stream);
}

}  // namespace convlens::cuda::filter_gradient

// The kernel of the window product. A step's part of A lies in shared memory as rows of depth() floats whose
// groups of four are exchanged by row, so that four rows apart are read without conflicts; B as rows of
// columns.
#pragma once

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/gemm/window_gemm_columns.cuh"
#include "kernels/cuda/gemm/window_gemm_finish.cuh"

namespace convlens::cuda {

template <int tile_index>
struct Tile {
    static constexpr TileShape shape = tile_shapes[tile_index];
    static constexpr int rows = shape.rows, columns = shape.columns, depth = shape.depth();
    static constexpr int threads = shape.threads(), stages = shape.stages;
    static constexpr int quads = depth / 4;  // of a row of A
    static constexpr int a_floats = rows * depth, stage_floats = shape.stage_floats();

    static __device__ __forceinline__ int a_at(int row, int quad) {
        constexpr int mask = quads >= 8 ? 7 : quads - 1;
        return row * depth + ((quad ^ ((row >> 2) & mask)) << 2);
    }
};

// A by 16-byte copies: a thread has one group of four columns and several rows.
template <class T, bool tabulated>
struct QuadLoader {
    static constexpr int row_step = T::threads / T::quads, count = T::rows / row_step;
    static_assert(T::threads % T::quads == 0 && T::rows % row_step == 0);
    static constexpr int entry_floats = 0;
    const WindowGemmParams& p;
    const float* base;
    int quad = static_cast<int>(threadIdx.x) % T::quads, first = static_cast<int>(threadIdx.x) / T::quads;
    RowStart start[count];

    template <int... i>
    __device__ __forceinline__ QuadLoader(const WindowGemmParams& params, const float* src, std::int64_t row,
                                          std::integer_sequence<int, i...>)
        : p(params), base(src), start{RowStart(params, src, row + first + i * row_step)...} {}
    __device__ __forceinline__ QuadLoader(const WindowGemmParams& params, const float* src, std::int64_t row,
                                          ColumnEntry*)
        : QuadLoader(params, src, row, std::make_integer_sequence<int, count>()) {}

    __device__ __forceinline__ void prepare(int) {}
    __device__ __forceinline__ void load(int step, float* a) const {
        const int k = step * T::depth + quad * 4;
        const ColumnEntry e = tabulated ? p.operands.table[k] : column_entry(p, k);
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const bool valid = start[i].holds(p, e);
            copy_async_16(a + T::a_at(first + i * row_step, quad), valid ? start[i].src + e.offset : base,
                          valid);
        }
    }
};

// A by 4-byte copies: the threads of a warp have neighbouring rows. Computed entries go through shared
// memory, each made once a block, a step ahead.
template <class T, bool tabulated>
struct SingleLoader {
    static_assert(T::threads % T::rows == 0 && T::rows % 32 == 0);
    static constexpr int lanes = T::threads / T::rows, count = T::depth / lanes;
    static_assert(T::depth % lanes == 0);
    static constexpr int entry_floats = tabulated ? 0 : 2 * T::depth * 4;
    const WindowGemmParams& p;
    const float* base;
    int row = static_cast<int>(threadIdx.x) % T::rows, lane = static_cast<int>(threadIdx.x) / T::rows;
    RowStart start;
    ColumnEntry* entries;

    __device__ __forceinline__ SingleLoader(const WindowGemmParams& params, const float* src,
                                            std::int64_t first, ColumnEntry* shared)
        : p(params), base(src), start(params, src, first + row), entries(shared) {}

    __device__ __forceinline__ void prepare(int step) {
        if constexpr (!tabulated) {
            const int k = static_cast<int>(threadIdx.x);
            if (k < T::depth) entries[step % 2 * T::depth + k] = column_entry(p, step * T::depth + k);
        }
    }
    __device__ __forceinline__ void load(int step, float* a) const {
        const ColumnEntry* table =
            tabulated ? p.operands.table + step * T::depth : entries + step % 2 * T::depth;
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int k = lane + i * lanes;
            const ColumnEntry e = table[k];
            const bool valid = start.holds(p, e);
            copy_async_4(a + T::a_at(row, k / 4) + k % 4, valid ? start.src + e.offset : base, valid);
        }
    }
};

template <class T>
__device__ __forceinline__ void load_b(const WindowGemmParams& p, const float* packed, int step, float* b) {
    constexpr int quads = T::columns / 4, count = T::depth * quads;
    const float* from = packed + static_cast<std::int64_t>(step) * T::depth * p.padded_columns;
#pragma unroll
    for (int i = 0; i < (count + T::threads - 1) / T::threads; ++i) {
        const int at = static_cast<int>(threadIdx.x) + i * T::threads;
        if (count % T::threads != 0 && at >= count) break;
        const int k = at / quads, quad = at % quads;
        copy_async_16(b + k * T::columns + quad * 4, from + k * p.padded_columns + quad * 4);
    }
}

// A thread's place in its slice: the first of its rows and columns. Rows come in fours, 16 apart; columns in
// fours, 32 apart.
template <class T>
struct Place {
    static constexpr int warp_columns = T::columns / (8 * T::shape.thread_columns);
    int slice, row, column;
    __device__ __forceinline__ Place() {
        constexpr int slice_threads = T::shape.slice_threads();
        const int thread = static_cast<int>(threadIdx.x) % slice_threads, warp = thread / 32,
                  lane = thread % 32;
        slice = static_cast<int>(threadIdx.x) / slice_threads;
        row = warp / warp_columns * 4 * T::shape.thread_rows + lane / 8 * 4;
        column = warp % warp_columns * 8 * T::shape.thread_columns + lane % 8 * 4;
    }
};

template <class T>
__device__ __forceinline__ void multiply(const float* a, const float* b, const Place<T>& place,
                                         float (&sums)[T::shape.thread_rows][T::shape.thread_columns]) {
    constexpr int rows = T::shape.thread_rows, columns = T::shape.thread_columns;
    constexpr int slice_quads = T::shape.slice_depth / 4;
#pragma unroll
    for (int quad = 0; quad < slice_quads; ++quad) {
        float left[rows][4];
        const int k = place.slice * slice_quads + quad;
#pragma unroll
        for (int i = 0; i < rows; ++i)
            *reinterpret_cast<float4*>(left[i]) =
                *reinterpret_cast<const float4*>(a + T::a_at(place.row + i / 4 * 16 + i % 4, k));
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            float right[columns];
#pragma unroll
            for (int c = 0; c < columns; c += 4)
                *reinterpret_cast<float4*>(right + c) =
                    *reinterpret_cast<const float4*>(b + (k * 4 + j) * T::columns + place.column + c * 8);
#pragma unroll
            for (int i = 0; i < rows; ++i)
#pragma unroll
                for (int c = 0; c < columns; ++c) sums[i][c] = fmaf(left[i][j], right[c], sums[i][c]);
        }
    }
}

__device__ __forceinline__ float4 operator+(const float4& a, const float4& b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

// Four neighbouring results of a row of the tile, all slices joined, of this block or of all of the cluster.
template <class T>
__device__ __forceinline__ float4 joined(const float* results, int row, int column, int ranks) {
    constexpr int slice = T::rows * T::shape.result_row();
    const float* at = results + row * T::shape.result_row() + column;
    float4 sum{0, 0, 0, 0};
    if (ranks > 1) {
        for (int rank = 0; rank < ranks; ++rank) {
            float4 part = load_of_rank(at, rank);
#pragma unroll
            for (int s = 1; s < T::shape.slices; ++s) part = part + load_of_rank(at + s * slice, rank);
            sum = rank == 0 ? part : sum + part;
        }
        return sum;
    }
    sum = *reinterpret_cast<const float4*>(at);
#pragma unroll
    for (int s = 1; s < T::shape.slices; ++s) sum = sum + *reinterpret_cast<const float4*>(at + s * slice);
    return sum;
}

// Rows [from, to) of the tile.
template <class T, bool clamps>
__device__ __forceinline__ void finish_tile(const WindowGemmParams& p, const float* results, std::int64_t row,
                                            int column, int group, int from, int to, int ranks) {
    constexpr int quads = T::columns / 4;
    if (ranks == 1 && p.dst_steps[1] != 1) {
        // Neighbouring threads have neighbouring cells.
        for (int i = static_cast<int>(threadIdx.x); i < T::rows * quads; i += T::threads) {
            const int r = i % T::rows, c = i / T::rows * 4;
            if (row + r < p.rows && column + c < p.columns)
                finish_quad<clamps>(p, joined<T>(results, r, c, 1), static_cast<std::uint32_t>(row) + r,
                                    column + c, group);
        }
        return;
    }
#pragma unroll(clamps ? 4 : 1)
    for (int i = static_cast<int>(threadIdx.x) + from * quads; i < to * quads; i += T::threads) {
        const int r = i / quads, c = i % quads * 4;
        if (row + r < p.rows && column + c < p.columns)
            finish_quad<clamps>(p, joined<T>(results, r, c, ranks), static_cast<std::uint32_t>(row) + r,
                                column + c, group);
    }
}

template <class T>
__device__ __forceinline__ void store_part(const WindowGemmParams& p, const float* results, std::int64_t row,
                                           int column, int group, int rank) {
    constexpr int quads = T::columns / 4;
    float* part = p.operands.workspace + rank * p.part + group * p.part_group + row * p.part_row + column;
    for (int i = static_cast<int>(threadIdx.x); i < T::rows * quads; i += T::threads) {
        const int r = i / quads, c = i % quads * 4;
        if (row + r < p.rows && column + c < p.columns)
            *reinterpret_cast<float4*>(part + r * p.part_row + c) = joined<T>(results, r, c, 1);
    }
}

template <class T>
__device__ __forceinline__ void finish(const WindowGemmParams& p, float* results, const Place<T>& place,
                                       const float (&sums)[T::shape.thread_rows][T::shape.thread_columns],
                                       std::int64_t row, int column, int group, int rank) {
    float* mine = results + (place.slice * T::rows + place.row) * T::shape.result_row() + place.column;
#pragma unroll
    for (int i = 0; i < T::shape.thread_rows; ++i)
#pragma unroll
        for (int c = 0; c < T::shape.thread_columns; c += 4)
            *reinterpret_cast<float4*>(mine + (i / 4 * 16 + i % 4) * T::shape.result_row() + c * 8) = {
                sums[i][c], sums[i][c + 1], sums[i][c + 2], sums[i][c + 3]};
    int from = 0, to = T::rows, ranks = 1;
    if (p.form == SplitForm::cluster) {
        synchronize_cluster();
        ranks = p.splits;
        from = T::rows * rank / ranks;
        to = T::rows * (rank + 1) / ranks;
    } else {
        __syncthreads();
    }
    if (p.form == SplitForm::workspace)
        store_part<T>(p, results, row, column, group, rank);
    else if (is_clamp(p.operands.activation))
        finish_tile<T, true>(p, results, row, column, group, from, to, ranks);
    else
        finish_tile<T, false>(p, results, row, column, group, from, to, ranks);
    // Others read this block's shared memory.
    if (p.form == SplitForm::cluster) synchronize_cluster();
}

template <int tile_index, ColumnSource source>
__global__ void __launch_bounds__(Tile<tile_index>::threads, Tile<tile_index>::shape.min_blocks)
    window_gemm_kernel(const __grid_constant__ WindowGemmParams p) {
    using T = Tile<tile_index>;
    using Loader = std::conditional_t<is_quads(source), QuadLoader<T, is_tabulated(source)>,
                                      SingleLoader<T, is_tabulated(source)>>;
    extern __shared__ __align__(16) float shared[];
    const auto splits = static_cast<unsigned>(p.splits), column_tiles = static_cast<unsigned>(p.column_tiles);
    const int rank = static_cast<int>(blockIdx.x % splits), group = static_cast<int>(blockIdx.y);
    const unsigned tile = blockIdx.x / splits;
    const int column = static_cast<int>(tile % column_tiles) * T::columns;
    const std::int64_t row = static_cast<std::int64_t>(tile / column_tiles) * T::rows;
    const int begin = static_cast<int>(static_cast<std::int64_t>(p.steps) * rank / p.splits);
    const int end = static_cast<int>(static_cast<std::int64_t>(p.steps) * (rank + 1) / p.splits);
    const float* packed = p.operands.packed + group * p.packed_group + column;
    Loader loader(p, p.operands.src + group * p.src_group, row,
                  reinterpret_cast<ColumnEntry*>(shared + T::shape.shared_floats()));

    const auto load = [&](int step) {
        float* stage = shared + (step - begin) % T::stages * T::stage_floats;
        if (step < end) {
            loader.load(step, stage);
            load_b<T>(p, packed, step, stage + T::a_floats);
        }
        commit_copies();
    };
    constexpr bool prepares = Loader::entry_floats > 0;
    loader.prepare(begin);
#pragma unroll
    for (int i = 0; i < T::stages - 1; ++i) {
        if (prepares) __syncthreads();
        load(begin + i);
        loader.prepare(begin + i + 1);
    }
    const Place<T> place;
    float sums[T::shape.thread_rows][T::shape.thread_columns] = {};
    for (int step = begin; step < end; ++step) {
        wait_copies<T::stages - 2>();
        __syncthreads();
        load(step + T::stages - 1);
        loader.prepare(step + T::stages);
        const float* stage = shared + (step - begin) % T::stages * T::stage_floats;
        multiply<T>(stage, stage + T::a_floats, place, sums);
    }
    wait_copies<0>();
    __syncthreads();
    finish<T>(p, shared, place, sums, row, column, group, rank);
}

template <int tile_index, ColumnSource source>
void launch_tile(const WindowGemmParams& p, unsigned blocks, unsigned groups, Stream stream) {
    using T = Tile<tile_index>;
    using Loader = std::conditional_t<is_quads(source), QuadLoader<T, is_tabulated(source)>,
                                      SingleLoader<T, is_tabulated(source)>>;
    constexpr int bytes = (T::shape.shared_floats() + Loader::entry_floats) * static_cast<int>(sizeof(float));
    const auto kernel = window_gemm_kernel<tile_index, source>;
    if (bytes > 48 * 1024) cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks, groups);
    config.blockDim = dim3(T::threads);
    config.dynamicSmemBytes = bytes;
    config.stream = stream;
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(p.splits), 1, 1};
    config.attrs = &cluster;
    config.numAttrs = p.form == SplitForm::cluster ? 1 : 0;
    cudaLaunchKernelEx(&config, kernel, p);
}

template <ColumnSource source>
void launch_window_gemm(int tile, const WindowGemmParams& p, unsigned blocks, unsigned groups,
                        Stream stream) {
    [&]<int... i>(std::integer_sequence<int, i...>) {
        ((tile == i ? launch_tile<i, source>(p, blocks, groups, stream) : void()), ...);
    }
    (std::make_integer_sequence<int, static_cast<int>(tile_shapes.size())>());
}

}  // namespace convlens::cuda

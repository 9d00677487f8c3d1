// The kernel of the window product. A step's part of A lies in shared memory as rows of depth() floats whose
// groups of four are exchanged by row, so that four rows apart are read without conflicts; B as rows of
// columns.
#pragma once

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/dependent_launch.cuh"
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
        return row * depth + ((quad ^ ((row >> 2) & 3)) << 2);
    }
};

// A by 16-byte copies: a thread has one group of four columns and several rows. What the group's columns add
// is found a step ahead.
template <class T, bool tabulated>
struct QuadLoader {
    static constexpr int row_step = T::threads / T::quads, count = T::rows / row_step;
    static_assert(T::threads % T::quads == 0 && T::rows % row_step == 0);
    static constexpr int entry_floats = 0;
    const WindowGemmParams& p;
    const float* base;
    int quad = static_cast<int>(threadIdx.x) % T::quads, first = static_cast<int>(threadIdx.x) / T::quads;
    ColumnEntry entry{};
    RowStart start[count];

    template <int... i>
    __device__ __forceinline__ QuadLoader(const WindowGemmParams& params, const float* src, std::int64_t row,
                                          std::integer_sequence<int, i...>)
        : p(params), base(src), start{RowStart(params, src, row + first + i * row_step)...} {}
    __device__ __forceinline__ QuadLoader(const WindowGemmParams& params, const float* src, std::int64_t row,
                                          float*)
        : QuadLoader(params, src, row, std::make_integer_sequence<int, count>()) {}

    __device__ __forceinline__ void prepare(int step, int end) {
        const int k = step * T::depth + quad * 4;
        if constexpr (tabulated)
            entry = p.operands.table[step < end ? k : 0];
        else
            entry = column_entry(p, k);
        if (step >= end) entry.d = column_outside;
    }
    __device__ __forceinline__ void load(int, std::uint32_t a) const {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const bool valid = start[i].holds(p, entry);
            copy_async_16(a + 4 * T::a_at(first + i * row_step, quad),
                          valid ? start[i].src + entry.offset : base, valid);
        }
    }
};

// A by 4-byte copies: the threads of a warp have neighbouring rows. What the columns add goes through shared
// memory, found once a block and a step ahead.
template <class T, bool tabulated>
struct SingleLoader {
    static_assert(T::threads % T::rows == 0 && T::rows % 32 == 0);
    static constexpr int lanes = T::threads / T::rows, count = T::depth / lanes;
    static_assert(T::depth % lanes == 0 && T::depth <= T::threads);
    static constexpr int entry_floats = 2 * T::depth * 4;
    const WindowGemmParams& p;
    const float* base;
    int row = static_cast<int>(threadIdx.x) % T::rows, lane = static_cast<int>(threadIdx.x) / T::rows;
    RowStart start;
    ColumnEntry* entries;

    __device__ __forceinline__ SingleLoader(const WindowGemmParams& params, const float* src,
                                            std::int64_t first, float* shared)
        : p(params),
          base(src),
          start(params, src, first + row),
          entries(reinterpret_cast<ColumnEntry*>(shared)) {}

    __device__ __forceinline__ void prepare(int step, int end) {
        const int column = static_cast<int>(threadIdx.x) % T::depth, k = step * T::depth + column;
        ColumnEntry entry = tabulated ? p.operands.table[step < end ? k : 0] : column_entry(p, k);
        if (step >= end) entry.d = column_outside;
        if (threadIdx.x < T::depth) entries[step % 2 * T::depth + column] = entry;
    }
    __device__ __forceinline__ void load(int step, std::uint32_t a) const {
        const ColumnEntry* from = entries + step % 2 * T::depth + lane;
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int k = lane + i * lanes;
            const ColumnEntry e = from[i * lanes];
            const bool valid = start.holds(p, e);
            copy_async_4(a + 4 * (T::a_at(row, k / 4) + k % 4), valid ? start.src + e.offset : base, valid);
        }
    }
};

// Quads of B that a thread copies in each step.
template <class T>
struct FilterLoader {
    static constexpr int quads = T::columns / 4, count = T::depth * quads;
    const float* from;
    std::int64_t row;  // floats

    __device__ __forceinline__ FilterLoader(const WindowGemmParams& p, const float* packed, int step)
        : from(packed + static_cast<std::int64_t>(step) * T::depth * p.padded_columns),
          row(p.padded_columns) {}
    __device__ __forceinline__ void load(std::uint32_t b, bool valid) {
#pragma unroll
        for (int i = 0; i < (count + T::threads - 1) / T::threads; ++i) {
            const int at = static_cast<int>(threadIdx.x) + i * T::threads;
            if (count % T::threads != 0 && at >= count) break;
            const int k = at / quads, quad = at % quads;
            copy_async_16(b + 4 * (k * T::columns + quad * 4), from + k * row + quad * 4, valid);
        }
        if (valid) from += T::depth * row;
    }
};

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
    // All rows of a thread have their groups exchanged alike.
    const int exchange = (place.row >> 2) & 3;
    a += place.row * T::depth;
    b += place.slice * T::shape.slice_depth * T::columns + place.column;
#pragma unroll
    for (int quad = 0; quad < slice_quads; ++quad) {
        float left[rows][4];
        const float* from = a + (((place.slice * slice_quads + quad) ^ exchange) << 2);
#pragma unroll
        for (int i = 0; i < rows; ++i)
            *reinterpret_cast<float4*>(left[i]) =
                *reinterpret_cast<const float4*>(from + (i / 4 * 16 + i % 4) * T::depth);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            float right[columns];
#pragma unroll
            for (int c = 0; c < columns; c += 4)
                *reinterpret_cast<float4*>(right + c) =
                    *reinterpret_cast<const float4*>(b + (quad * 4 + j) * T::columns + c * 8);
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
    Loader loader(p, p.operands.src + group * p.src_group, row, shared + T::shape.shared_floats());
    FilterLoader<T> filter(p, packed, begin);
    constexpr std::uint32_t stage_bytes = T::stage_floats * sizeof(float);
    const std::uint32_t stages_begin = shared_address(shared);
    std::uint32_t stage = stages_begin;  // the next to be filled
    const auto advance = [&] {
        stage += stage_bytes;
        if (stage == stages_begin + T::stages * stage_bytes) stage = stages_begin;
    };
    // The filter is there before the kernels before this one have ended.
#pragma unroll
    for (int i = 0; i < T::stages - 1; ++i, advance()) filter.load(stage + T::a_floats * 4, begin + i < end);
    loader.prepare(begin, end);
    wait_for_previous_kernel();
    let_next_kernel_start();
    stage = stages_begin;
#pragma unroll
    for (int i = 0; i < T::stages - 1; ++i, advance()) {
        if (Loader::entry_floats > 0) __syncthreads();
        loader.load(begin + i, stage);
        commit_copies();
        loader.prepare(begin + i + 1, end);
    }
    const Place<T> place;
    float sums[T::shape.thread_rows][T::shape.thread_columns] = {};
    int ready = 0;  // floats to the stage that is multiplied next
    for (int step = begin; step < end; ++step) {
        wait_copies<T::stages - 2>();
        __syncthreads();
        loader.load(step + T::stages - 1, stage);
        filter.load(stage + T::a_floats * 4, step + T::stages - 1 < end);
        commit_copies();
        advance();
        loader.prepare(step + T::stages, end);
        multiply<T>(shared + ready, shared + ready + T::a_floats, place, sums);
        ready += T::stage_floats;
        if (ready == T::stages * T::stage_floats) ready = 0;
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
    launch_clusters(p.overlap, p.form == SplitForm::cluster ? static_cast<unsigned>(p.splits) : 1, kernel,
                    dim3(blocks, groups), dim3(T::threads), bytes, stream, p);
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

// The kernel of mma_convolution.h. One block computes a tile of cells x outputs: a ring of stages in shared
// memory is filled by asynchronous copies, each warp reads its fragments 16 bytes a lane.
//
// A unit is 64 bytes of k: 4 chunks of 16 bytes, one for each of the 4 lanes that share a row of a fragment.
// The order of k within a unit that the instruction wants is met by the packing of the filter instead of
// moving elements. A stage holds `Depth` units: of src [unit][row][4 chunks], where odd units swap
// neighbouring rows so that neither writes nor reads meet in a bank.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/convolution/mma_args.h"
#include "kernels/cuda/convolution/mma_operands.cuh"
#include "kernels/cuda/convolution/tensor_core_epilogue.cuh"

namespace convlens::cuda::mma {

template <class Math_, int M_, int N_, int WarpM_, int WarpN_, int Depth_, int Stages_, int BlocksAnSm_>
struct Shape {
    using Math = Math_;
    static constexpr int m = M_, n = N_, warp_m = WarpM_, warp_n = WarpN_, depth = Depth_, stages = Stages_;
    static constexpr int blocks_an_sm = BlocksAnSm_;
    static constexpr int warps_m = m / warp_m, warps_n = n / warp_n, threads = warps_m * warps_n * 32;
    static constexpr int src_bytes = m * depth * 64;
    static constexpr int filter_bytes = n / 8 * depth * Math::filter_block;
    static constexpr int ring_bytes = stages * (src_bytes + filter_bytes);
    static constexpr int pitch = n + 4;  // of the tile of sums
    static constexpr int tile_bytes = m * pitch * 4;
    static constexpr int body_bytes = ring_bytes > tile_bytes ? ring_bytes : tile_bytes;
    // Behind the ring: where each row begins in src and dst.
    static constexpr int rows_at = body_bytes, offsets_at = rows_at + m * 24;
    static constexpr int shared_bytes = offsets_at + m * 8;
};

struct RowPlace {
    std::int64_t base;
    std::int32_t d, h, w, unused;
};

// Loads of 16 bytes: a thread copies one chunk column of every `step`-th row.
template <class S>
struct ChunkLoader {
    static constexpr int columns = 4 * S::depth, step = S::threads / columns, count = S::m / step;
    static_assert(S::threads % columns == 0 && S::m % step == 0);
    using Element = typename S::Math::Element;
    const Element* base[count];
    std::int32_t h[count], w[count];
    ChunkPlace next;
    int column;

    __device__ __forceinline__ void start(const Args& a, const RowPlace* rows, const Element* src,
                                          int first_step) {
        column = static_cast<int>(threadIdx.x) % columns;
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const RowPlace row = rows[static_cast<int>(threadIdx.x) / columns + i * step];
            base[i] = src + row.base;
            h[i] = row.h;
            w[i] = row.w;
        }
        next = a.chunks[static_cast<std::int64_t>(first_step) * columns + column];
    }
    // `more`: whether the table goes on after this step.
    __device__ __forceinline__ void load(const Args& a, const RowPlace*, const Element* src,
                                         unsigned char* stage, int k_step, bool more) {
        const ChunkPlace place = next;
        if (more) next = a.chunks[static_cast<std::int64_t>(k_step + 1) * columns + column];
        const int unit = column / 4, chunk = column % 4;
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int row = static_cast<int>(threadIdx.x) / columns + i * step;
            const bool inside = static_cast<unsigned>(h[i] + place.h) < static_cast<unsigned>(a.src_h) &&
                                static_cast<unsigned>(w[i] + place.w) < static_cast<unsigned>(a.src_w);
            copy_async_16(stage + (unit * S::m + (row ^ (unit & 1))) * 64 + chunk * 16,
                          inside ? base[i] + place.offset : src, inside);
        }
    }
};

// Loads of one element: a thread copies one k of every `step`-th row.
template <class S>
struct ElementLoader {
    using Element = typename S::Math::Element;
    static constexpr int unit = 64 / static_cast<int>(sizeof(Element));
    static constexpr int columns = unit * S::depth, step = S::threads / columns;
    static_assert(S::threads % columns == 0 && S::m % step == 0);
    ElementPlace next;
    int column;

    __device__ __forceinline__ void start(const Args& a, const RowPlace*, const Element*, int first_step) {
        column = static_cast<int>(threadIdx.x) % columns;
        next = a.elements[static_cast<std::int64_t>(first_step) * columns + column];
    }
    __device__ __forceinline__ void load(const Args& a, const RowPlace* rows, const Element* src,
                                         unsigned char* stage, int k_step, bool more) {
        const ElementPlace place = next;
        if (more) next = a.elements[static_cast<std::int64_t>(k_step + 1) * columns + column];
        const int of_unit = column / unit, within = column % unit;
#pragma unroll 4
        for (int row = static_cast<int>(threadIdx.x) / columns; row < S::m; row += step) {
            const RowPlace at = rows[row];
            const bool inside = static_cast<unsigned>(at.h + place.h) < static_cast<unsigned>(a.src_h) &&
                                static_cast<unsigned>(at.w + place.w) < static_cast<unsigned>(a.src_w) &&
                                static_cast<unsigned>(at.d + place.d) < static_cast<unsigned>(a.src_d);
            unsigned char* to =
                stage + (of_unit * S::m + (row ^ (of_unit & 1))) * 64 + within * sizeof(Element);
            const Element* from = inside ? src + at.base + place.offset : src;
            if constexpr (sizeof(Element) == 4)
                copy_async_4(to, from, inside);
            else
                *reinterpret_cast<Element*>(to) = inside ? *from : Element{};
        }
    }
};

// Where each row of the tile begins; rows behind the last cell lie outside of src and have no place in dst.
template <class S>
__device__ __forceinline__ void fill_rows(const Args& a, std::int64_t first, RowPlace* rows,
                                          std::int64_t* offsets) {
    for (int i = static_cast<int>(threadIdx.x); i < S::m; i += S::threads) {
        RowPlace row{0, outside, outside, outside, 0};
        std::int64_t offset = -1;
        if (first + i < a.epilogue.rows) {
            const Cell cell = cell_of_row(first + i, a.epilogue.dst_d, a.epilogue.dst_h, a.epilogue.dst_w);
            row.d = cell.d * a.step_d - a.pad_d;
            row.h = cell.h * a.step_h - a.pad_h;
            row.w = cell.w * a.step_w - a.pad_w;
            row.base = cell.n * a.stride_n + row.d * a.stride_d + row.h * a.stride_h + row.w * a.stride_w;
            offset = dst_offset_of(a.epilogue, cell);
        }
        rows[i] = row;
        offsets[i] = offset;
    }
}

template <class S>
__device__ __forceinline__ void load_filter(const Args& a, const unsigned char* filter, int first_n8,
                                            unsigned char* stage, int k_step) {
    constexpr int block = S::Math::filter_block, chunks = S::filter_bytes / 16;
    constexpr int chunks_a_unit = S::n / 8 * block / 16;
    for (int i = static_cast<int>(threadIdx.x); i < chunks; i += S::threads) {
        const int unit = i / chunks_a_unit, rest = i % chunks_a_unit;
        const bool inside = first_n8 + rest / (block / 16) < a.blocks_n8;
        const std::int64_t from =
            (static_cast<std::int64_t>(k_step * S::depth + unit) * a.blocks_n8 + first_n8) * block +
            rest * 16;
        copy_async_16(stage + i * 16, inside ? filter + from : filter, inside);
    }
}

template <class S>
__device__ __forceinline__ void multiply_stage(const unsigned char* src, const unsigned char* filter,
                                               float (&sums)[S::warp_m / 16][S::warp_n / 8][4]) {
    using Math = typename S::Math;
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int row = warp / S::warps_n * S::warp_m + lane / 4, n8 = warp % S::warps_n * (S::warp_n / 8);
#pragma unroll
    for (int unit = 0; unit < S::depth; ++unit) {
        typename Math::Filter y[S::warp_n / 8];
#pragma unroll
        for (int j = 0; j < S::warp_n / 8; ++j)
            y[j].read(filter + (unit * (S::n / 8) + n8 + j) * Math::filter_block, lane);
#pragma unroll
        for (int i = 0; i < S::warp_m / 16; ++i) {
            const unsigned char* at =
                src + (unit * S::m + ((row + i * 16) ^ (unit & 1))) * 64 + lane % 4 * 16;
            typename Math::Source x;
            x.read(*reinterpret_cast<const uint4*>(at), *reinterpret_cast<const uint4*>(at + 8 * 64));
            Math::multiply(x, y, sums[i]);
        }
    }
}

template <class S>
__device__ __forceinline__ void write_sums(const Args& a,
                                           const float (&sums)[S::warp_m / 16][S::warp_n / 8][4],
                                           unsigned char* shared, std::int64_t first_row, int first_n) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    auto* tile = reinterpret_cast<float*>(shared);
#pragma unroll
    for (int i = 0; i < S::warp_m / 16; ++i)
#pragma unroll
        for (int j = 0; j < S::warp_n / 8; ++j) {
            const int row = warp / S::warps_n * S::warp_m + i * 16 + lane / 4;
            const int column = warp % S::warps_n * S::warp_n + j * 8 + lane % 4 * 2;
            *reinterpret_cast<float2*>(tile + row * S::pitch + column) = {sums[i][j][0], sums[i][j][1]};
            *reinterpret_cast<float2*>(tile + (row + 8) * S::pitch + column) = {sums[i][j][2], sums[i][j][3]};
        }
    __syncthreads();
    const Epilogue& e = a.epilogue;
    const int columns = min(S::n, a.group_outputs - first_n);
    const std::int64_t first_k = static_cast<std::int64_t>(blockIdx.y) * a.group_outputs + first_n;
    if (e.parts == nullptr) {
        write_tile<typename S::Math::Value, S::m, S::n, S::threads>(
            e, tile, S::pitch, reinterpret_cast<const std::int64_t*>(shared + S::offsets_at), first_k,
            columns, static_cast<int>(threadIdx.x));
        return;
    }
    float* part = e.parts + static_cast<std::int64_t>(blockIdx.z) * e.rows * e.outputs;
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < S::m * S::n; i += S::threads) {
        const int row = i / S::n, column = i % S::n;
        if (first_row + row < e.rows && column < columns)
            part[(first_row + row) * e.outputs + first_k + column] = tile[row * S::pitch + column];
    }
}

template <class S, bool Vector>
__global__ __launch_bounds__(S::threads, S::blocks_an_sm) void convolve(const __grid_constant__ Args a) {
#if __CUDA_ARCH__ >= 800
    using Element = typename S::Math::Element;
    extern __shared__ __align__(128) unsigned char shared[];
    const int tile_n = static_cast<int>(blockIdx.x % static_cast<unsigned>(a.tiles_n)) * S::n;
    const std::int64_t first_row =
        static_cast<std::int64_t>(blockIdx.x / static_cast<unsigned>(a.tiles_n)) * S::m;
    auto* rows = reinterpret_cast<RowPlace*>(shared + S::rows_at);
    fill_rows<S>(a, first_row, rows, reinterpret_cast<std::int64_t*>(shared + S::offsets_at));
    __syncthreads();

    const Element* src =
        static_cast<const Element*>(a.src) + static_cast<std::int64_t>(blockIdx.y) * a.stride_group;
    const unsigned char* filter =
        static_cast<const unsigned char*>(a.filter) +
        static_cast<std::int64_t>(blockIdx.y) * a.units * a.blocks_n8 * S::Math::filter_block;
    const int steps = a.units / S::depth, split = static_cast<int>(blockIdx.z);
    const int first = static_cast<int>(static_cast<std::int64_t>(steps) * split / a.splits);
    const int end = static_cast<int>(static_cast<std::int64_t>(steps) * (split + 1) / a.splits);
    std::conditional_t<Vector, ChunkLoader<S>, ElementLoader<S>> loader;
    if (first < end) loader.start(a, rows, src, first);
    const auto stage_src = [&](int stage) { return shared + stage * S::src_bytes; };
    const auto stage_filter = [&](int stage) {
        return shared + S::stages * S::src_bytes + stage * S::filter_bytes;
    };
    const auto load = [&](int k_step, int stage) {
        if (k_step < end) {
            loader.load(a, rows, src, stage_src(stage), k_step, k_step + 1 < end);
            load_filter<S>(a, filter, tile_n / 8, stage_filter(stage), k_step);
        }
        copy_async_commit();
    };

    float sums[S::warp_m / 16][S::warp_n / 8][4] = {};
    for (int i = 0; i < S::stages - 1; ++i) load(first + i, i);
    int stage = 0;
#pragma unroll 1
    for (int k_step = first; k_step < end; ++k_step) {
        copy_async_wait<S::stages - 2>();
        __syncthreads();
        load(k_step + S::stages - 1, stage == 0 ? S::stages - 1 : stage - 1);
        multiply_stage<S>(stage_src(stage), stage_filter(stage), sums);
        stage = stage + 1 == S::stages ? 0 : stage + 1;
    }
    copy_async_wait<0>();
    __syncthreads();
    write_sums<S>(a, sums, shared, first_row, tile_n);
#endif
}

template <class S, bool Vector>
void launch_shape(const Args& a, unsigned grid_x, unsigned groups, Stream stream) {
    cudaFuncSetAttribute(convolve<S, Vector>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes);
    convolve<S, Vector>
        <<<dim3(grid_x, groups, static_cast<unsigned>(a.splits)), S::threads, S::shared_bytes, stream>>>(a);
}

// In the order of `tiles`.
template <class Math, bool Vector>
void launch_tile(const Args& a, int tile, unsigned grid_x, unsigned groups, Stream stream) {
    constexpr int depth = Math::depth, stages = Math::stages;
    switch (tile) {
        case 0:
            return launch_shape<Shape<Math, 128, 128, 64, 32, depth, stages, Math::blocks_an_sm>, Vector>(
                a, grid_x, groups, stream);
        case 1:
            return launch_shape<Shape<Math, 128, 96, 32, 48, depth, stages, Math::blocks_an_sm>, Vector>(
                a, grid_x, groups, stream);
        case 2:
            return launch_shape<Shape<Math, 128, 64, 32, 32, depth, stages, 2>, Vector>(a, grid_x, groups,
                                                                                        stream);
        case 3:
            return launch_shape<Shape<Math, 64, 64, 32, 32, depth, stages, 2>, Vector>(a, grid_x, groups,
                                                                                       stream);
        default:
            return launch_shape<Shape<Math, 128, 32, 32, 32, depth, stages, 2>, Vector>(a, grid_x, groups,
                                                                                        stream);
    }
}

template <class Math>
void launch_math(const Args& a, int tile, bool vector, unsigned grid_x, unsigned groups, Stream stream) {
    if (vector)
        launch_tile<Math, true>(a, tile, grid_x, groups, stream);
    else
        launch_tile<Math, false>(a, tile, grid_x, groups, stream);
}

}  // namespace convlens::cuda::mma

// The kernel of wgmma_convolution.h. Eight warps multiply, in two groups that hold half the rows of the tile
// each; a third group (or a ninth warp) copies, by one lane. A stage has a barrier "full" (its bytes have
// come) and one "empty" (all eight warps have read it).
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/convolution/tensor_core_epilogue.cuh"
#include "kernels/cuda/convolution/wgmma_args.h"
#include "kernels/cuda/convolution/wgmma_instructions.cuh"
#include "kernels/cuda/dependent_launch.cuh"

namespace convlens::cuda::wgmma {

// Kinds of arithmetic: of src in shared memory as it lies, or rounded and split in registers.
struct Tf32 {
    using Value = float;
    static constexpr Kind kind = Kind::tf32;
    static constexpr bool registers = false, split = false;
    static constexpr int row_bytes = 128, source_elements = 32;
};
struct SplitTf32 {
    using Value = float;
    static constexpr Kind kind = Kind::tf32;
    static constexpr bool registers = true, split = true;
    static constexpr int row_bytes = 128, source_elements = 32;
};
template <bool BFloat>
struct Rounded16 {
    using Value = float;
    static constexpr Kind kind = BFloat ? Kind::bf16 : Kind::fp16;
    static constexpr bool registers = true, split = false;
    static constexpr int row_bytes = 64, source_elements = 32;
};
template <bool BFloat>
struct Own16 {
    using Value = std::conditional_t<BFloat, __nv_bfloat16, __half>;
    static constexpr Kind kind = BFloat ? Kind::bf16 : Kind::fp16;
    static constexpr bool registers = false, split = false;
    static constexpr int row_bytes = 128, source_elements = 64;
};

inline constexpr int consumer_threads = 256;

// RowTiles: of 64 rows that one group of four warps holds.
template <class Math_, int RowTiles_, int N_, int Stages_, int BlocksAnSm_>
struct Shape {
    using Math = Math_;
    static constexpr int row_tiles = RowTiles_, m = 128 * RowTiles_, n = N_, stages = Stages_;
    static constexpr int blocks_an_sm = BlocksAnSm_;
    // The copying group gives registers to the others; where two blocks share a multiprocessor, the compiler
    // wants more for the large products than it may give to all, and one warp copies.
    static constexpr bool gives_registers = BlocksAnSm_ == 1 || Math::split;
    static constexpr int consumer_registers = BlocksAnSm_ == 1 ? 240 : 104;
    static constexpr int threads = consumer_threads + (gives_registers ? 128 : 32);
    static constexpr int src_bytes = m * 128;
    static constexpr int filter_part = n * Math::row_bytes;  // high parts, or low parts
    static constexpr int filter_bytes = filter_part * (Math::split ? 2 : 1);
    static constexpr int stage_bytes = src_bytes + filter_bytes;
    static constexpr int pitch = n + 4;
    static constexpr int tile_bytes = m * pitch * 4;
    static constexpr int body_bytes = (stages * stage_bytes > tile_bytes ? stages * stage_bytes : tile_bytes);
    static constexpr int offsets_at = body_bytes, barriers_at = offsets_at + m * 8;
    static constexpr int shared_bytes = barriers_at + stages * 16 + 1024;  // to begin at a multiple of 1024
    static_assert(shared_bytes <= 227 * 1024);
};

template <class S>
struct Ring {
    std::uint32_t base, barriers;
    int stage = 0;
    std::uint32_t round = 0;
    __device__ __forceinline__ std::uint32_t src() const { return base + stage * S::stage_bytes; }
    __device__ __forceinline__ std::uint32_t filter() const { return src() + S::src_bytes; }
    __device__ __forceinline__ std::uint32_t full() const { return barriers + stage * 16; }
    __device__ __forceinline__ std::uint32_t empty() const { return full() + 8; }
    __device__ __forceinline__ void next() {
        if (++stage == S::stages) stage = 0, round ^= 1;
    }
};

// The first cell of a tile: of all cells in a row, or of a rectangle of one image (src in runs).
__device__ __forceinline__ mma::Cell first_cell(const Args& a, int tile, int rows) {
    if (a.tile_w == 0)
        return mma::cell_of_row(static_cast<std::int64_t>(tile) * rows, 1, a.epilogue.dst_h,
                                a.epilogue.dst_w);
    return {tile / (a.tiles_w * a.tiles_h), 0, tile / a.tiles_w % a.tiles_h * (rows / a.tile_w),
            tile % a.tiles_w * a.tile_w};
}

// Where row i of a tile lies in dst, or -1.
__device__ __forceinline__ std::int64_t row_offset(const Args& a, int tile, int rows, int i) {
    const Epilogue& e = a.epilogue;
    if (a.tile_w == 0) {
        const std::int64_t row = static_cast<std::int64_t>(tile) * rows + i;
        return row < e.rows ? mma::dst_offset_of(e, mma::cell_of_row(row, 1, e.dst_h, e.dst_w)) : -1;
    }
    mma::Cell cell = first_cell(a, tile, rows);
    cell.h += i / a.tile_w;
    cell.w += i % a.tile_w;
    return cell.h < e.dst_h && cell.w < e.dst_w ? mma::dst_offset_of(e, cell) : -1;
}

// One lane.
template <class S>
__device__ __forceinline__ void produce(const Args& a, const CUtensorMap* map, Ring<S> ring, int tile,
                                        int first_n, int first, int end) {
    const mma::Cell cell = first_cell(a, tile, S::m);
    const int h = cell.h * a.step_h - a.pad_h, w = cell.w * a.step_w - a.pad_w;
    const std::int64_t part = static_cast<std::int64_t>(a.blocks_n8) * 8 * S::Math::row_bytes;
    const unsigned char* filter = a.filter + first_n * S::Math::row_bytes;
#pragma unroll 1
    for (int step = first; step < end; ++step) {
        const int tap = step / a.channel_steps, c = step % a.channel_steps * S::Math::source_elements;
        barrier_wait(ring.empty(), ring.round ^ 1);
        barrier_expect(ring.full(), S::stage_bytes);
        if (a.tile_w == 0)
            copy_im2col(ring.src(), map, c, w, h, cell.n, tap % a.window_w * a.dilation_w,
                        tap / a.window_w * a.dilation_h, ring.full());
        else
            copy_box(ring.src(), map, c, cell.w, tap, cell.h, cell.n, ring.full());
        const unsigned char* from = filter + step * part * (S::Math::split ? 2 : 1);
        copy_bulk(ring.filter(), from, S::filter_part, ring.full());
        if constexpr (S::Math::split)
            copy_bulk(ring.filter() + S::filter_part, from + part, S::filter_part, ring.full());
        ring.next();
    }
}

// Both operands in shared memory.
template <class S>
__device__ __forceinline__ void consume_shared(Ring<S> ring, int group, int lane, int steps,
                                               float (&sums)[S::row_tiles][S::n / 2]) {
    std::uint32_t before = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        barrier_wait(ring.full(), ring.round);
        const std::uint64_t x = describe<128>(ring.src() + group * S::row_tiles * 64 * 128);
        const std::uint64_t y = describe<128>(ring.filter());
        products_begin();
#pragma unroll
        for (int k = 0; k < 4; ++k)
#pragma unroll
            for (int i = 0; i < S::row_tiles; ++i)
                multiply<S::Math::kind, S::n>(sums[i], x + i * (64 * 128 / 16) + k * 2, y + k * 2, 1);
        products_commit();
        products_wait<1>();
        if (step > 0 && lane == 0) barrier_arrive(before);
        before = ring.empty();
        ring.next();
    }
    products_wait<0>();
#pragma unroll
    for (int i = 0; i < S::row_tiles; ++i) hold(sums[i]);
}

// Which of 8 rows of shared memory is row i of a fragment: rows that one access reads together differ in bit
// 2, so that their swizzled chunks lie in different banks.
__device__ __forceinline__ int fragment_row(int i) { return i / 2 + i % 2 * 4; }

struct Rows16 {
    uint4 low, high;
};
// 16 of k for 16 rows of a warp: rows fragment_row(lane / 4) and 8 further on.
__device__ __forceinline__ Rows16 load_rows(std::uint32_t address, int unit, int lane) {
    const int row = fragment_row(lane / 4);
    const std::uint32_t at = address + row * 128 + (((unit * 4 + lane % 4) ^ row) * 16);
    Rows16 x;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.low.x), "=r"(x.low.y), "=r"(x.low.z), "=r"(x.low.w)
                 : "r"(at)
                 : "memory");
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.high.x), "=r"(x.high.y), "=r"(x.high.z), "=r"(x.high.w)
                 : "r"(at + 8 * 128)
                 : "memory");
    return x;
}

// Operand registers of 16 of k: two instructions of TF32, each with high and low parts.
struct SplitFragment {
    std::uint32_t high[2][4], low[2][4];
    __device__ __forceinline__ void set(const Rows16& x) {
        const std::uint32_t words[2][4] = {{x.low.x, x.low.y, x.low.z, x.low.w},
                                           {x.high.x, x.high.y, x.high.z, x.high.w}};
#pragma unroll
        for (int s = 0; s < 2; ++s)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float value = __uint_as_float(words[i % 2][2 * s + i / 2]);
                high[s][i] = mma::tf32_bits(value);
                low[s][i] = __float_as_uint(value - __uint_as_float(high[s][i]));
            }
    }
};

// The tensor core truncates each sum, so it sums one step only, the small products first; f32 additions do
// the rest, which the other group's products hide.
template <class S>
__device__ __forceinline__ void consume_split(Ring<S> ring, int warp, int lane, int steps,
                                              float (&sums)[S::n / 2]) {
    float part[S::n / 2];
    SplitFragment x0, x1;
    const auto multiply_low = [&](const SplitFragment& x, std::uint64_t high, std::uint64_t low, bool first) {
#pragma unroll
        for (int s = 0; s < 2; ++s) {
            multiply<Kind::tf32, S::n>(part, x.low[s], high + s * 2, !first || s > 0);
            multiply<Kind::tf32, S::n>(part, x.high[s], low + s * 2, 1);
        }
    };
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        barrier_wait(ring.full(), ring.round);
        const std::uint32_t src = ring.src() + warp * 16 * 128;
        const std::uint64_t high = describe<128>(ring.filter());
        const std::uint64_t low = describe<128>(ring.filter() + S::filter_part);
        x0.set(load_rows(src, 0, lane));
        products_begin();
        multiply_low(x0, high, low, true);
        products_commit();
        x1.set(load_rows(src, 1, lane));
        products_begin();
        multiply_low(x1, high + 4, low + 4, false);
#pragma unroll
        for (int s = 0; s < 2; ++s) multiply<Kind::tf32, S::n>(part, x0.high[s], high + s * 2, 1);
#pragma unroll
        for (int s = 0; s < 2; ++s) multiply<Kind::tf32, S::n>(part, x1.high[s], high + 4 + s * 2, 1);
        products_commit();
        products_wait<0>();
        hold(part);
        __syncwarp();  // all lanes have read their operands of the stage
        if (lane == 0) barrier_arrive(ring.empty());
        ring.next();
#pragma unroll
        for (int i = 0; i < S::n / 2; ++i) sums[i] += part[i];
    }
}

// f32 rounded to 16 bits in registers.
template <class S>
__device__ __forceinline__ void consume_rounded(Ring<S> ring, int group, int warp, int lane, int steps,
                                                float (&sums)[S::row_tiles][S::n / 2]) {
    constexpr bool bfloat = S::Math::kind == Kind::bf16;
    std::uint32_t before = 0;
    std::uint32_t x[2][S::row_tiles][4];
    const auto load = [&](int unit) {
#pragma unroll
        for (int i = 0; i < S::row_tiles; ++i) {
            const Rows16 rows =
                load_rows(ring.src() + ((group * S::row_tiles + i) * 64 + warp % 4 * 16) * 128, unit, lane);
            x[unit][i][0] = mma::pair_16<bfloat>(rows.low.x, rows.low.y);
            x[unit][i][1] = mma::pair_16<bfloat>(rows.high.x, rows.high.y);
            x[unit][i][2] = mma::pair_16<bfloat>(rows.low.z, rows.low.w);
            x[unit][i][3] = mma::pair_16<bfloat>(rows.high.z, rows.high.w);
        }
    };
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        barrier_wait(ring.full(), ring.round);
        const std::uint64_t y = describe<64>(ring.filter());
        load(0);
        products_begin();
#pragma unroll
        for (int i = 0; i < S::row_tiles; ++i) multiply<S::Math::kind, S::n>(sums[i], x[0][i], y, 1);
        products_commit();
        products_wait<1>();
        __syncwarp();  // all lanes have read their operands of the stage before
        if (step > 0 && lane == 0) barrier_arrive(before);
        load(1);
        products_begin();
#pragma unroll
        for (int i = 0; i < S::row_tiles; ++i) multiply<S::Math::kind, S::n>(sums[i], x[1][i], y + 2, 1);
        products_commit();
        products_wait<0>();
        before = ring.empty();
        ring.next();
    }
    products_wait<0>();
#pragma unroll
    for (int i = 0; i < S::row_tiles; ++i) hold(sums[i]);
}

__device__ __forceinline__ void consumers_meet() { asm volatile("bar.sync 1, 256;" ::: "memory"); }

// The parts of k are the blocks of a cluster: each adds one share of the rows from all blocks' tiles, in
// their order, and keeps the rest out of dst.
template <class S>
__device__ __forceinline__ void add_parts(int splits, int split, std::uint32_t tile, std::int64_t* offsets,
                                          int thread) {
    constexpr int fours = S::n / 4;
    const int first = S::m * split / splits, end = S::m * (split + 1) / splits;
    cluster_arrive();
    cluster_wait();
    for (int i = thread; i < (end - first) * fours; i += consumer_threads) {
        const std::uint32_t at = tile + ((first + i / fours) * S::pitch + i % fours * 4) * 4;
        float4 sum = load_of_block(at, 0);
#pragma unroll 4
        for (int block = 1; block < splits; ++block) {
            const float4 more = load_of_block(at, block);
            sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
        }
        asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at), "f"(sum.x), "f"(sum.y), "f"(sum.z),
                     "f"(sum.w)
                     : "memory");
    }
    for (int row = thread; row < S::m; row += consumer_threads)
        if (row < first || row >= end) offsets[row] = -1;
    cluster_arrive();  // the others' tiles have been read
}

template <class S>
__device__ __forceinline__ void write_sums(const Args& a, const float (&sums)[S::row_tiles][S::n / 2],
                                           unsigned char* shared, int first_n) {
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    auto* tile = reinterpret_cast<float*>(shared);
    auto* offsets = reinterpret_cast<std::int64_t*>(shared + S::offsets_at);
    consumers_meet();  // all have read the ring
#pragma unroll
    for (int i = 0; i < S::row_tiles; ++i)
#pragma unroll
        for (int j = 0; j < S::n / 8; ++j) {
            const int within = S::Math::registers ? fragment_row(lane / 4) : lane / 4;
            const int row = (warp / 4 * S::row_tiles + i) * 64 + warp % 4 * 16 + within;
            float* at = tile + row * S::pitch + j * 8 + lane % 4 * 2;
            *reinterpret_cast<float2*>(at) = {sums[i][j * 4], sums[i][j * 4 + 1]};
            *reinterpret_cast<float2*>(at + 8 * S::pitch) = {sums[i][j * 4 + 2], sums[i][j * 4 + 3]};
        }
    if (a.splits > 1)
        add_parts<S>(a.splits, static_cast<int>(blockIdx.z), shared_address(shared), offsets, thread);
    consumers_meet();
    mma::write_tile<typename S::Math::Value, S::m, S::n, consumer_threads>(
        a.epilogue, tile, S::pitch, offsets, first_n, min(S::n, a.outputs - first_n), thread);
    if (a.splits > 1) cluster_wait();
}

template <class S>
__global__ __launch_bounds__(S::threads,
                             S::blocks_an_sm) void convolve(const __grid_constant__ Args a,
                                                            const __grid_constant__ CUtensorMap map) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ unsigned char unaligned[];
    unsigned char* shared = unaligned + (1024 - shared_address(unaligned) % 1024) % 1024;
    Ring<S> ring{shared_address(shared), shared_address(shared) + S::barriers_at};
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
    const int warp = __shfl_sync(0xffffffffu, thread / 32, 0);
    const int first_n = static_cast<int>(blockIdx.x % static_cast<unsigned>(a.tiles_n)) * S::n;
    const int tile = static_cast<int>(blockIdx.x / static_cast<unsigned>(a.tiles_n));
    const int split = static_cast<int>(blockIdx.z);
    const int first = static_cast<int>(static_cast<std::int64_t>(a.steps) * split / a.splits);
    const int end = static_cast<int>(static_cast<std::int64_t>(a.steps) * (split + 1) / a.splits);
    if (thread == 0) {
        for (int i = 0; i < S::stages; ++i) {
            barrier_init(ring.barriers + i * 16, 1);
            barrier_init(ring.barriers + i * 16 + 8, 8);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    wait_for_previous_kernel();
    let_next_kernel_start();
    if (warp >= 8) {
        if constexpr (S::gives_registers) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (thread == consumer_threads) produce<S>(a, &map, ring, tile, first_n, first, end);
        return;
    }
    if constexpr (S::gives_registers)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(S::consumer_registers));
    auto* offsets = reinterpret_cast<std::int64_t*>(shared + S::offsets_at);
    for (int i = thread; i < S::m; i += consumer_threads) offsets[i] = row_offset(a, tile, S::m, i);
    float sums[S::row_tiles][S::n / 2] = {};
    if constexpr (S::Math::split)
        consume_split<S>(ring, warp, lane, end - first, sums[0]);
    else if constexpr (S::Math::registers)
        consume_rounded<S>(ring, warp / 4, warp, lane, end - first, sums);
    else
        consume_shared<S>(ring, warp / 4, lane, end - first, sums);
    write_sums<S>(a, sums, shared, first_n);
#endif
}

template <class S>
void launch_shape(const Args& a, const CUtensorMap& map, unsigned grid_x, Stream stream) {
    cudaFuncSetAttribute(convolve<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes);
    const auto splits = static_cast<unsigned>(a.splits);
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim.x = 1;
    attributes[1].val.clusterDim.y = 1;
    attributes[1].val.clusterDim.z = splits;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(grid_x, 1, splits);
    config.blockDim = dim3(S::threads);
    config.dynamicSmemBytes = S::shared_bytes;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = splits > 1 ? 2 : 1;
    cudaLaunchKernelEx(&config, convolve<S>, a, map);
}

// In the order of `tiles`.
template <class Math>
void launch_math(const Args& a, const CUtensorMap& map, int tile, unsigned grid_x, Stream stream) {
    constexpr bool split = Math::split;
    switch (tile) {
        case 0:
            if constexpr (!split) return launch_shape<Shape<Math, 2, 128, 4, 1>>(a, map, grid_x, stream);
            break;
        case 1:
            if constexpr (Math::registers)
                return launch_shape<Shape<Math, 1, 128, split ? 4 : 6, 1>>(a, map, grid_x, stream);
            else
                return launch_shape<Shape<Math, 1, 128, 3, 2>>(a, map, grid_x, stream);
        case 2:
            if constexpr (Math::registers)
                return launch_shape<Shape<Math, 1, 96, split ? 5 : 6, 1>>(a, map, grid_x, stream);
            else
                return launch_shape<Shape<Math, 1, 96, 3, 2>>(a, map, grid_x, stream);
        case 3:
            return launch_shape<Shape<Math, 1, 64, split ? 3 : 4, 2>>(a, map, grid_x, stream);
        default:
            return launch_shape<Shape<Math, 1, 32, split ? 4 : 5, 2>>(a, map, grid_x, stream);
    }
}

}  // namespace convlens::cuda::wgmma

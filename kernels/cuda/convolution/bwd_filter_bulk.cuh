// The kernel of bwd_filter_bulk.h.
#pragma once

#include "kernels/cuda/convolution/bwd_filter_args.h"
#include "kernels/cuda/convolution/bwd_filter_bulk.h"
#include "kernels/cuda/convolution/wgmma_instructions.cuh"
#include "kernels/cuda/dependent_launch.cuh"

namespace convlens::cuda::filter_gradient {

struct BulkArgs {
    float* parts;  // [split][row][output]
    std::int64_t padded_outputs, padded_rows;
    std::int32_t steps, splits, output_tiles, row_tiles;
    std::int32_t channel_blocks, row_blocks, window_w;
    std::int32_t step_h, step_w, pad_h, pad_w, dilation_h, dilation_w;
    std::int32_t src_plane, diff_plane;  // channels from the high parts to the low parts
    FastDivision dst_w, dst_h;
};

void launch_bulk_fp16(const BulkArgs&, const CUtensorMap& src, const CUtensorMap& diff, int row_tiles,
                      int outputs, Stream);
void launch_bulk_split(const BulkArgs&, const CUtensorMap& src, const CUtensorMap& diff, int outputs, Stream);
void launch_bulk_bf16(const BulkArgs&, const CUtensorMap& src, const CUtensorMap& diff, int row_tiles,
                      int outputs, Stream);

// A block of 64 t and 64 channels: rows of 128 bytes, swizzled.
inline constexpr int bulk_block = 64 * 128;
inline constexpr int bulk_depth = 64;

// Planes: 2 where operands have high and low parts, which lie behind all high parts of a stage's operand.
template <wgmma::Kind Kind_, int RowTiles, int Outputs, int Planes = 1>
struct BulkShape {
    static constexpr wgmma::Kind kind = Kind_;
    static constexpr int row_tiles = RowTiles, outputs = Outputs, planes = Planes;
    static constexpr int source_blocks = 2 * RowTiles, diff_blocks = (Outputs + 63) / 64;
    static constexpr int stage_bytes = (source_blocks + diff_blocks) * Planes * bulk_block;
    static constexpr int stages = 192 * 1024 / stage_bytes > 6 ? 6 : 192 * 1024 / stage_bytes;
    static constexpr int threads = 256 + 128;
    static constexpr int barriers_at = stages * stage_bytes;
    static constexpr int shared_bytes = barriers_at + stages * 16 + 1024;  // to begin at a multiple of 1024
    static_assert(shared_bytes <= 227 * 1024);
};

// Rows of 128 bytes along the columns of the product, in groups of 8 t; blocks of 64 columns.
__device__ __forceinline__ std::uint64_t describe_turned(std::uint32_t address) {
    return static_cast<std::uint64_t>((address & 0x3ffffu) >> 4) | std::uint64_t{bulk_block / 16} << 16 |
           std::uint64_t{1024 / 16} << 32 | std::uint64_t{1} << 62;
}

// sums = x y + (add ? sums : 0) for 64 rows, N columns and 16 t; both turned, in shared memory.
template <wgmma::Kind kind, int N>
__device__ __forceinline__ void multiply_turned(float (&d)[N / 2], std::uint64_t x, std::uint64_t y,
                                                int add) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define CONVLENS_WGMMA(COLUMNS)                                           \
    if constexpr (N == COLUMNS) {                                         \
        if constexpr (kind == wgmma::Kind::fp16)                          \
            CONVLENS_WGMMA_S##COLUMNS("k16.f32.f16.f16", "1, 1, 1, 1");   \
        else                                                              \
            CONVLENS_WGMMA_S##COLUMNS("k16.f32.bf16.bf16", "1, 1, 1, 1"); \
    }
    CONVLENS_WGMMA(64) CONVLENS_WGMMA(96) CONVLENS_WGMMA(128)
#undef CONVLENS_WGMMA
#endif
}

template <class S>
struct BulkRing {
    std::uint32_t base, barriers;
    int stage = 0;
    std::uint32_t round = 0;
    __device__ __forceinline__ std::uint32_t source() const { return base + stage * S::stage_bytes; }
    __device__ __forceinline__ std::uint32_t diff() const {
        return source() + S::source_blocks * S::planes * bulk_block;
    }
    __device__ __forceinline__ std::uint32_t full() const { return barriers + stage * 16; }
    __device__ __forceinline__ std::uint32_t empty() const { return full() + 8; }
    __device__ __forceinline__ void next() {
        if (++stage == S::stages) stage = 0, round ^= 1;
    }
};

// One lane.
template <class S>
__device__ __forceinline__ void bulk_produce(const BulkArgs& a, const CUtensorMap* src,
                                             const CUtensorMap* diff, BulkRing<S> ring, int row_tile,
                                             int output_tile, int first, int end) {
    int channel[S::source_blocks], tap_h[S::source_blocks], tap_w[S::source_blocks];
#pragma unroll
    for (int i = 0; i < S::source_blocks; ++i) {
        // Blocks beyond the last tap repeat it.
        const int block = min(row_tile * S::source_blocks + i, a.row_blocks - 1),
                  tap = block / a.channel_blocks;
        channel[i] = block % a.channel_blocks * 64;
        tap_h[i] = tap / a.window_w * a.dilation_h;
        tap_w[i] = tap % a.window_w * a.dilation_w;
    }
#pragma unroll 1
    for (int step = first; step < end; ++step) {
        auto rest = static_cast<std::uint32_t>(step) * bulk_depth;
        const auto w = static_cast<int>(a.dst_w.split(rest)), h = static_cast<int>(a.dst_h.split(rest));
        const auto n = static_cast<int>(rest);
        wgmma::barrier_wait(ring.empty(), ring.round ^ 1);
        wgmma::barrier_expect(ring.full(), S::stage_bytes);
#pragma unroll
        for (int plane = 0; plane < S::planes; ++plane) {
#pragma unroll
            for (int i = 0; i < S::source_blocks; ++i)
                wgmma::copy_im2col(ring.source() + (plane * S::source_blocks + i) * bulk_block, src,
                                   plane * a.src_plane + channel[i], w * a.step_w - a.pad_w,
                                   h * a.step_h - a.pad_h, n, tap_w[i], tap_h[i], ring.full());
#pragma unroll
            for (int i = 0; i < S::diff_blocks; ++i)
                wgmma::copy_im2col(ring.diff() + (plane * S::diff_blocks + i) * bulk_block, diff,
                                   plane * a.diff_plane + output_tile * S::outputs + i * 64, w, h, n, 0, 0,
                                   ring.full());
        }
        ring.next();
    }
}

template <class S>
__device__ __forceinline__ void consume(BulkRing<S> ring, int group, int lane, int steps,
                                        float (&sums)[S::row_tiles][S::outputs / 2]) {
    std::uint32_t before = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        wgmma::barrier_wait(ring.full(), ring.round);
        const std::uint64_t x = describe_turned(ring.source() + group * S::row_tiles * bulk_block);
        const std::uint64_t y = describe_turned(ring.diff());
        wgmma::products_begin();
#pragma unroll
        for (int k = 0; k < 4; ++k)
#pragma unroll
            for (int i = 0; i < S::row_tiles; ++i)
                multiply_turned<S::kind, S::outputs>(sums[i], x + i * (bulk_block / 16) + k * 128,
                                                     y + k * 128, 1);
        wgmma::products_commit();
        wgmma::products_wait<1>();
        if (step > 0 && lane == 0) wgmma::barrier_arrive(before);
        before = ring.empty();
        ring.next();
    }
    wgmma::products_wait<0>();
#pragma unroll
    for (int i = 0; i < S::row_tiles; ++i) wgmma::hold(sums[i]);
}

// Products of high parts leave the tensor core, which truncates, after every step; those with low parts, 2^11
// times as large as they count, are small enough to stay.
template <class S>
__device__ __forceinline__ void consume_split(BulkRing<S> ring, int group, int lane, int steps,
                                              float (&sums)[S::outputs / 2]) {
    float part[S::outputs / 2] = {}, low[S::outputs / 2] = {};
    constexpr int source_low = S::source_blocks * bulk_block / 16,
                  diff_low = S::diff_blocks * bulk_block / 16;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        wgmma::barrier_wait(ring.full(), ring.round);
        const std::uint64_t x = describe_turned(ring.source() + group * bulk_block);
        const std::uint64_t y = describe_turned(ring.diff());
        wgmma::products_begin();
#pragma unroll
        for (int k = 0; k < 4; ++k)
            multiply_turned<S::kind, S::outputs>(part, x + k * 128, y + k * 128, k > 0);
        wgmma::products_commit();
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            multiply_turned<S::kind, S::outputs>(low, x + source_low + k * 128, y + k * 128, 1);
            multiply_turned<S::kind, S::outputs>(low, x + k * 128, y + diff_low + k * 128, 1);
        }
        wgmma::products_commit();
        wgmma::products_wait<1>();
        wgmma::hold(part);
#pragma unroll
        for (int i = 0; i < S::outputs / 2; ++i) sums[i] += part[i];
        wgmma::products_wait<0>();
        wgmma::hold(low);
        __syncwarp();
        if (lane == 0) wgmma::barrier_arrive(ring.empty());
        ring.next();
    }
#pragma unroll
    for (int i = 0; i < S::outputs / 2; ++i) sums[i] = fmaf(low[i], 0x1p-11f, sums[i]);
}

template <class S>
__global__ void __launch_bounds__(S::threads, 1)
    bulk_kernel(const __grid_constant__ BulkArgs a, const __grid_constant__ CUtensorMap src,
                const __grid_constant__ CUtensorMap diff) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ unsigned char unaligned[];
    unsigned char* shared = unaligned + (1024 - wgmma::shared_address(unaligned) % 1024) % 1024;
    BulkRing<S> ring{wgmma::shared_address(shared), wgmma::shared_address(shared) + S::barriers_at};
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
    const int warp = __shfl_sync(0xffffffffu, thread / 32, 0);
    auto rest = static_cast<int>(blockIdx.x);
    const int output_tile = rest % a.output_tiles;
    rest /= a.output_tiles;
    const int row_tile = rest % a.row_tiles, split = rest / a.row_tiles;
    const int first = static_cast<int>(static_cast<std::int64_t>(a.steps) * split / a.splits);
    const int end = static_cast<int>(static_cast<std::int64_t>(a.steps) * (split + 1) / a.splits);
    if (thread == 0) {
        for (int i = 0; i < S::stages; ++i) {
            wgmma::barrier_init(ring.barriers + i * 16, 1);
            wgmma::barrier_init(ring.barriers + i * 16 + 8, 8);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    wait_for_previous_kernel();
    let_next_kernel_start();
    if (warp >= 8) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (thread == 256) bulk_produce<S>(a, &src, &diff, ring, row_tile, output_tile, first, end);
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const int group = warp / 4;
    float sums[S::row_tiles][S::outputs / 2] = {};
    if constexpr (S::planes == 2)
        consume_split<S>(ring, group, lane, end - first, sums[0]);
    else
        consume<S>(ring, group, lane, end - first, sums);
#pragma unroll
    for (int i = 0; i < S::row_tiles; ++i) {
        const std::int64_t row =
            (static_cast<std::int64_t>(row_tile) * S::source_blocks + group * S::row_tiles + i) * 64 +
            warp % 4 * 16 + lane / 4;
        float* to = a.parts + (split * a.padded_rows + row) * a.padded_outputs + output_tile * S::outputs +
                    lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < S::outputs / 8; ++j) {
            *reinterpret_cast<float2*>(to + j * 8) = make_float2(sums[i][j * 4], sums[i][j * 4 + 1]);
            *reinterpret_cast<float2*>(to + 8 * a.padded_outputs + j * 8) =
                make_float2(sums[i][j * 4 + 2], sums[i][j * 4 + 3]);
        }
    }
#endif
}

template <class S>
void launch_bulk_shape(const BulkArgs& a, const CUtensorMap& src, const CUtensorMap& diff, Stream stream) {
    cudaFuncSetAttribute(bulk_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes);
    const auto blocks = static_cast<unsigned>(a.output_tiles * a.row_tiles * a.splits);
    launch_dependent(true, bulk_kernel<S>, dim3(blocks), dim3(S::threads), S::shared_bytes, stream, a, src,
                     diff);
}

template <wgmma::Kind kind>
void launch_bulk(const BulkArgs& a, const CUtensorMap& src, const CUtensorMap& diff, int row_tiles,
                 int outputs, Stream stream) {
    if (outputs == 128)
        return row_tiles == 2 ? launch_bulk_shape<BulkShape<kind, 2, 128>>(a, src, diff, stream)
                              : launch_bulk_shape<BulkShape<kind, 1, 128>>(a, src, diff, stream);
    if (outputs == 96)
        return row_tiles == 2 ? launch_bulk_shape<BulkShape<kind, 2, 96>>(a, src, diff, stream)
                              : launch_bulk_shape<BulkShape<kind, 1, 96>>(a, src, diff, stream);
    row_tiles == 2 ? launch_bulk_shape<BulkShape<kind, 2, 64>>(a, src, diff, stream)
                   : launch_bulk_shape<BulkShape<kind, 1, 64>>(a, src, diff, stream);
}

inline void launch_bulk_parts(const BulkArgs& a, const CUtensorMap& src, const CUtensorMap& diff, int outputs,
                              Stream stream) {
    constexpr auto kind = wgmma::Kind::fp16;
    if (outputs == 128) return launch_bulk_shape<BulkShape<kind, 1, 128, 2>>(a, src, diff, stream);
    if (outputs == 96) return launch_bulk_shape<BulkShape<kind, 1, 96, 2>>(a, src, diff, stream);
    launch_bulk_shape<BulkShape<kind, 1, 64, 2>>(a, src, diff, stream);
}

}  // namespace convlens::cuda::filter_gradient

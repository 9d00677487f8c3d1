// The kernel of bwd_filter.h for the matrix instructions of four warps: two such groups with 64 rows each.
// All warps also load: a ring of stages, each with a barrier "full" (all threads have written their share)
// and one "empty" (all threads have multiplied it), lets one group add up while the other's products run.
#pragma once

#include "kernels/cuda/convolution/bwd_filter_kernel.cuh"
#include "kernels/cuda/convolution/wgmma_instructions.cuh"

namespace convlens::cuda::filter_gradient {

template <class M_, Product product_, int Outputs, bool QuadsOnly>
struct GroupShape {
    using M = M_;
    static constexpr Product product = product_;
    static constexpr int outputs = Outputs, threads = 256, warps = 8, stages = 4;
    static constexpr bool quads_only = QuadsOnly, splits = product == Product::split;
    // Steps that the matrix instructions sum alone, which truncate.
    static constexpr int steps_a_part = splits ? 1 : 8;
    static constexpr int source_bytes = tile_rows * 128, diff_bytes = Outputs * 128;
    static constexpr int stage_bytes = source_bytes + diff_bytes * (splits ? 2 : 1);
    static constexpr int rows_at = stages * stage_bytes;
    static constexpr int cells_at = (rows_at + static_cast<int>(sizeof(Rows<Outputs>)) + 15) / 16 * 16;
    static constexpr int barriers_at = cells_at + warps * static_cast<int>(sizeof(CellTable<M>));
    static constexpr int shared_bytes = barriers_at + stages * 16 + 1024;  // to begin at a multiple of 1024
    static_assert(shared_bytes <= 227 * 1024);
    static constexpr wgmma::Kind kind = product == Product::fp16   ? wgmma::Kind::fp16
                                        : product == Product::bf16 ? wgmma::Kind::bf16
                                                                   : wgmma::Kind::tf32;
};

// High and low parts of 16 rows and 16 t, as registers of two instructions.
struct SplitRows {
    std::uint32_t high[2][4], low[2][4];
    __device__ __forceinline__ void load(std::uint32_t tile, int row, int half, int lane) {
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            load_matrices(high[k], tile, row + lane % 16, half * 4 + k * 2 + lane / 16);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float value = __uint_as_float(high[k][i]);
                high[k][i] = mma::tf32_bits(value);
                low[k][i] = __float_as_uint(value - __uint_as_float(high[k][i]));
            }
        }
    }
};

// Starts the products of a step; the small ones come first.
template <class S>
__device__ __forceinline__ void start_split(std::uint32_t source, std::uint32_t diff, int warp, int lane,
                                            SplitRows (&x)[2], float (&part)[S::outputs / 2]) {
    const std::uint64_t high = wgmma::describe<128>(diff);
    const std::uint64_t low = wgmma::describe<128>(diff + S::diff_bytes);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        x[half].load(source, warp * 16, half, lane);
        wgmma::products_begin();
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            const int at = half * 4 + k * 2;
            wgmma::multiply<wgmma::Kind::tf32, S::outputs>(part, x[half].low[k], high + at, half + k > 0);
            wgmma::multiply<wgmma::Kind::tf32, S::outputs>(part, x[half].high[k], low + at, 1);
        }
        if (half == 1)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                wgmma::multiply<wgmma::Kind::tf32, S::outputs>(part, x[i / 2].high[i % 2], high + i * 2, 1);
        wgmma::products_commit();
    }
}

template <class S>
__device__ __forceinline__ void start_plain(std::uint32_t source, std::uint32_t diff, int group, bool first,
                                            float (&part)[S::outputs / 2]) {
    const std::uint64_t x = wgmma::describe<128>(source + group * 64 * 128), y = wgmma::describe<128>(diff);
    wgmma::products_begin();
#pragma unroll
    for (int k = 0; k < 4; ++k)
        wgmma::multiply<S::kind, S::outputs>(part, x + k * 2, y + k * 2, !first || k > 0);
    wgmma::products_commit();
}

template <class S>
__global__ void __launch_bounds__(S::threads, 1) group_kernel(const __grid_constant__ Args a) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using M = typename S::M;
    extern __shared__ unsigned char unaligned[];
    unsigned char* shared = unaligned + (1024 - shared_address(unaligned) % 1024) % 1024;
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
    const int warp = __shfl_sync(0xffffffffu, thread / 32, 0);
    const Job job(a);
    auto& rows = *reinterpret_cast<Rows<S::outputs>*>(shared + S::rows_at);
    auto& cells = reinterpret_cast<CellTable<M>*>(shared + S::cells_at)[warp];
    const std::uint32_t base = shared_address(shared), barriers = base + S::barriers_at;
    if (thread == 0) {
        for (int i = 0; i < 2 * S::stages; ++i) wgmma::barrier_init(barriers + i * 8, S::warps);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    fill_rows(a, rows, job.group, job.row_tile, job.output_tile, thread, S::threads);
    __syncthreads();
    wait_for_previous_kernel();
    let_next_kernel_start();

    Loader<M, tile_rows, S::threads, true, S::quads_only> source;
    Loader<M, S::outputs, S::threads, false, S::quads_only> diff;
    const int count = job.end - job.first;
    const auto load = [&](int step) {
        cells.fill(a, static_cast<std::int64_t>(job.first + step) * M::depth, lane);
        source.load(a, a.src_access, cells, rows, thread, warp, lane);
        diff.load(a, a.diff_access, cells, rows, thread, warp, lane);
    };
    const auto full = [&](int step) { return barriers + step % S::stages * 16; };
    const auto parity = [&](int step) { return static_cast<std::uint32_t>(step / S::stages & 1); };
    const auto store = [&](int step) {
        wgmma::barrier_wait(full(step) + 8, parity(step) ^ 1);
        const std::uint32_t to = base + step % S::stages * S::stage_bytes;
        source.store(to, a.src_access, thread, warp, lane);
        diff.store(to + S::source_bytes, a.diff_access, thread, warp, lane);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncwarp();
        if (lane == 0) wgmma::barrier_arrive(full(step));
    };
    float sums[S::outputs / 2] = {}, part[S::outputs / 2] = {};
    for (int step = 0; step < min(count, 2); ++step) {
        load(step);
        store(step);
    }
    if (count > 2) load(2);
    SplitRows x[2];
#pragma unroll 1
    for (int step = 0; step < count; ++step) {
        const std::uint32_t from = base + step % S::stages * S::stage_bytes;
        wgmma::barrier_wait(full(step), parity(step));
        if constexpr (S::splits)
            start_split<S>(from, from + S::source_bytes, warp, lane, x, part);
        else
            start_plain<S>(from, from + S::source_bytes, warp / 4, step % S::steps_a_part == 0, part);
        if (step + 2 < count) store(step + 2);
        if (step + 3 < count) load(step + 3);
        wgmma::products_wait<0>();
        wgmma::hold(part);
        __syncwarp();
        if (lane == 0) wgmma::barrier_arrive(full(step) + 8);
        if (S::steps_a_part == 1 || step % S::steps_a_part == S::steps_a_part - 1 || step + 1 == count)
#pragma unroll
            for (int i = 0; i < S::outputs / 2; ++i) sums[i] += part[i];
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        float* to =
            job.part_row(a, warp * 16 + h * 8 + lane / 4) + job.output_tile * S::outputs + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < S::outputs / 8; ++j)
            *reinterpret_cast<float2*>(to + j * 8) =
                make_float2(sums[j * 4 + h * 2], sums[j * 4 + h * 2 + 1]);
    }
#endif
}

template <class M, Product product, int Outputs, bool QuadsOnly>
void launch_group_shape(const Args& a, unsigned blocks, Stream stream) {
    using S = GroupShape<M, product, Outputs, QuadsOnly>;
    cudaFuncSetAttribute(group_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes);
    launch_dependent(a.early, group_kernel<S>, dim3(blocks), dim3(S::threads), S::shared_bytes, stream, a);
}

template <class M, Product product>
void launch_group_matrix(const Args& a, int outputs, unsigned blocks, Stream stream) {
    constexpr bool wide_singles = !M::narrow, wide_quads = !M::narrow || sizeof(typename M::Data) == 2;
    const bool quads = both_quads(a);
    if constexpr (wide_quads) {
        if (outputs == 128 && quads) return launch_group_shape<M, product, 128, true>(a, blocks, stream);
        if (outputs == 96 && quads) return launch_group_shape<M, product, 96, true>(a, blocks, stream);
    }
    if constexpr (wide_singles) {
        if (outputs == 128) return launch_group_shape<M, product, 128, false>(a, blocks, stream);
        if (outputs == 96) return launch_group_shape<M, product, 96, false>(a, blocks, stream);
    }
    if (quads) return launch_group_shape<M, product, 64, true>(a, blocks, stream);
    launch_group_shape<M, product, 64, false>(a, blocks, stream);
}

}  // namespace convlens::cuda::filter_gradient

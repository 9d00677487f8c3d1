#include "kernels/cuda/convolution/winograd_wgmma.h"

#include <algorithm>

#include "kernels/cuda/convolution/wgmma_instructions.cuh"
#include "kernels/cuda/dependent_launch.cuh"

// Much is unused where the kernel has no body.
#pragma nv_diag_suppress 177

namespace convlens::cuda {
namespace {

using namespace wgmma;

// Two groups of four warps multiply; of a third, which gives registers to them, one lane copies.
constexpr int consumer_warps = 8, threads = 32 * (consumer_warps + 4);
constexpr int rows = static_cast<int>(winograd_tile_rows);
constexpr int row_bytes = 128;

template <int columns_, int stages_, int blocks_>
struct Shape {
    static constexpr int columns = columns_, stages = stages_, blocks = blocks_;
    static constexpr int consumer_registers = blocks == 1 ? 232 : 104;
    static constexpr int copier_registers = blocks == 1 ? 40 : 24;
    static constexpr int a_bytes = rows * row_bytes, part_bytes = columns * row_bytes;
    static constexpr int stage_bytes = a_bytes + 2 * part_bytes;
    static constexpr int barriers_at = stages * stage_bytes;
    static constexpr int shared_bytes = barriers_at + stages * 16 + 1024;  // to begin at a multiple of 1024
};

struct Job {
    const unsigned char* a;
    const unsigned char* b;
    float* d;
    std::int64_t a_position, a_step, b_position, b_step, b_part;  // bytes
    std::int64_t plane;
    int row, tiles, outputs, steps;
    int column_tiles, row_tiles, blocks;
};

template <class S>
struct Ring {
    std::uint32_t base, barriers;
    int stage = 0;
    std::uint32_t round = 0;
    __device__ __forceinline__ std::uint32_t a() const { return base + stage * S::stage_bytes; }
    __device__ __forceinline__ std::uint32_t b() const { return a() + S::a_bytes; }
    __device__ __forceinline__ std::uint32_t full() const { return barriers + stage * 16; }
    __device__ __forceinline__ std::uint32_t empty() const { return full() + 8; }
    __device__ __forceinline__ void next() {
        if (++stage == S::stages) stage = 0, round ^= 1;
    }
};

struct Place {
    int column, row, position;
};
template <class S>
__device__ __forceinline__ Place place_of(const Job& job, int block) {
    const int column = block % job.column_tiles, rest = block / job.column_tiles;
    return {column * S::columns, rest % job.row_tiles * rows, rest / job.row_tiles};
}

// One lane.
template <class S>
__device__ __forceinline__ void produce(const Job& job, Ring<S> ring) {
    for (int block = static_cast<int>(blockIdx.x); block < job.blocks; block += static_cast<int>(gridDim.x)) {
        const Place at = place_of<S>(job, block);
        const unsigned char* a =
            job.a + at.position * job.a_position + static_cast<std::int64_t>(at.row) * row_bytes;
        const unsigned char* b =
            job.b + at.position * job.b_position + static_cast<std::int64_t>(at.column) * row_bytes;
#pragma unroll 1
        for (int step = 0; step < job.steps; ++step, a += job.a_step, b += job.b_step) {
            barrier_wait(ring.empty(), ring.round ^ 1);
            barrier_expect(ring.full(), S::stage_bytes);
            copy_bulk(ring.a(), a, S::a_bytes, ring.full());
            copy_bulk(ring.b(), b, S::part_bytes, ring.full());
            copy_bulk(ring.b() + S::part_bytes, b + job.b_part, S::part_bytes, ring.full());
            ring.next();
        }
    }
}

__device__ __forceinline__ uint4 load_shared(std::uint32_t address) {
    uint4 x;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "r"(address)
                 : "memory");
    return x;
}

// A stage's 32 channels of a warp's 16 rows: four instructions' operands, each in two parts.
struct Fragments {
    std::uint32_t high[4][4], low[4][4];
    __device__ __forceinline__ void load(std::uint32_t a, int lane) {
        const int row = lane / 4;
#pragma unroll
        for (int unit = 0; unit < 2; ++unit) {
            const std::uint32_t at = a + row * row_bytes + (((unit * 4 + lane % 4) ^ (row % 2 * 4)) * 16);
            const uint4 upper = load_shared(at), lower = load_shared(at + 8 * row_bytes);
            const std::uint32_t words[2][4] = {{upper.x, upper.y, upper.z, upper.w},
                                               {lower.x, lower.y, lower.z, lower.w}};
#pragma unroll
            for (int s = 0; s < 2; ++s)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const std::uint32_t word = words[i % 2][2 * s + i / 2];
                    const std::uint32_t top = (word + 0x1000u) & 0xffffe000u;
                    high[2 * unit + s][i] = top;
                    low[2 * unit + s][i] = __float_as_uint(__uint_as_float(word) - __uint_as_float(top));
                }
        }
    }
};

template <class S>
__device__ __forceinline__ void consume(const Job& job, Ring<S> ring, int warp, int lane) {
    constexpr int count = S::columns / 2;
    for (int block = static_cast<int>(blockIdx.x); block < job.blocks; block += static_cast<int>(gridDim.x)) {
        float sums[count];
#pragma unroll
        for (int i = 0; i < count; ++i) sums[i] = 0.0f;
#pragma unroll 1
        for (int step = 0; step < job.steps; ++step) {
            barrier_wait(ring.full(), ring.round);
            Fragments x;
            x.load(ring.a() + warp * 16 * row_bytes, lane);
            const std::uint64_t high = describe<row_bytes>(ring.b());
            const std::uint64_t low = describe<row_bytes>(ring.b() + S::part_bytes);
            float part[count];
            products_begin();
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                multiply<Kind::tf32, S::columns>(part, x.low[k], high + 2 * k, k > 0);
                multiply<Kind::tf32, S::columns>(part, x.high[k], low + 2 * k, 1);
            }
#pragma unroll
            for (int k = 0; k < 4; ++k) multiply<Kind::tf32, S::columns>(part, x.high[k], high + 2 * k, 1);
            products_commit();
            products_wait<0>();
            hold(part);
            __syncwarp();  // all lanes have read their operands of the stage
            if (lane == 0) barrier_arrive(ring.empty());
            ring.next();
#pragma unroll
            for (int i = 0; i < count; ++i) sums[i] += part[i];
        }
        const Place at = place_of<S>(job, block);
        const int row = at.row + warp * 16 + lane / 4, column = at.column + lane % 4 * 2;
        float* to = job.d + at.position * job.plane + static_cast<std::int64_t>(row) * job.row + column;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            if (row + 8 * half >= job.tiles) break;
#pragma unroll
            for (int j = 0; j < S::columns / 8; ++j)
                if (column + 8 * j < job.outputs)
                    *reinterpret_cast<float2*>(to + 8 * half * job.row + 8 * j) =
                        make_float2(sums[4 * j + 2 * half], sums[4 * j + 2 * half + 1]);
        }
    }
}

template <class S>
__global__ void __launch_bounds__(threads, S::blocks) products_kernel(const __grid_constant__ Job job) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ unsigned char unaligned[];
    const std::uint32_t shared = (shared_address(unaligned) + 1023) / 1024 * 1024;
    const Ring<S> ring{shared, shared + S::barriers_at};
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
    let_next_kernel_start();
    if (threadIdx.x == 0) {
        for (int i = 0; i < S::stages; ++i) {
            barrier_init(ring.barriers + i * 16, 1);
            barrier_init(ring.barriers + i * 16 + 8, consumer_warps);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    if (warp < consumer_warps) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(S::consumer_registers));
        consume<S>(job, ring, warp, lane);
    } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(S::copier_registers));
        if (warp == consumer_warps && lane == 0) {
            wait_for_previous_kernel();
            produce<S>(job, ring);
        }
    }
#endif
}

template <class S>
void start(const WinogradProducts& p, Stream stream) {
    const std::int64_t steps = (p.channels + winograd_stage_channels - 1) / winograd_stage_channels;
    const std::int64_t padded = (p.outputs + S::columns - 1) / S::columns * S::columns;
    Job job{};
    job.a = reinterpret_cast<const unsigned char*>(p.transformed);
    job.b = reinterpret_cast<const unsigned char*>(p.filter);
    job.d = p.products;
    job.a_step = p.tile_rows * row_bytes;
    job.a_position = steps * job.a_step;
    job.b_part = padded * row_bytes;
    job.b_step = 2 * job.b_part;
    job.b_position = steps * job.b_step;
    job.plane = p.plane;
    job.row = static_cast<int>(p.row);
    job.tiles = static_cast<int>(p.tiles);
    job.outputs = static_cast<int>(p.row);
    job.steps = static_cast<int>(steps);
    job.column_tiles = static_cast<int>(padded / S::columns);
    job.row_tiles = static_cast<int>((p.tiles + rows - 1) / rows);
    job.blocks = static_cast<int>(p.positions * job.column_tiles * job.row_tiles);
    auto* function = products_kernel<S>;
    cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes);
    const int grid = std::min(job.blocks, S::blocks * p.multiprocessors);
    launch_dependent(true, function, dim3(static_cast<unsigned>(grid)), dim3(threads), S::shared_bytes,
                     stream, job);
}

}  // namespace

bool winograd_has_wgmma(const DeviceTraits& traits) {
    if (traits.major != 9 || traits.minor != 0) return false;
    cudaFuncAttributes attributes{};
    if (cudaFuncGetAttributes(&attributes, products_kernel<Shape<128, 4, 1>>) != cudaSuccess) {
        cudaGetLastError();
        return false;
    }
    // What the driver compiles of older code has no body.
    return attributes.binaryVersion == 90 && attributes.ptxVersion == 90;
}

std::int64_t winograd_filter_slot(std::int64_t k, std::int64_t channel) {
    // Of 16 channels a thread holds four neighbours; each of two instructions takes two of them as its
    // columns t and t + 4.
    const std::int64_t unit = channel / 16, thread = channel % 16 / 4, s = channel % 4 / 2,
                       half = channel % 2;
    const std::int64_t slot = unit * 16 + s * 8 + half * 4 + thread;
    return (slot / 4 ^ k % 8) * 4 + slot % 4;
}

void winograd_products(const WinogradProducts& products, Stream stream) {
    if (products.columns == 64)
        start<Shape<64, 3, 2>>(products, stream);
    else
        start<Shape<128, 4, 1>>(products, stream);
}

}  // namespace convlens::cuda

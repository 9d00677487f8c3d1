// Kinds of arithmetic of the tensor cores: fragments as lanes hold them, and their products.
//
// x: row l / 4 and row l / 4 + 8 of 16 rows, chunk l % 4 of a unit; y: chunk l % 4 of output l / 4. Step s of
// a chunk gives the instruction words 2s and 2s+1 of both: its order of k, the same on both sides, does not
// matter.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace convlens::cuda::mma {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define CONVLENS_SM80_ASM(...)
#else
#define CONVLENS_SM80_ASM(...) asm volatile(__VA_ARGS__)
#endif

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}
// Writes zeros unless `inside`.
__device__ __forceinline__ void copy_async_16(void* to, const void* from, bool inside) {
    CONVLENS_SM80_ASM("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
                      "r"(inside ? 16 : 0)
                      : "memory");
}
__device__ __forceinline__ void copy_async_4(void* to, const void* from, bool inside) {
    CONVLENS_SM80_ASM("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from),
                      "r"(inside ? 4 : 0)
                      : "memory");
}
__device__ __forceinline__ void copy_async_commit() {
    CONVLENS_SM80_ASM("cp.async.commit_group;" ::: "memory");
}
template <int Pending>
__device__ __forceinline__ void copy_async_wait() {
    CONVLENS_SM80_ASM("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

// To nearest, ties away from zero; NaN stays NaN.
__device__ __forceinline__ std::uint32_t tf32_bits(float x) {
    std::uint32_t bits = 0;
    CONVLENS_SM80_ASM("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

__device__ __forceinline__ void mma_tf32(float (&d)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                                         std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
    CONVLENS_SM80_ASM(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
template <bool BFloat>
__device__ __forceinline__ void mma_16(float (&d)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                                       std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
    if constexpr (BFloat)
        CONVLENS_SM80_ASM(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
            "{%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    else
        CONVLENS_SM80_ASM(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
            "{%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// 16 bytes a lane as they lie in memory.
struct Words {
    std::uint32_t at[4];
    __device__ __forceinline__ void set(uint4 v) { at[0] = v.x, at[1] = v.y, at[2] = v.z, at[3] = v.w; }
    __device__ __forceinline__ void read(const unsigned char* block, int lane) {
        set(*reinterpret_cast<const uint4*>(block + lane * 16));
    }
};

struct Tf32 {
    using Element = float;
    using Value = float;
    static constexpr int filter_block = 512, depth = 2, stages = 3, blocks_an_sm = 2;
    using Filter = Words;
    struct Source {
        std::uint32_t low_row[4], high_row[4];
        __device__ __forceinline__ void read(uint4 a, uint4 b) {
            Words x, z;
            x.set(a), z.set(b);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                low_row[i] = tf32_bits(__uint_as_float(x.at[i]));
                high_row[i] = tf32_bits(__uint_as_float(z.at[i]));
            }
        }
    };
    template <int N>
    static __device__ __forceinline__ void multiply(const Source& x, const Filter (&y)[N],
                                                    float (&sums)[N][4]) {
#pragma unroll
        for (int s = 0; s < 4; s += 2)
#pragma unroll
            for (int j = 0; j < N; ++j)
                mma_tf32(sums[j], x.low_row[s], x.high_row[s], x.low_row[s + 1], x.high_row[s + 1],
                         y[j].at[s], y[j].at[s + 1]);
    }
};

struct SplitTf32 {
    using Element = float;
    using Value = float;
    static constexpr int filter_block = 1024, depth = 1, stages = 4, blocks_an_sm = 1;
    struct Filter {
        Words high, low;
        __device__ __forceinline__ void read(const unsigned char* block, int lane) {
            high.read(block, lane);
            low.read(block + 512, lane);
        }
    };
    struct Source {
        std::uint32_t high[2][4], low[2][4];
        __device__ __forceinline__ void read(uint4 a, uint4 b) {
            Words x[2];
            x[0].set(a), x[1].set(b);
#pragma unroll
            for (int r = 0; r < 2; ++r)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const float value = __uint_as_float(x[r].at[i]);
                    high[r][i] = tf32_bits(value);
                    // The instruction drops the bits below TF32: at most one of them is set.
                    low[r][i] = __float_as_uint(value - __uint_as_float(high[r][i]));
                }
        }
    };
    template <int N>
    static __device__ __forceinline__ void multiply(const Source& x, const Filter (&y)[N],
                                                    float (&sums)[N][4]) {
        float part[N][4] = {};
#pragma unroll
        for (int s = 0; s < 4; s += 2) {
#pragma unroll
            for (int j = 0; j < N; ++j)
                mma_tf32(part[j], x.low[0][s], x.low[1][s], x.low[0][s + 1], x.low[1][s + 1], y[j].high.at[s],
                         y[j].high.at[s + 1]);
#pragma unroll
            for (int j = 0; j < N; ++j)
                mma_tf32(part[j], x.high[0][s], x.high[1][s], x.high[0][s + 1], x.high[1][s + 1],
                         y[j].low.at[s], y[j].low.at[s + 1]);
        }
#pragma unroll
        for (int s = 0; s < 4; s += 2)
#pragma unroll
            for (int j = 0; j < N; ++j)
                mma_tf32(part[j], x.high[0][s], x.high[1][s], x.high[0][s + 1], x.high[1][s + 1],
                         y[j].high.at[s], y[j].high.at[s + 1]);
#pragma unroll
        for (int j = 0; j < N; ++j)
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[j][i] += part[j][i];
    }
};

// Two f32 as one word of 16-bit floats, the first in the low half.
template <bool BFloat>
__device__ __forceinline__ std::uint32_t pair_16(std::uint32_t first, std::uint32_t second) {
    std::uint32_t word = 0;
    if constexpr (BFloat)
        CONVLENS_SM80_ASM("cvt.rn.bf16x2.f32 %0, %1, %2;"
                          : "=r"(word)
                          : "f"(__uint_as_float(second)), "f"(__uint_as_float(first)));
    else
        CONVLENS_SM80_ASM("cvt.rn.f16x2.f32 %0, %1, %2;"
                          : "=r"(word)
                          : "f"(__uint_as_float(second)), "f"(__uint_as_float(first)));
    return word;
}

// f32 in memory, rounded to 16 bits on the way: a chunk has 4 elements, one instruction a unit.
template <bool BFloat>
struct Rounded16 {
    using Element = float;
    using Value = float;
    static constexpr int filter_block = 256, depth = 2, stages = 3, blocks_an_sm = 2;
    struct Filter {
        std::uint32_t at[2];
        __device__ __forceinline__ void read(const unsigned char* block, int lane) {
            const uint2 v = *reinterpret_cast<const uint2*>(block + lane * 8);
            at[0] = v.x, at[1] = v.y;
        }
    };
    struct Source {
        std::uint32_t low_row[2], high_row[2];
        __device__ __forceinline__ void read(uint4 a, uint4 b) {
            low_row[0] = pair_16<BFloat>(a.x, a.y), low_row[1] = pair_16<BFloat>(a.z, a.w);
            high_row[0] = pair_16<BFloat>(b.x, b.y), high_row[1] = pair_16<BFloat>(b.z, b.w);
        }
    };
    template <int N>
    static __device__ __forceinline__ void multiply(const Source& x, const Filter (&y)[N],
                                                    float (&sums)[N][4]) {
#pragma unroll
        for (int j = 0; j < N; ++j)
            mma_16<BFloat>(sums[j], x.low_row[0], x.high_row[0], x.low_row[1], x.high_row[1], y[j].at[0],
                           y[j].at[1]);
    }
};

// 16-bit tensors: a chunk has 8 elements, two instructions a unit.
template <bool BFloat>
struct Own16 {
    using Element = std::uint16_t;
    using Value = std::conditional_t<BFloat, __nv_bfloat16, __half>;
    static constexpr int filter_block = 512, depth = 2, stages = 3, blocks_an_sm = 2;
    using Filter = Words;
    struct Source {
        Words low_row, high_row;
        __device__ __forceinline__ void read(uint4 a, uint4 b) { low_row.set(a), high_row.set(b); }
    };
    template <int N>
    static __device__ __forceinline__ void multiply(const Source& x, const Filter (&y)[N],
                                                    float (&sums)[N][4]) {
#pragma unroll
        for (int s = 0; s < 4; s += 2)
#pragma unroll
            for (int j = 0; j < N; ++j)
                mma_16<BFloat>(sums[j], x.low_row.at[s], x.high_row.at[s], x.low_row.at[s + 1],
                               x.high_row.at[s + 1], y[j].at[s], y[j].at[s + 1]);
    }
};

}  // namespace convlens::cuda::mma

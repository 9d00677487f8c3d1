// Hopper's instructions that the kernels of wgmma_convolution.h are made of: barriers, bulk copies, products.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/cuda/convolution/mma_operands.cuh"

namespace convlens::cuda::wgmma {

using mma::shared_address;

__device__ __forceinline__ void barrier_init(std::uint32_t barrier, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
__device__ __forceinline__ void barrier_expect(std::uint32_t barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
    std::uint32_t done = 0;
    while (!done)
        asm volatile(
            "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.b32 %0, 1, 0, p;\n}"
            : "=r"(done)
            : "r"(barrier), "r"(parity)
            : "memory");
}

// `bytes` from global to shared memory, both multiples of 16.
__device__ __forceinline__ void copy_bulk(std::uint32_t to, const void* from, int bytes, std::uint32_t barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}
// Rows of windows from cell (n, h, w) on, of the tap at (h_offset, w_offset), channels from c on.
__device__ __forceinline__ void copy_im2col(std::uint32_t to, const CUtensorMap* map, int c, int w, int h, int n,
                                            int w_offset, int h_offset, std::uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, "
        "%5}], [%6], {%7, %8};" ::"r"(to),
        "l"(map), "r"(c), "r"(w), "r"(h), "r"(n), "r"(barrier), "h"(static_cast<std::uint16_t>(w_offset)),
        "h"(static_cast<std::uint16_t>(h_offset))
        : "memory");
}

// A box of a tensor of 5 axes.
__device__ __forceinline__ void copy_box(std::uint32_t to, const CUtensorMap* map, int x, int w, int r, int h, int n,
                                         std::uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5, "
        "%6}], [%7];" ::"r"(to),
        "l"(map), "r"(x), "r"(w), "r"(r), "r"(h), "r"(n), "r"(barrier)
        : "memory");
}

__device__ __forceinline__ void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// What lies in another block's shared memory where `address` is in this one's.
__device__ __forceinline__ float4 load_of_block(std::uint32_t address, int block) {
    std::uint32_t there = 0;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
    float4 value;
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
                 : "r"(there)
                 : "memory");
    return value;
}

__device__ __forceinline__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Pending>
__device__ __forceinline__ void products_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}
// Keeps the compiler from moving accesses to registers that a product still uses.
template <int Count>
__device__ __forceinline__ void hold(float (&registers)[Count]) {
#pragma unroll
    for (int i = 0; i < Count; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}

// A matrix in shared memory whose rows of 128 (or 64) bytes lie in groups of 8, their chunks swizzled.
template <int RowBytes>
__device__ __forceinline__ std::uint64_t describe(std::uint32_t address) {
    constexpr std::uint64_t pattern = RowBytes == 128 ? 1 : 2;
    return static_cast<std::uint64_t>((address & 0x3ffffu) >> 4) | std::uint64_t{1} << 16 |
           static_cast<std::uint64_t>(RowBytes * 8 / 16) << 32 | pattern << 62;
}

enum class Kind { tf32, fp16, bf16 };

// sums = x y + (add ? sums : 0) for 64 rows, N columns and 32 bytes of k; x in shared memory or in registers, y in
// shared memory.
// clang-format off
#define CONVLENS_WGMMA_S32(SHAPE, TAIL)                                                                   \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\n"                                             \
        "wgmma.mma_async.sync.aligned.m64n32" SHAPE " {"                                                  \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15 "                           \
        "}, %16, %17, p, " TAIL ";\n}"                                                                    \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),        \
          "+f"(d[15])                                                                                     \
        : "l"(x), "l"(y), "r"(add))
#define CONVLENS_WGMMA_R32(SHAPE, TAIL)                                                                   \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\n"                                             \
        "wgmma.mma_async.sync.aligned.m64n32" SHAPE " {"                                                  \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15 "                           \
        "}, {%16, %17, %18, %19}, %20, p, " TAIL ";\n}"                                                   \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),        \
          "+f"(d[15])                                                                                     \
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y), "r"(add))
#define CONVLENS_WGMMA_S64(SHAPE, TAIL)                                                                   \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"                                             \
        "wgmma.mma_async.sync.aligned.m64n64" SHAPE " {"                                                  \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "      \
        "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31 "                                     \
        "}, %32, %33, p, " TAIL ";\n}"                                                                    \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),        \
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),      \
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),      \
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31])                                                           \
        : "l"(x), "l"(y), "r"(add))
#define CONVLENS_WGMMA_R64(SHAPE, TAIL)                                                                   \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"                                             \
        "wgmma.mma_async.sync.aligned.m64n64" SHAPE " {"                                                  \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "      \
        "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31 "                                     \
        "}, {%32, %33, %34, %35}, %36, p, " TAIL ";\n}"                                                   \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),        \
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),      \
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),      \
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31])                                                           \
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y), "r"(add))
#define CONVLENS_WGMMA_S96(SHAPE, TAIL)                                                                   \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %50, 0;\n"                                             \
        "wgmma.mma_async.sync.aligned.m64n96" SHAPE " {"                                                  \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "      \
        "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "      \
        "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47 "                                               \
        "}, %48, %49, p, " TAIL ";\n}"                                                                    \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),        \
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),      \
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),      \
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),      \
          "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]),      \
          "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])                                 \
        : "l"(x), "l"(y), "r"(add))
#define CONVLENS_WGMMA_R96(SHAPE, TAIL)                                                                   \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %53, 0;\n"                                             \
        "wgmma.mma_async.sync.aligned.m64n96" SHAPE " {"                                                  \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "      \
        "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "      \
        "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47 "                                               \
        "}, {%48, %49, %50, %51}, %52, p, " TAIL ";\n}"                                                   \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),        \
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),      \
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),      \
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),      \
          "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]),      \
          "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])                                 \
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y), "r"(add))
#define CONVLENS_WGMMA_S128(SHAPE, TAIL)                                                                  \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"                                             \
        "wgmma.mma_async.sync.aligned.m64n128" SHAPE " {"                                                 \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "      \
        "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "      \
        "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "      \
        "%56, %57, %58, %59, %60, %61, %62, %63 "                                                         \
        "}, %64, %65, p, " TAIL ";\n}"                                                                    \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),        \
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),      \
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),      \
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),      \
          "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]),      \
          "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]),      \
          "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),      \
          "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])       \
        : "l"(x), "l"(y), "r"(add))
#define CONVLENS_WGMMA_R128(SHAPE, TAIL)                                                                  \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"                                             \
        "wgmma.mma_async.sync.aligned.m64n128" SHAPE " {"                                                 \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "      \
        "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "      \
        "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "      \
        "%56, %57, %58, %59, %60, %61, %62, %63 "                                                         \
        "}, {%64, %65, %66, %67}, %68, p, " TAIL ";\n}"                                                   \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),        \
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),      \
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),      \
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),      \
          "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]),      \
          "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]),      \
          "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),      \
          "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])       \
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y), "r"(add))
// clang-format on

template <Kind kind, int N>
__device__ __forceinline__ void multiply(float (&d)[N / 2], std::uint64_t x, std::uint64_t y, int add) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define CONVLENS_WGMMA(COLUMNS)                                             \
    if constexpr (N == COLUMNS) {                                           \
        if constexpr (kind == Kind::tf32)                                   \
            CONVLENS_WGMMA_S##COLUMNS("k8.f32.tf32.tf32", "1, 1");          \
        else if constexpr (kind == Kind::fp16)                              \
            CONVLENS_WGMMA_S##COLUMNS("k16.f32.f16.f16", "1, 1, 0, 0");     \
        else                                                                \
            CONVLENS_WGMMA_S##COLUMNS("k16.f32.bf16.bf16", "1, 1, 0, 0");   \
    }
    CONVLENS_WGMMA(32) CONVLENS_WGMMA(64) CONVLENS_WGMMA(96) CONVLENS_WGMMA(128)
#undef CONVLENS_WGMMA
#endif
}

template <Kind kind, int N>
__device__ __forceinline__ void multiply(float (&d)[N / 2], const std::uint32_t (&x)[4], std::uint64_t y, int add) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define CONVLENS_WGMMA(COLUMNS)                                          \
    if constexpr (N == COLUMNS) {                                        \
        if constexpr (kind == Kind::tf32)                                \
            CONVLENS_WGMMA_R##COLUMNS("k8.f32.tf32.tf32", "1, 1");       \
        else if constexpr (kind == Kind::fp16)                           \
            CONVLENS_WGMMA_R##COLUMNS("k16.f32.f16.f16", "1, 1, 0");     \
        else                                                             \
            CONVLENS_WGMMA_R##COLUMNS("k16.f32.bf16.bf16", "1, 1, 0");   \
    }
    CONVLENS_WGMMA(32) CONVLENS_WGMMA(64) CONVLENS_WGMMA(96) CONVLENS_WGMMA(128)
#undef CONVLENS_WGMMA
#endif
}

}  // namespace convlens::cuda::wgmma

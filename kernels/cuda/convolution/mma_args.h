// What the kernels of mma_convolution.h take, and the table of their tiles (inside those files only).
#pragma once

#include "kernels/cuda/convolution/mma_convolution.h"

namespace convlens::cuda::mma {

// Where one k lies: offset from the first element of a row's window, and its place in the window.
struct ElementPlace {
    std::int64_t offset;
    std::int32_t d, h, w, unused;
};
// The same for 16 bytes of k; two spatial axes.
struct ChunkPlace {
    std::int64_t offset;
    std::int32_t h, w;
};
// A place that is outside of every src.
inline constexpr std::int32_t outside = 1 << 30;

struct ConvolutionTile {
    int m, n, threads;
};
// Rows of the table, the same for all kinds of arithmetic.
inline constexpr ConvolutionTile tiles[] = {
    {128, 128, 256}, {128, 96, 256}, {128, 64, 256}, {64, 64, 128}, {128, 32, 128},
};
inline constexpr int tile_count = 5;

// Where dst's elements lie and what is done to a sum; shared with the kernel that adds the parts of k.
struct Epilogue {
    const void* bias;
    const void* residual;
    void* dst;
    float* parts;  // null: finished values are written
    std::int64_t rows;
    std::int64_t outputs;  // K, all groups
    std::int64_t stride_n, stride_k, stride_d, stride_h, stride_w;
    std::int32_t dst_d, dst_h, dst_w;
    bool wide;  // 4 outputs may be stored at once
    Activation activation;
    float alpha, beta;  // of the sum and of the residual
};

inline bool is_aligned(const void* pointer, std::int64_t bytes) {
    return reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(bytes) == 0;
}

inline Epilogue epilogue_of(const ConvolutionGeometry& g, ElementType type,
                            const TensorCoreOperands& operands) {
    const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    const auto four = 4 * static_cast<std::int64_t>(size_of(type));
    Epilogue e;
    e.bias = operands.bias, e.residual = operands.residual, e.dst = operands.dst, e.parts = nullptr;
    e.rows = g.batch * g.dst_cells();
    e.outputs = g.outputs;
    const Strides5& s = g.dst_strides;
    e.stride_n = s[0], e.stride_k = s[1], e.stride_d = s[2], e.stride_h = s[3], e.stride_w = s[4];
    e.dst_d = narrow(g.dst[0]), e.dst_h = narrow(g.dst[1]), e.dst_w = narrow(g.dst[2]);
    e.wide =
        s[1] == 1 && g.outputs / g.groups % 4 == 0 && is_aligned(e.dst, four) && is_aligned(e.residual, four);
    const std::int64_t lengths[] = {g.batch, g.dst[0], g.dst[1], g.dst[2]};
    const std::int64_t strides[] = {s[0], s[2], s[3], s[4]};
    for (int i = 0; i < 4; ++i) e.wide = e.wide && (lengths[i] == 1 || strides[i] % 4 == 0);
    e.activation = operands.activation;
    e.alpha = operands.alpha, e.beta = operands.beta;
    return e;
}

struct Args {
    const void* src;
    const void* filter;
    const ElementPlace* elements;
    const ChunkPlace* chunks;
    std::int64_t stride_n, stride_d, stride_h, stride_w, stride_group;
    std::int32_t src_d, src_h, src_w;
    std::int32_t step_d, step_h, step_w, pad_d, pad_h, pad_w;
    std::int32_t group_outputs, blocks_n8, tiles_n, units, splits;
    Epilogue epilogue;
};

// One for each kind of arithmetic and element type, in files of their own.
using Launch = void (*)(const Args& args, int tile, bool vector, unsigned grid_x, unsigned groups,
                        Stream stream);
void launch_tf32(const Args&, int, bool, unsigned, unsigned, Stream);
void launch_split_tf32(const Args&, int, bool, unsigned, unsigned, Stream);
void launch_fp16(const Args&, int, bool, unsigned, unsigned, Stream);
void launch_bf16(const Args&, int, bool, unsigned, unsigned, Stream);
void launch_half(const Args&, int, bool, unsigned, unsigned, Stream);
void launch_bfloat16(const Args&, int, bool, unsigned, unsigned, Stream);
// Adds the parts of k.
void launch_reduce(const Epilogue& epilogue, ElementType type, int splits, Stream stream);

}  // namespace convlens::cuda::mma

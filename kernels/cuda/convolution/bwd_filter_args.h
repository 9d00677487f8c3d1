// What the kernels of bwd_filter.h take (inside those files only).
#pragma once

#include "kernels/cuda/convolution/bwd_filter.h"
#include "kernels/cuda/fast_division.h"

namespace convlens::cuda::filter_gradient {

inline constexpr int tile_rows = 128;
// A place that is outside of every axis, also when an offset within a window or a pad is added.
inline constexpr std::int32_t outside = 1 << 30;

// Where a cell t of dy leads to: offsets in bytes, of the first tap in src and of dy; its place in src.
struct alignas(16) SourceCell {
    std::int64_t offset;
    std::int32_t h, w;
};
struct alignas(16) DiffCell {
    std::int64_t offset;
    std::int32_t away;  // 0, or `outside` where there is no such cell
    std::int32_t d;     // of src
};
struct Cell {
    SourceCell source;
    DiffCell diff;
};

// How an operand's elements are loaded.
enum class Access : std::uint8_t {
    quads,        // 4 rows at once
    along_cells,  // one at a time, neighbouring threads along t
    along_rows,   // one at a time, neighbouring threads along the rows
};

// Where rows and outputs lie in dst.
struct Finish {
    void* dst;
    const float* parts;
    std::int64_t padded_rows, padded_outputs;
    std::int64_t rows, outputs, groups;
    std::int64_t stride_k, stride_c, stride_d, stride_h, stride_w;
    FastDivision channels, taps, window_h, window_w;  // of a group; channels may be padded
    std::int32_t real_channels;
    // A row of the window lies in the place of channels: (tap, channel); else null.
    bool folded;
    FastDivision fold;  // channels of a tap
    // Bits of the largest magnitudes, of each channel and of each output, by which operands were scaled; or
    // null.
    const unsigned* src_largest;
    const unsigned* diff_largest;
    std::int32_t window[3];
    bool channels_inner, flipped;
    int splits;
    float alpha, beta;
    ElementType type;
    bool early;  // see kernels/cuda/dependent_launch.cuh
};

struct Args {
    const unsigned char* src;
    const unsigned char* diff;
    float* parts;
    const Cell* table;  // null: computed
    FastDivision dst_w, dst_h, dst_d, image;
    std::int64_t cells;
    std::int32_t steps, splits, row_tiles, output_tiles;
    std::int32_t size_d, size_h, size_w;  // of src
    std::int32_t step_d, step_h, step_w, pad_d, pad_h, pad_w;
    std::int32_t dilation_d, dilation_h, dilation_w;
    // In bytes.
    std::int64_t src_n, src_c, src_d, src_h, src_w, src_group;
    std::int64_t diff_n, diff_k, diff_d, diff_h, diff_w, diff_group;
    Access src_access, diff_access;
    bool deep;    // more than two axes
    bool atomic;  // sums go to dst
    bool early;   // see kernels/cuda/dependent_launch.cuh
    Finish finish;
};

// One for each engine, kind of arithmetic and element type, in files of their own. False: no such tile.
void launch_fma(const Args&, ElementType type, unsigned blocks, Stream);
void launch_mma_tf32(const Args&, int outputs, unsigned blocks, Stream);
void launch_mma_split_tf32(const Args&, int outputs, unsigned blocks, Stream);
void launch_mma_fp16(const Args&, ElementType type, int outputs, unsigned blocks, Stream);
void launch_mma_bf16(const Args&, ElementType type, int outputs, unsigned blocks, Stream);
void launch_wgmma_tf32(const Args&, int outputs, unsigned blocks, Stream);
void launch_wgmma_split_tf32(const Args&, int outputs, unsigned blocks, Stream);
void launch_wgmma_fp16(const Args&, ElementType type, int outputs, unsigned blocks, Stream);
void launch_wgmma_bf16(const Args&, ElementType type, int outputs, unsigned blocks, Stream);

// All but parts, table, finish and output_tiles.
Args bwd_filter_args(const BwdFilter& params, const void* src, const void* diff);
// Products and their sum, which `finish` writes; workspace as that of bwd_filter().
void bwd_filter_products(const BwdFilter& params, const Finish& finish, const void* src, const void* diff,
                         void* workspace, Stream stream);

// Rows, outputs and their padding are those of a group; callers with other products change them.
inline Finish finish_of(const BwdFilterParams& problem, void* dst, const float* parts, int splits,
                        bool early) {
    const ConvolutionGeometry& g = problem.geometry;
    const Strides5& s = problem.filter_strides;
    Finish f;
    f.dst = dst, f.parts = parts;
    f.padded_rows = f.rows = g.channels / g.groups * g.taps();
    f.padded_outputs = f.outputs = g.outputs / g.groups;
    f.groups = g.groups;
    f.stride_k = s[0], f.stride_c = s[1], f.stride_d = s[2], f.stride_h = s[3], f.stride_w = s[4];
    f.channels = FastDivision(g.channels / g.groups);
    f.real_channels = static_cast<std::int32_t>(g.channels / g.groups);
    f.taps = FastDivision(g.taps());
    f.window_h = FastDivision(g.window[1]), f.window_w = FastDivision(g.window[2]);
    for (std::size_t i = 0; i < 3; ++i) f.window[i] = static_cast<std::int32_t>(g.window[i]);
    f.channels_inner = true, f.flipped = g.flipped;
    f.folded = false;
    f.src_largest = f.diff_largest = nullptr;
    f.splits = splits, f.early = early;
    f.alpha = problem.alpha, f.beta = problem.beta;
    f.type = problem.dst_type;
    return f;
}

void launch_table(const Args&, Cell* table, Stream);
void launch_finish(const Finish&, Stream);
// dst = beta * dst, for sums that are added to it.
void launch_scale(const Finish&, Stream);

}  // namespace convlens::cuda::filter_gradient

// What the kernels of wgmma_convolution.h take, and the table of their tiles (inside those files only).
#pragma once

#include "kernels/cuda/convolution/mma_args.h"
#include "kernels/cuda/convolution/wgmma_convolution.h"

struct CUtensorMap_st;

namespace convlens::cuda::wgmma {

using mma::Epilogue;

struct WgmmaTile {
    int m, n;
};
inline constexpr WgmmaTile tiles[] = {{256, 128}, {128, 128}, {128, 96}, {128, 64}, {128, 32}};
inline constexpr int tile_count = 5;
// Split sums need twice the registers.
constexpr bool tile_exists(int tile, MmaMath math) { return tile > 0 || math != MmaMath::split_tf32; }

struct Args {
    const unsigned char* filter;
    std::int32_t steps, splits, tiles_n, blocks_n8;
    std::int32_t channel_steps;  // of one tap, or of one row of the window
    std::int32_t window_w, dilation_h, dilation_w;
    std::int32_t step_h, step_w, pad_h, pad_w;
    std::int32_t outputs;
    // Tiles of src in runs: cells in a row of dst, and tiles in a row and a column of dst; 0: tiles of 1
    // axis.
    std::int32_t tile_w, tiles_w, tiles_h;
    Epilogue epilogue;
};

// How the filter lies: rows of 128 bytes (64 where f32 became 16 bits) of one step and 8 outputs, whose
// 16-byte chunks are moved by the pattern that the tensor core expects, and the order of k within a row.
struct FilterLayout {
    int elements;    // of k in a row
    int row_bytes;   // 128 or 64
    int bytes;       // of one element
    bool reordered;  // k is permuted to what registers that were loaded 16 bytes at a time hold
    bool split;      // low parts behind the high parts of a step
};

CONVLENS_HD constexpr FilterLayout filter_layout(ElementType type, MmaMath math) {
    if (type != ElementType::f32) return {64, 128, 2, false, false};
    if (math == MmaMath::tf32) return {32, 128, 4, false, false};
    if (math == MmaMath::split_tf32) return {32, 128, 4, true, true};
    return {32, 64, 2, true, false};
}

CONVLENS_HD constexpr std::int64_t step_bytes(const FilterLayout& l, std::int64_t blocks_n8) {
    return blocks_n8 * 8 * l.row_bytes * (l.split ? 2 : 1);
}

// Byte of element k of the row of output n, from the begin of the step's high parts.
CONVLENS_HD constexpr std::int64_t filter_byte(const FilterLayout& l, std::int64_t n, int k) {
    int place = k;
    if (l.reordered) {
        // Of 16 k, lane t loads 4t to 4t+3.
        const int unit = k / 16, t = k % 16 / 4, j = k % 4;
        // TF32: two instructions of 8 k, each with k = t and t + 4 in lane t; 16 bits: one of 16, with pairs.
        place = unit * 16 + (l.bytes == 4 ? j / 2 * 8 + j % 2 * 4 + t : j / 2 * 8 + t * 2 + j % 2);
    }
    const int byte = place * l.bytes, row = static_cast<int>(n % 8);
    const int chunk = byte / 16 ^ (l.row_bytes == 128 ? row : row / 2);
    return n * l.row_bytes + chunk * 16 + byte % 16;
}

// Copies src to `staged`: [n][h][w][c], zeros outside.
struct Stage {
    const void* src;
    void* staged;
    std::int64_t stride_n, stride_c, stride_h, stride_w;
    std::int64_t cells;  // n x h x w
    std::int32_t src_c, src_h, src_w, c, h, w, pad_h, pad_w;
};
void launch_stage(const WgmmaConvolution& params, const void* src, void* staged, Stream stream);
// src: where the tiles are read from. False where the driver has or takes no such map.
bool make_map(const WgmmaConvolution& params, const void* src, CUtensorMap_st& map);

void launch_tf32(const Args&, const CUtensorMap_st&, int tile, unsigned grid_x, Stream);
void launch_split_tf32(const Args&, const CUtensorMap_st&, int tile, unsigned grid_x, Stream);
void launch_fp16(const Args&, const CUtensorMap_st&, int tile, unsigned grid_x, Stream);
void launch_bf16(const Args&, const CUtensorMap_st&, int tile, unsigned grid_x, Stream);
void launch_half(const Args&, const CUtensorMap_st&, int tile, unsigned grid_x, Stream);
void launch_bfloat16(const Args&, const CUtensorMap_st&, int tile, unsigned grid_x, Stream);

}  // namespace convlens::cuda::wgmma

// The filter's gradient as a product whose matrices are never stored: for each tap, rows are channels of x,
// columns outputs of dy, and the common index runs over the output's cells.
//
// Lines of both sources are packed (converted, with their pads) into blocks of channels and panels of outputs
// as wide as a register tile; a window's row of packed x is then a contiguous row of the left matrix for each
// cell, so that all taps read the same packed lines. A source that few tiles read and whose cells are such
// rows already is not packed. Any rank up to three, strides, pads, dilations, groups and layouts. Host
// memory; x and dy f32, f16 or bf16, sums in f32.
//
// The cells are cut into chunks whose packed lines stay in the second cache. Two ways to share the work:
//   tiles   all threads pack a chunk, then each takes tiles of dw.  For large filters.
//   split   dw is small: each split sums its own chunks into its own copy of dw; copies are added in order.
// Chunks and splits depend on the problem alone, so the bits don't depend on the number of threads.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "kernels/cpu/convolution/filter_gradient.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

// What a plan knows: a value without pointers.
struct BwdFilterGemm {
    BwdFilterParams gradient;
    bool exchanged = false;           // src and diff, K and C have exchanged their roles in `gradient`
    std::int64_t group_distance = 0;  // in dst, from one group to the next
    std::int64_t block = 0;           // channels of a block
    std::int64_t blocks = 0;          // of a group
    std::int64_t panel = 0;           // outputs of a panel
    std::int64_t panels = 0;          // of a group
    // For D H W: packed places are each window's own, instead of all under the windows.
    std::array<bool, 3> apart{};
    // Images and output cells of a chunk, and chunks along each of these axes: N, then D H W.
    std::array<std::int64_t, 4> chunk{}, chunks{};
    std::int64_t splits = 0;  // 0: by tiles
    // Read where it lies: packing would cost more than it gives.
    bool src_in_place = false, dst_in_place = false;
    int slots = 1;                                // threads that the workspace is for
    std::int64_t src_floats = 0, dst_floats = 0;  // a packed chunk
    std::int64_t task_floats = 0;                 // sums of one block and panel, all taps
    std::size_t workspace_bytes = 0;

    std::int64_t tasks() const { return gradient.geometry.groups * panels * blocks; }
    std::int64_t chunk_count() const { return chunks[0] * chunks[1] * chunks[2] * chunks[3]; }
};

// Nothing when the workspace leaves 62 bits.
std::optional<BwdFilterGemm> bwd_filter_gemm_params(const BwdFilterParams& params, int threads);
// The same for a window of one cell that never reads a pad, where src and diff may exchange their roles, so
// that vectors lie along the longer of C and K.
std::optional<BwdFilterGemm> bwd_filter_pointwise_params(const BwdFilterParams& params, int threads);

// Operations of the products: channels and outputs are rounded up to whole blocks and vectors.
double bwd_filter_gemm_operations(const BwdFilterGemm& params);

// Entries of the table that the precomputed form reads instead of computing: for the axes D and H, each
// output and tap, the source's place or -1. 0 when that leaves 63 bits.
std::size_t bwd_filter_table_size(const ConvolutionGeometry& geometry);
void bwd_filter_fill_table(const ConvolutionGeometry& geometry, std::span<std::int64_t> table);

// Host memory; an empty table: places are computed. The workspace is 64-byte aligned.
void bwd_filter_gemm(const BwdFilterGemm& params, const void* src, const void* diff, void* dst,
                     std::span<const std::int64_t> table, void* workspace, ThreadPool& pool);

}  // namespace convlens::cpu

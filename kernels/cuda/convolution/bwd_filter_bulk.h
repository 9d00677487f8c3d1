// The gradient of the filter by the matrix instructions of four warps on 16-bit channels-last operands: both
// reach shared memory by bulk copies (rows of t, 64 channels or outputs wide; those of src by tensor maps in
// im2col mode), and the instructions read them turned. One warp copies, two groups of four warps multiply.
// Parts of t go through the workspace and are added in their order (bwd_filter.h).
//
// Tensors of 16 bits are read where they lie when they are channels-last with all other strides multiples of
// 16 bytes; all others are first copied to the workspace, channels-last, in 16 bits:
//   rounded  to fp16 or bf16
//   scaled   by a power of two for each channel and each output, so that the largest finite magnitude is near
//            2^15, then rounded to fp16: 11 bits, as TF32, for magnitudes down to 2^-29 of the largest
//   split    the same, and the rest times 2^11 in fp16 beside it: 22 bits for the same magnitudes. Three
//            products; sums of 64 t leave the tensor core, which truncates
// Against exact arithmetic an operand of scaled and split is off by at most 2^-39 and 2^-50 of the largest of
// its channel, besides its 11 or 22 bits: the error of a sum scales with the largest values where values of a
// channel differ by more than 2^29. An infinity gives NaN in split.
//
// Few channels: the copy of src holds a row of the window in the place of channels.
//
// Limits: one group, up to two spatial axes, steps of the window up to 8, its pads and extent up to 128.
#pragma once

#include "kernels/cuda/convolution/bwd_filter.h"

namespace convlens::cuda {

enum class BulkMath : std::uint8_t { fp16, bf16, scaled, split };

// A tensor as the products read it.
struct BulkOperand {
    bool staged = false;
    std::int64_t channels = 0;      // of one plane, a multiple of 8
    std::size_t at = 0, bytes = 0;  // of the copy in the workspace
};

struct BwdFilterBulk {
    BwdFilterParams problem;
    BulkMath math = BulkMath::fp16;
    bool folded = false;  // a row of the window lies in the place of channels
    BulkOperand src, diff;
    int planes = 1;
    std::size_t largest_at = 0, parts_at = 0;
    ConvolutionGeometry view;   // of the products
    int row_tiles_a_group = 2;  // of 64 rows; a block has twice as many
    int outputs_tile = 128;
    int splits = 1;
    std::int64_t channel_blocks = 0, row_blocks = 0;  // of 64 rows: of one tap, of all taps
    std::int64_t padded_rows = 0, padded_outputs = 0;
    std::int64_t steps = 0;  // of 64 t
    std::size_t workspace_bytes = 0;
    double executed_flops = 0;
    double ns = 0;  // an estimate, to compare with other kernels
};

// One sentence why it can't be done, or nothing.
std::string bwd_filter_bulk_reject(const BwdFilterParams& problem);
// Of 16-bit tensors fp16 and bf16 admit their own only.
BwdFilterBulk bwd_filter_bulk_params(const BwdFilterParams& problem, BulkMath math,
                                     const DeviceTraits& traits);
void bwd_filter_bulk_set(BwdFilterBulk& params, int row_tiles_a_group, int outputs_tile, int splits);
// Device memory: src, diff and dst at the element with index 0 ... 0. False, and nothing was launched, where
// a tensor that is read where it lies is not aligned to 16 bytes, or the driver takes no such map.
bool bwd_filter_bulk(const BwdFilterBulk& params, const void* src, const void* diff, void* dst,
                     void* workspace, Stream stream);

}  // namespace convlens::cuda

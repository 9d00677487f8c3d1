// The gradient of the filter by the matrix instructions of four warps on 16-bit channels-last tensors, as
// they lie: both operands reach shared memory by bulk copies (rows of t, 64 channels or outputs wide; those
// of src by tensor maps in im2col mode), and the instructions read them turned. One warp copies, two groups
// of four warps multiply. Parts of t go through the workspace and are added in their order (bwd_filter.h).
//
// Limits: f16 and bf16, one group, two spatial axes, channels and outputs multiples of 8, other strides
// multiples of 16 bytes, steps of the window up to 8, its pads and extent up to 128; src and diff aligned to
// 16 bytes when launched.
#pragma once

#include "kernels/cuda/convolution/bwd_filter.h"

namespace convlens::cuda {

struct BwdFilterBulk {
    BwdFilterParams problem;
    int row_tiles_a_group = 2;  // of 64 rows; a block has twice as many
    int outputs_tile = 128;
    int splits = 1;
    std::int64_t channel_blocks = 0, row_blocks = 0;  // of 64 rows: of one tap, of all taps
    std::int64_t padded_rows = 0, padded_outputs = 0;
    std::int64_t steps = 0;  // of 64 t
    std::size_t workspace_bytes = 0;
    double executed_flops = 0;
};

// Whether it can be done where pointers are aligned; `offset`s are elements from aligned pointers.
bool bwd_filter_bulk_is_possible(const BwdFilterParams& problem);
BwdFilterBulk bwd_filter_bulk_params(const BwdFilterParams& problem, const DeviceTraits& traits);
void bwd_filter_bulk_set(BwdFilterBulk& params, int row_tiles_a_group, int outputs_tile, int splits);
// False, and nothing was launched, where a pointer is not aligned or the driver takes no such map.
bool bwd_filter_bulk(const BwdFilterBulk& params, const void* src, const void* diff, void* dst,
                     void* workspace, Stream stream);

}  // namespace convlens::cuda

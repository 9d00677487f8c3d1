// The bias gradient of dense tensors, bound by memory: the sum of each channel over the batch and all cells.
//
// Channels-last: 32 neighbouring channels a block, eight rows of threads that take cells in turn. Packed: one
// channel a block, its threads take neighbouring cells. Either way the cells are shared out over as many
// blocks as fill the device; each writes its sums to the workspace, and a second kernel adds them in a fixed
// order: the bits never change. f32 sums of f32, f16 and bf16 data.
#pragma once

#include <cstddef>
#include <string>

#include "kernels/common/convolution_bwd.h"
#include "kernels/cuda/stream.h"

namespace convlens::cuda {

struct BwdBiasSums {
    BwdBiasParams params;
    bool channels_last = false;
    std::int64_t outer = 0, inner = 0;  // cells of src: outer x inner, the inner ones neighbours
    std::int64_t outer_stride = 0;      // in elements
    int splits = 1;
};

// Empty, or why the layout or the type is not for these kernels.
std::string bwd_bias_sums_reject(const BwdBiasParams& params);
// params has passed bwd_bias_sums_reject().
BwdBiasSums bwd_bias_sums(const BwdBiasParams& params, const DeviceTraits& traits);
std::size_t bwd_bias_sums_workspace_bytes(const BwdBiasSums& sums);
// Device memory.
void convolution_bwd_bias_sums(const BwdBiasSums& sums, const void* src, void* dst, void* workspace,
                               Stream stream);

}  // namespace convlens::cuda

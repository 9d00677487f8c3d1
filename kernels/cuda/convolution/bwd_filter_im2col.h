// The gradient of the filter in two steps: the matrix of windows (a row for each cell of dy, columns (group,
// tap, channel)) is written to the workspace, then multiplied by dy as bwd_filter.h multiplies a window of
// one cell. As many images at a time as fit in 1 GiB of matrix, at least one; each adds to dst. Any strides;
// f32. Limits: those of bwd_filter.h.
#pragma once

#include "kernels/cuda/convolution/bwd_filter.h"

namespace convlens::cuda {

struct BwdFilterIm2col {
    BwdFilterParams problem;
    BwdFilter window;         // of one step: how the matrix is made
    BwdFilter product;        // of one step, on the matrix
    std::int64_t images = 0;  // of a step
    std::int64_t row = 0;     // floats from row to row of the matrix
    std::size_t matrix_bytes = 0, workspace_bytes = 0;
};

// One sentence why it can't be done, or nothing.
std::string bwd_filter_im2col_reject(const BwdFilterParams& problem);
BwdFilterIm2col bwd_filter_im2col_params(const BwdFilterParams& problem, const DeviceTraits& traits);
// Device memory: src, diff and dst at the element with index 0 ... 0.
void bwd_filter_im2col(const BwdFilterIm2col& params, const float* src, const float* diff, float* dst,
                       void* workspace, Stream stream);

}  // namespace convlens::cuda

// The filter's gradient in two steps: the matrix of im2col_gemm (a row for each output cell of one image, k =
// taps x channels of a group) is written to the workspace, then its transpose is multiplied by dy. Sums of
// all images stay in the workspace. Any rank up to three, stride, pad, dilation, grouping and layout. Host
// memory, f32.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/cpu/convolution/filter_gradient.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

// Bytes of one image's matrix and packed dy, and of the sums; nothing when that leaves 62 bits.
std::optional<std::size_t> bwd_filter_im2col_workspace(const BwdFilterParams& gradient);

// Host memory; the workspace is 64-byte aligned.
void bwd_filter_im2col(const BwdFilterParams& gradient, const float* x, const float* dy, float* dw,
                       void* workspace, ThreadPool& pool);

}  // namespace convlens::cpu

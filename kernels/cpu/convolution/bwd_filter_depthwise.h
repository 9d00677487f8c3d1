// The filter's gradient of depthwise convolution: every output channel reads one source channel (groups == C,
// K a multiple of C). f32.
//
// Channels-last tensors with K == C and up to two axes: vectors of channels, a block of cells of a row at a
// time, sums of all taps in a small table in the first cache. Bands of rows each have a table of their own,
// added in order; how many there are depends on the problem alone. All others, planar tensors among them: one
// output channel after the other, each tap a sum of products of rows.
#pragma once

#include <cstddef>

#include "kernels/cpu/convolution/filter_gradient.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

// Bytes for the bands' tables.
std::size_t bwd_filter_depthwise_workspace(const BwdFilterParams& gradient);

// Host memory; the workspace is 64-byte aligned.
void bwd_filter_depthwise(const BwdFilterParams& gradient, const float* x, const float* dy, float* dw,
                          void* workspace, ThreadPool& pool);

}  // namespace convlens::cpu

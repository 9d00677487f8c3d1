// The gradient of the filter where each group has one channel: dw[k][tap] = sum over t of dy[k][t] * x[c][t
// moved by the tap]. Bound by memory: a thread has an output and up to nine taps in registers and walks over
// cells of dy; neighbouring threads have neighbouring outputs (or neighbouring cells, where outputs are far
// apart in memory). Sums of f32 in a fixed order; parts of the cells go through the workspace.
//
// Any strides, dilation, one to three axes, several outputs a channel; f32, f16, bf16. Limits: those of
// bwd_filter.h, and 4096 taps.
#pragma once

#include "kernels/cuda/convolution/bwd_filter.h"

namespace convlens::cuda {

struct BwdFilterDepthwise {
    BwdFilterParams problem;
    bool along_outputs = true;
    bool rows = false;   // four cells of a row share what they read
    bool early = false;  // the device starts kernels before the ones before them end
    int splits = 1;
    std::size_t workspace_bytes = 0;
};

// One sentence why it can't be done, or nothing.
std::string bwd_filter_depthwise_reject(const BwdFilterParams& problem);
BwdFilterDepthwise bwd_filter_depthwise_params(const BwdFilterParams& problem, const DeviceTraits& traits);
// Device memory: src, diff and dst at the element with index 0 ... 0.
void bwd_filter_depthwise(const BwdFilterDepthwise& params, const void* src, const void* diff, void* dst,
                          void* workspace, Stream stream);

}  // namespace convlens::cuda

// Depthwise convolution: every output channel reads one source channel (groups == C, K a multiple of C).
//
// Windows 3x3 and 5x5 of strides 1 and 2 without dilation have kernels of their own. Channels-last tensors
// with K == C: a thread holds a vector of four channels (one where the addresses forbid more) and a row of
// one to four output columns, few where the problem is small, so that the whole device has work. Packed
// tensors: a thread holds one column of up to four output rows; neighbouring threads read neighbouring
// columns. All other geometries go through one kernel with a thread an output. All sum over the window's axes
// in order, in single precision.
//
// The kernels for the named windows count threads and the offsets within an image in 31 bits; beyond that the
// general one is taken, which counts in 64.
#pragma once

#include <cstddef>

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

// Which of the forms above; chosen with the plan, since the packed filter follows it.
enum class DepthwiseForm : std::uint8_t { channels_last, planar, general };

struct DepthwiseParams {
    ConvolutionGeometry geometry;
    DepthwiseForm form = DepthwiseForm::general;
    bool channels_inside = false;  // packed filter: taps x K, else K x taps
    int multiprocessors = 0;
    bool early = false;  // the kernel may be set up before the one before it ends
    int hold = 0;        // what a thread holds (depthwise.cu); 0: chosen by the size of the problem
    Activation activation;
};

DepthwiseParams depthwise_params(const ConvolutionGeometry& geometry, const Activation& activation,
                                 const DeviceTraits& traits);
// From K x 1 x window, packed; as many values. Host memory.
void depthwise_pack(const DepthwiseParams& params, const float* weights, float* packed);

// Device memory; bias (K values) and residual (laid out as dst) may be null. dst overlaps no source.
void depthwise(const DepthwiseParams& params, const float* src, const float* packed, const float* bias,
               const float* residual, float* dst, Stream stream);

}  // namespace convlens::cuda

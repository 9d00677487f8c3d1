#include "kernels/cuda/transposed_convolution/phase_gemm.h"

#include <algorithm>
#include <numeric>

namespace convlens::cuda {
namespace {

constexpr std::int64_t longest = std::int64_t{1} << 28;

std::int64_t phases_of(const ConvolutionGeometry& g, std::size_t axis) {
    return std::min(g.strides[axis], g.dst[axis]);
}

// Makes the phase of one axis whose first output is `out`. False where a number is too large.
bool set_axis(const ConvolutionGeometry& g, std::size_t axis, std::int64_t out, PhaseGemm::Phase& phase) {
    ConvolutionGeometry& dense = phase.geometry;
    const std::int64_t stride = g.strides[axis], dilation = g.dilations[axis];
    const std::int64_t common = std::gcd(stride, dilation), step = stride / common;
    dense.dst[axis] = (g.dst[axis] - out + stride - 1) / stride;
    dense.dst_strides[axis + 2] = g.dst_strides[axis + 2] * stride;
    dense.strides[axis] = 1;
    dense.dilations[axis] = dilation / common;
    phase.dst_offset += out * g.dst_strides[axis + 2];
    phase.tap_step[axis] = step;
    const std::int64_t reach = out + g.pads[axis];
    std::int64_t tap = 0;
    while (tap < std::min(step, g.window[axis]) && (reach - tap * dilation) % stride != 0) ++tap;
    if (tap >= std::min(step, g.window[axis])) {
        // No tap reaches these outputs: one that lies outside for all of them.
        phase.first_tap[axis] = -1;
        dense.window[axis] = 1;
        dense.pads[axis] = dense.dst[axis];
        return dense.dst[axis] < longest;
    }
    phase.first_tap[axis] = tap;
    dense.window[axis] = (g.window[axis] - 1 - tap) / step + 1;
    dense.pads[axis] = (dense.window[axis] - 1) * dense.dilations[axis] - (reach - tap * dilation) / stride;
    return std::abs(dense.pads[axis]) < longest;
}

}  // namespace

std::int64_t phase_gemm_phases(const ConvolutionGeometry& g) {
    std::int64_t count = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (phases_of(g, axis) > phase_gemm_most_phases) return phases_of(g, axis);
        count *= phases_of(g, axis);
    }
    return count;
}

std::optional<PhaseGemm> phase_gemm(const ConvolutionGeometry& g, const Activation& activation,
                                    const DeviceTraits& traits) {
    PhaseGemm plan;
    plan.activation = activation;
    for (std::size_t axis = 0; axis < 3; ++axis)
        if (g.src[axis] >= longest || g.dst[axis] >= longest || g.pads[axis] >= longest ||
            g.window[axis] >= longest || g.strides[axis] >= longest || g.dilations[axis] >= longest)
            return std::nullopt;
    for (std::int64_t d = 0; d < phases_of(g, 0); ++d)
        for (std::int64_t h = 0; h < phases_of(g, 1); ++h)
            for (std::int64_t w = 0; w < phases_of(g, 2); ++w) {
                PhaseGemm::Phase phase;
                phase.geometry = g;
                if (!set_axis(g, 0, d, phase) || !set_axis(g, 1, h, phase) || !set_axis(g, 2, w, phase))
                    return std::nullopt;
                const auto shape = window_gemm_shape(phase.geometry, traits);
                if (!shape) return std::nullopt;
                phase.shape = *shape;
                phase.packed_offset = plan.packed_floats;
                plan.packed_floats += (window_gemm_packed_size(*shape) + 63) / 64 * 64;
                plan.workspace_bytes = std::max(plan.workspace_bytes, window_gemm_workspace(*shape));
                plan.phases.push_back(phase);
            }
    return plan;
}

void phase_gemm_pack(const PhaseGemm& plan, const ConvolutionGeometry& g, const float* weights,
                     float* packed) {
    const std::int64_t channels = g.channels / g.groups, outputs = g.outputs / g.groups, taps = g.taps();
    std::vector<float> filter;  // of one phase, K x C/groups x window
    for (const PhaseGemm::Phase& phase : plan.phases) {
        const ConvolutionGeometry& dense = phase.geometry;
        filter.assign(static_cast<std::size_t>(g.outputs * channels * dense.taps()), 0.0f);
        std::size_t to = 0;
        for (std::int64_t k = 0; k < g.outputs; ++k)
            for (std::int64_t c = 0; c < channels; ++c) {
                const float* from = weights + ((k / outputs * channels + c) * outputs + k % outputs) * taps;
                for (std::int64_t tap = 0; tap < dense.taps(); ++tap, ++to) {
                    // Rising source indices are falling taps.
                    const Axes at{tap / (dense.window[1] * dense.window[2]),
                                  tap / dense.window[2] % dense.window[1], tap % dense.window[2]};
                    std::int64_t index = 0;
                    bool none = false;
                    for (std::size_t axis = 0; axis < 3; ++axis) {
                        none |= phase.first_tap[axis] < 0;
                        index = index * g.window[axis] + phase.first_tap[axis] +
                                phase.tap_step[axis] * (dense.window[axis] - 1 - at[axis]);
                    }
                    if (!none) filter[to] = from[index];
                }
            }
        window_gemm_pack(phase.shape, dense, filter.data(), packed + phase.packed_offset);
    }
}

void phase_gemm(const PhaseGemm& plan, const float* src, const float* packed, const float* bias, float* dst,
                void* workspace, Stream stream) {
    for (const PhaseGemm::Phase& phase : plan.phases) {
        WindowGemmOperands operands;
        operands.src = src;
        operands.packed = packed + phase.packed_offset;
        operands.bias = bias;
        operands.dst = dst + phase.dst_offset;
        operands.workspace = static_cast<float*>(workspace);
        operands.activation = plan.activation;
        window_gemm(phase.shape, operands, stream);
    }
}

}  // namespace convlens::cuda

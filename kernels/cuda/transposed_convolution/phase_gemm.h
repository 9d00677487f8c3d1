// Transposed convolution as ordinary convolutions: outputs whose index leaves the same rest by the stride are
// reached through the same taps, so each such phase is a dense convolution of the source with every so manyth
// tap, written to every so manyth output. Each is an implicit matrix product (window_gemm.h): nothing is
// stored between, and every multiplication is one of the definition's but for padded outputs.
//
// One kernel for each phase, so strides should be small. Limits are window_gemm's.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/cuda/gemm/window_gemm.h"

namespace convlens::cuda {

inline constexpr std::int64_t phase_gemm_most_phases = 64;

struct PhaseGemm {
    struct Phase {
        ConvolutionGeometry geometry;  // of the dense convolution
        WindowGemmShape shape;
        Axes first_tap{}, tap_step{};    // of the transposed filter, for the dense one's last tap; -1: none
        std::int64_t dst_offset = 0;     // of its first output
        std::int64_t packed_offset = 0;  // floats
    };
    std::vector<Phase> phases;
    std::int64_t packed_floats = 0;
    std::size_t workspace_bytes = 0;
    Activation activation;
};

std::int64_t phase_gemm_phases(const ConvolutionGeometry& geometry);
// Nothing where a number leaves window_gemm's limits. At most phase_gemm_most_phases phases.
std::optional<PhaseGemm> phase_gemm(const ConvolutionGeometry& geometry, const Activation& activation,
                                    const DeviceTraits& traits);
// From C x K/groups x window, packed. Host memory.
void phase_gemm_pack(const PhaseGemm& plan, const ConvolutionGeometry& geometry, const float* weights,
                     float* packed);

// Device memory; bias (K values) may be null. src and dst don't overlap; packed and workspace are 16-byte
// aligned.
void phase_gemm(const PhaseGemm& plan, const float* src, const float* packed, const float* bias, float* dst,
                void* workspace, Stream stream);

}  // namespace convlens::cuda

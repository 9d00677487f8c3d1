// Convolution as a product whose left matrix (a row for each output cell, k = taps x channels of a group) is
// never stored: each row is a list of pointers to runs of floats in src, or to a run of zeros where a tap
// lies outside (an indirection like that of XNNPACK's convolutions). Three forms of rows:
//   channels   channels lie side by side: one run for each tap.
//   window     few channels, and a window's row is contiguous in src: one run for each such row; rows at the
//              left and right edge are copied with their zeros.
//   gathered   any strides: each row is copied.
// Any rank up to three, stride, pad, dilation, grouping and destination layout. Host memory, f32.
//
// Where the pointers and copies of a block of rows are small they live on the thread's stack, else in the
// workspace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/geometry.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

// What a plan knows: a value without pointers.
struct ImplicitGemm {
    enum class Form : std::uint8_t { channels, window, gathered };
    ConvolutionGeometry geometry;
    Form form = Form::gathered;
    std::int64_t runs = 0;
    std::int64_t length = 0;      // floats of a run
    std::int64_t block_rows = 0;  // rows whose pointers exist at one time
    std::size_t slot_bytes = 0;   // scratch of one thread
    std::size_t workspace_bytes = 0;
    int slots = 1;  // threads that the workspace is for
};
ImplicitGemm implicit_gemm_params(const ConvolutionGeometry& geometry, int threads);

// Floats of the packed filter, with a run of zeros at its end.
std::size_t implicit_gemm_packed_size(const ImplicitGemm& params);
void implicit_gemm_pack(const ImplicitGemm& params, const float* weights, float* packed);

// The table of the precomputed form: for each axis, output place and tap the offset in src, or
// `implicit_gemm_outside`. 0 entries when that leaves 63 bits.
inline constexpr std::int64_t implicit_gemm_outside = INT64_MIN;
std::size_t implicit_gemm_table_size(const ConvolutionGeometry& geometry);
void implicit_gemm_fill_table(const ConvolutionGeometry& geometry, std::span<std::int64_t> table);

struct ConvolutionOperands {
    const float* src = nullptr;
    const float* packed = nullptr;
    const float* bias = nullptr;      // K values, or null
    const float* residual = nullptr;  // laid out as dst, or null
    float* dst = nullptr;
    Activation activation;
};
// `table` is empty for offsets computed on the way; the workspace is null where params need none.
void implicit_gemm(const ImplicitGemm& params, const ConvolutionOperands& operands,
                   std::span<const std::int64_t> table, void* workspace, ThreadPool& pool);

}  // namespace convlens::cpu

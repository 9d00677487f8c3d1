// Forward convolution by the matrix instructions of a warp (mma.sync, compute capability 8.0 and up): the
// product of the implicit matrix of windows (a row for each output cell, k = taps x channels of a group) with
// the filter, in tiles of shared memory that are filled by asynchronous copies.
//
// Arithmetic:
//   tf32        both operands rounded to TF32 (11 bits), sums in f32
//   split_tf32  x = high + low in TF32 each, three products; 16 products are summed by the tensor core, which
//               truncates, and those sums are added in f32. Needs 4 products an output for the bound of fp32
//               (the dropped product of the low parts is up to 4u of one product). An infinite element of src
//               gives NaN (infinity times a low part of 0).
//   fp16, bf16  operands rounded to 16 bits, or tensors of that type; sums in f32
// Weights are packed by the processor in the order in which lanes read them, rounded or split, followed by
// tables that say where each k lies. Elements of src are loaded 16 bytes at a time where channels are
// contiguous and everything is a multiple of 16 bytes, else one at a time: any strides, groups, 1 to 3 axes.
// Where the cells are few, k is cut into parts (split-K) whose sums go through the workspace and are added in
// a fixed order.
//
// Limits: axes of src and of the padded window below 2^30; 2^31 - 1 tiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/cuda/stream.h"

namespace convlens::cuda {

enum class MmaMath : std::uint8_t { tf32, split_tf32, fp16, bf16 };

// What a plan knows: a value without pointers.
struct MmaConvolution {
    ConvolutionGeometry geometry;
    ElementType type = ElementType::f32;  // of src, bias, residual and dst; fp16 and bf16 take their own too
    MmaMath math = MmaMath::tf32;
    bool channels_inner = true;  // order of k: taps, then channels; else channels, then taps
    bool vector = false;         // 16-byte loads are possible when the pointers are aligned
    int tile = 0;                // row of the table of tiles
    int splits = 1;
    std::int64_t units = 0;                   // steps of 64 bytes of k in f32 or 16-bit elements
    std::int64_t blocks_n8 = 0;               // of 8 outputs, of one group
    std::size_t table_at = 0, chunks_at = 0;  // bytes from the begin of the packed weights
    std::size_t packed_bytes = 0, workspace_bytes = 0;
    double executed_flops = 0;  // with the padding of tiles
};

// One sentence why it can't be done, or nothing.
std::string mma_convolution_reject(const ConvolutionGeometry& geometry);
MmaConvolution mma_convolution_params(const ConvolutionGeometry& geometry, ElementType type, MmaMath math,
                                      const DeviceTraits& traits);
// Host memory; weights K x C/groups x window, packed, of the tensors' type.
void mma_convolution_pack(const MmaConvolution& params, const void* weights, void* packed);

// Device memory, at the element with index 0 ... 0.
struct TensorCoreOperands {
    const void* src = nullptr;
    const void* packed = nullptr;
    const void* bias = nullptr;      // K values, or null
    const void* residual = nullptr;  // laid out as dst, or null
    void* dst = nullptr;
    Activation activation;
    float alpha = 1, beta = 1;  // of the sum and of the residual
};
void mma_convolution(const MmaConvolution& params, const TensorCoreOperands& operands, void* workspace,
                     Stream stream);

}  // namespace convlens::cuda

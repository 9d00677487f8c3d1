// Forward convolution by Hopper's matrix instructions of four warps (wgmma, compute capability 9.0a): one
// warp fills a ring of stages by bulk copies (the rows of src by tensor maps in im2col mode, the packed
// filter as it lies), two groups of four warps multiply.
//
// Arithmetic as in mma_convolution.h; tf32 rounds src in the copy, split TF32 and 16 bits of f32 tensors in
// registers. Split TF32 sums 32 products in the tensor core, which truncates, and adds those sums in f32.
// Where the cells are few, k is cut into parts, one for each block of a cluster, whose sums are added in a
// fixed order through distributed shared memory.
//
// A step of k is 128 bytes: of channels of one tap, padded with zeros; or, where one cell's channels take at
// most 16 bytes, of a row of the window. The packed filter is the image of shared memory.
//
// src is read where it lies when it is channels-last with all other strides multiples of 16 bytes; else, and
// for few channels, it is first copied to the workspace, channels-last and padded. A src that should be read
// where it lies but is not 16-byte aligned takes a plain kernel that reads the same packed filter: right, and
// slow.
//
// Limits: one group, 2 spatial axes, steps of the window up to 8, pads and extent of the window up to 128.
#pragma once

#include "kernels/cuda/convolution/mma_convolution.h"

namespace convlens::cuda {

enum class WgmmaSource : std::uint8_t {
    direct,  // where it lies
    staged,  // copied
    runs,    // copied with its pads, few channels: rows of the window are runs of memory
};

struct WgmmaConvolution {
    ConvolutionGeometry geometry;
    WgmmaSource source = WgmmaSource::direct;
    ElementType type = ElementType::f32;
    MmaMath math = MmaMath::tf32;
    int tile = 0;    // row of the table of tiles
    int splits = 1;  // parts of k
    std::int64_t steps = 0;
    std::int64_t channel_steps = 0;  // of one tap, or of one row of the window
    // The copy of src: channels, height and width with pads; the cells of a tile in a row of dst (runs).
    std::int64_t staged_c = 0, staged_h = 0, staged_w = 0;
    int tile_w = 0;
    std::int64_t blocks_n8 = 0;  // of 8 outputs, padded to whole tiles
    std::size_t packed_bytes = 0, workspace_bytes = 0;
    double executed_flops = 0;
};

// One sentence why it can't be done, or nothing.
std::string wgmma_convolution_reject(const ConvolutionGeometry& geometry, ElementType type);
// src_offset: elements from the pointer that execution will get, which is aligned, to src's first.
WgmmaConvolution wgmma_convolution_params(const ConvolutionGeometry& geometry, std::int64_t src_offset,
                                          ElementType type, MmaMath math, const DeviceTraits& traits);
// The same with a tile and parts of k of the caller's choice (tests of the tiles).
void wgmma_convolution_set_tile(WgmmaConvolution& params, int tile, int splits);
void wgmma_convolution_pack(const WgmmaConvolution& params, const void* weights, void* packed);
// The description of a failure of the driver to take the tensor map, or null.
const char* wgmma_convolution(const WgmmaConvolution& params, const TensorCoreOperands& operands,
                              void* workspace, Stream stream);

}  // namespace convlens::cuda

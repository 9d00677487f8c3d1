// First layers: convolution as an implicit product for a source of one to three channels that lie side by
// side (channels-last, cells of a line without gaps), two spatial axes, one group, dilation 1 along the line;
// f32.
//
// A block's part of src is copied to shared memory once, zeros where it lies outside; a window's row is a run
// of window x channels floats there, read for each output cell from where its first tap lies, so the left
// matrix exists nowhere. The filter streams through shared memory, one row of the window a step. Sums run in
// the order of the window, then c. A block has 128 output cells, a rectangle, by 32, 64 or 96 outputs.
#pragma once

#include <optional>

#include "kernels/cuda/gemm/window_gemm.h"

namespace convlens::cuda {

struct FewChannels {
    ConvolutionGeometry geometry;
    int run = 0;                 // floats of a window's row
    int thread_columns = 0;      // outputs of a block: 8 times that
    int slices = 1;              // 2: two sets of threads share the rows of a window
    int tile_h = 0, tile_w = 0;  // tile_w is a power of two
    int lines = 0, pitch = 0;    // of a block's part of src, in lines and floats
    bool overlap = false;

    std::int64_t padded_columns() const {
        const std::int64_t columns = 8 * thread_columns;
        return (geometry.outputs + columns - 1) / columns * columns;
    }
    std::int64_t tiles_h() const { return (geometry.dst[1] + tile_h - 1) / tile_h; }
    std::int64_t tiles_w() const { return (geometry.dst[2] + tile_w - 1) / tile_w; }
};

// Nothing where this form does not apply.
std::optional<FewChannels> few_channels_params(const ConvolutionGeometry& geometry,
                                               const DeviceTraits& device);
std::int64_t few_channels_packed_size(const FewChannels& params);
void few_channels_pack(const FewChannels& params, const float* weights, float* packed);
double few_channels_flops(const FewChannels& params);
// operands.table and operands.workspace are not read.
void few_channels(const FewChannels& params, const WindowGemmOperands& operands, Stream stream);

}  // namespace convlens::cuda

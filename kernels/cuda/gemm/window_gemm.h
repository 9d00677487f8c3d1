// The matrix product behind the f32 convolutions and fully connected layers: dst = activation(A x B + bias +
// residual), multiply-adds of f32 in registers.
//
// A has a row for each output cell and a column for each product, k = (tap, channel); it is never stored: its
// elements are copied from src straight into the tiles in shared memory (asynchronously, several steps
// ahead), zeros where a tap lies outside. Where a column's cell lies relative to the row's first tap is
//   computed    by multiplications and shifts from k, or
//   tabulated   read from a table of one entry a column, which lies behind the packed filter.
// Copies are 16 bytes (quads) where four channels lie side by side and aligned, else 4 bytes, neighbours
// along the cells. B is packed: for each group depth x outputs, outputs padded to whole tiles, depth to whole
// steps, with zeros.
//
// Sums over k run in rising order within each slice; slices and splits are joined in their order, so results
// are the same bits every time. Any strides; coordinates and offsets within a window are below 2^31.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/cuda/fast_division.h"
#include "kernels/cuda/gemm/tiles.h"
#include "kernels/cuda/stream.h"

namespace convlens::cuda {

// Of one column of A: offset from the row's first tap, and the tap's distance from it on each axis.
struct alignas(16) ColumnEntry {
    std::int32_t offset, d, h, w;
};
// Beyond the end of every axis, for columns that don't exist.
inline constexpr std::int32_t column_outside = std::int32_t{1} << 29;

// What a plan knows: a value without pointers.
struct WindowGemmShape {
    std::int64_t rows = 0;     // output cells of the batch
    std::int64_t columns = 0;  // outputs of a group
    std::int64_t depth = 0;    // taps x channels of a group
    std::int64_t groups = 1;
    TileChoice choice;
    bool quads = false;     // 16-byte copies are possible where src is aligned
    bool even_dst = false;  // row i of dst lies i times dst_cell from the first
    bool overlap = false;   // see kernels/cuda/dependent_launch.cuh
    bool quad_dst = false;  // 16-byte stores are possible where dst is aligned
    FastDivision channels, window_w, window_h, dst_w, dst_h, dst_d;
    Axes src{1, 1, 1};  // D H W
    std::array<std::int32_t, 3> dilations{}, strides{}, pads{};
    std::array<std::int32_t, 4> src_strides{};  // C D H W, for offsets within a window
    Strides5 src_steps{};                       // N C D H W
    Strides5 dst_steps{};
    std::int64_t dst_cell = 0;

    const TileShape& tile() const { return tile_shapes[static_cast<std::size_t>(choice.tile)]; }
    std::int64_t padded_depth() const {
        return (depth + tile().depth() - 1) / tile().depth() * tile().depth();
    }
    std::int64_t padded_columns() const {
        return (columns + tile().columns - 1) / tile().columns * tile().columns;
    }
};

// Nothing when numbers leave 31 bits where the kernel needs that.
std::optional<WindowGemmShape> window_gemm_shape(const ConvolutionGeometry& geometry,
                                                 const DeviceTraits& device,
                                                 const TileChoice* forced = nullptr);
inline constexpr const char* window_gemm_limit = "lengths, or offsets within a window, leave 31 bits";
// Multiplications and additions, columns padded to whole tiles.
double window_gemm_flops(const WindowGemmShape& shape);
// Floats of the packed filter without a table.
std::int64_t window_gemm_packed_size(const WindowGemmShape& shape);
// From K x C/groups x window, packed; host memory. A flipped filter is turned here.
void window_gemm_pack(const WindowGemmShape& shape, const ConvolutionGeometry& geometry, const float* weights,
                      float* packed);
// Entries of the table: one for each of padded_depth() columns.
void window_gemm_fill_table(const WindowGemmShape& shape, const ConvolutionGeometry& geometry,
                            ColumnEntry* table);
// Bytes of the parts of split sums; 0 without, or where they stay on chip.
std::size_t window_gemm_workspace(const WindowGemmShape& shape);

struct WindowGemmOperands {
    const float* src = nullptr;
    const float* packed = nullptr;
    const float* bias = nullptr;      // K values, or null
    const float* residual = nullptr;  // laid out as dst, or null
    float* dst = nullptr;
    const ColumnEntry* table = nullptr;  // null: computed
    float* workspace = nullptr;
    Activation activation;
};
void window_gemm(const WindowGemmShape& shape, const WindowGemmOperands& operands, Stream stream);

// Whether the code of this build for the current device has clusters of blocks and dependent launches.
bool window_gemm_has_clusters();

}  // namespace convlens::cuda

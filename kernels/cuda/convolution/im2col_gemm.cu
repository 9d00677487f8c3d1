#include "kernels/cuda/convolution/im2col_gemm.h"

#include <algorithm>

#include "kernels/cuda/gemm/window_gemm_columns.cuh"

namespace convlens::cuda {
namespace {

constexpr std::int64_t most_matrix_bytes = std::int64_t{1} << 30;
constexpr std::int64_t alignment = 256;
constexpr unsigned warps = 8;

// A warp writes one row of one group.
template <int width>
__global__ void __launch_bounds__(32 * warps)
    write_matrix(const __grid_constant__ WindowGemmParams p, float* matrix, std::int64_t row_floats) {
    using Vector = std::conditional_t<width == 4, float4, float>;
    const std::int64_t row = blockIdx.x * std::int64_t{warps} + threadIdx.y;
    if (row >= p.rows) return;
    const int group = static_cast<int>(blockIdx.y);
    const RowStart start(p, p.operands.src + group * p.src_group, row);
    float* to = matrix + row * row_floats + static_cast<std::int64_t>(group) * p.depth;
#pragma unroll 4
    for (int k = static_cast<int>(threadIdx.x) * width; k < p.depth; k += 32 * width) {
        const ColumnEntry e = column_entry(p, k);
        Vector value{};
        if (start.holds(p, e)) value = *reinterpret_cast<const Vector*>(start.src + e.offset);
        *reinterpret_cast<Vector*>(to + k) = value;
    }
}

}  // namespace

std::optional<Im2colGemm> im2col_gemm_params(const ConvolutionGeometry& g, const DeviceTraits& device) {
    const auto window = window_gemm_shape(g, device);
    if (!window) return std::nullopt;
    Im2colGemm p;
    p.window = *window;
    p.batch = g.batch;
    p.src_image = g.src_strides[0];
    p.dst_image = g.dst_strides[0];
    p.image_rows = g.dst_cells();
    std::int64_t image_bytes = sizeof(float);
    for (const std::int64_t factor : {p.image_rows, window->depth, g.groups})
        if (__builtin_mul_overflow(image_bytes, factor, &image_bytes)) return std::nullopt;
    p.images = g.batch;
    if (image_bytes > 0)
        p.images =
            std::clamp(most_matrix_bytes / image_bytes, std::int64_t{1}, std::max(g.batch, std::int64_t{1}));
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(image_bytes, p.images, &bytes) || bytes > INT64_MAX / 4) return std::nullopt;
    p.matrix_bytes = static_cast<std::size_t>(bytes);

    ConvolutionGeometry matrix = g;
    matrix.batch = p.images;
    matrix.channels = window->depth * g.groups;
    matrix.src = g.dst;
    matrix.window = {1, 1, 1};
    matrix.pads = {0, 0, 0};
    matrix.strides = matrix.dilations = {1, 1, 1};
    const std::int64_t row = matrix.channels;
    matrix.src_strides = {row * p.image_rows, 1, row * g.dst[1] * g.dst[2], row * g.dst[2], row};
    const auto product = window_gemm_shape(matrix, device, &window->choice);
    if (!product) return std::nullopt;
    p.product = *product;
    return p;
}

std::size_t im2col_gemm_workspace(const Im2colGemm& p) {
    const std::size_t parts = window_gemm_workspace(p.product);
    if (parts == 0) return p.matrix_bytes;
    // The matrix first: the parts must be aligned.
    return (p.matrix_bytes + alignment - 1) / alignment * alignment + parts;
}

void im2col_gemm(const Im2colGemm& p, const WindowGemmOperands& operands, void* workspace, Stream stream) {
    auto* matrix = static_cast<float*>(workspace);
    const std::int64_t row_floats = p.product.depth * p.window.groups;
    for (std::int64_t first = 0; first < p.batch; first += p.images) {
        const std::int64_t rows = std::min(p.images, p.batch - first) * p.image_rows;
        WindowGemmShape window = p.window, product = p.product;
        window.rows = product.rows = rows;
        WindowGemmOperands of_step = operands;
        of_step.src += first * p.src_image;
        of_step.dst += first * p.dst_image;
        if (of_step.residual) of_step.residual += first * p.dst_image;
        of_step.table = nullptr;
        const WindowGemmParams params = window_gemm_params(window, of_step);
        const dim3 grid(static_cast<unsigned>((rows + warps - 1) / warps),
                        static_cast<unsigned>(window.groups));
        if (window.quads && aligned_16(of_step.src))
            write_matrix<4><<<grid, dim3(32, warps), 0, stream>>>(params, matrix, row_floats);
        else
            write_matrix<1><<<grid, dim3(32, warps), 0, stream>>>(params, matrix, row_floats);
        of_step.src = matrix;
        of_step.workspace = matrix + (p.matrix_bytes + alignment - 1) / alignment * alignment / sizeof(float);
        window_gemm(product, of_step, stream);
    }
}

}  // namespace convlens::cuda

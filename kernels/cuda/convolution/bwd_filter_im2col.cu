#include "kernels/cuda/convolution/bwd_filter_im2col.h"

#include <algorithm>

#include "kernels/cuda/convolution/bwd_filter_kernel.cuh"

namespace convlens::cuda {
namespace {

using namespace filter_gradient;

constexpr std::int64_t most_matrix_bytes = std::int64_t{1} << 30;
constexpr int block_cells = 8;

// A warp writes the row of one cell, of one group.
__global__ void __launch_bounds__(32 * block_cells)
    write_matrix(const __grid_constant__ Args a, float* matrix, std::int64_t row_floats) {
    const std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * block_cells + threadIdx.y;
    if (t >= a.cells) return;
    const Cell cell = cell_of(a, static_cast<std::uint32_t>(t));
    const auto group = static_cast<std::int64_t>(blockIdx.y);
    const unsigned char* src = a.src + group * a.src_group + cell.source.offset;
    float* to = matrix + t * row_floats + group * a.finish.rows;
#pragma unroll 4
    for (std::int64_t i = threadIdx.x; i < a.finish.rows; i += 32) {
        const RowPlace place = place_of(a.finish, static_cast<std::uint32_t>(i));
        const std::int32_t d = place.d * a.dilation_d, h = place.h * a.dilation_h, w = place.w * a.dilation_w;
        float value = 0;
        if (is_inside(cell.diff.d, d, a.size_d) && is_inside(cell.source.h, h, a.size_h) &&
            is_inside(cell.source.w, w, a.size_w))
            value = *reinterpret_cast<const float*>(src + place.c * a.src_c + d * a.src_d + h * a.src_h +
                                                    w * a.src_w);
        to[i] = value;
    }
}

}  // namespace

std::string bwd_filter_im2col_reject(const BwdFilterParams& problem) {
    if (std::string reason = bwd_filter_reject(problem); !reason.empty()) return reason;
    const ConvolutionGeometry& g = problem.geometry;
    const double row = static_cast<double>(g.channels) * static_cast<double>(g.taps());
    if (row >= 0x1p31 || g.groups > 65535)
        return "a row of the matrix has 2^31 values or more, or more than 65535 groups";
    if (row * static_cast<double>(g.dst_cells()) >= 0x1p40)
        return "the matrix of one image has 2^40 values or more";
    return {};
}

BwdFilterIm2col bwd_filter_im2col_params(const BwdFilterParams& problem, const DeviceTraits& traits) {
    const ConvolutionGeometry& g = problem.geometry;
    BwdFilterIm2col p;
    p.problem = problem;
    p.row = (g.channels * g.taps() + 3) / 4 * 4;
    const std::int64_t image_bytes = std::max<std::int64_t>(1, p.row * g.dst_cells() * 4);
    p.images =
        std::clamp<std::int64_t>(most_matrix_bytes / image_bytes, 1, std::max<std::int64_t>(1, g.batch));
    p.matrix_bytes = static_cast<std::size_t>((image_bytes * p.images + 255) / 256 * 256);
    BwdFilterParams of_step = problem;
    of_step.geometry.batch = std::min(p.images, g.batch);
    p.window = bwd_filter_params(of_step, FilterEngine::multiply_add, FilterMath::fp32, traits);
    ConvolutionGeometry& matrix = of_step.geometry;
    matrix.channels = g.channels * g.taps();
    matrix.src = g.dst;
    matrix.window = matrix.strides = matrix.dilations = {1, 1, 1};
    matrix.pads = {0, 0, 0};
    matrix.src_strides = {p.row * g.dst_cells(), 1, p.row * g.dst[1] * g.dst[2], p.row * g.dst[2], p.row};
    p.product = bwd_filter_params(of_step, FilterEngine::multiply_add, FilterMath::fp32, traits);
    p.workspace_bytes = p.matrix_bytes + p.product.workspace_bytes;
    return p;
}

void bwd_filter_im2col(const BwdFilterIm2col& p, const float* src, const float* diff, float* dst,
                       void* workspace, Stream stream) {
    const ConvolutionGeometry& g = p.problem.geometry;
    auto* matrix = static_cast<float*>(workspace);
    auto* parts = reinterpret_cast<float*>(static_cast<unsigned char*>(workspace) + p.matrix_bytes);
    Finish finish = finish_of(p.problem, dst, parts, p.product.splits, p.product.early);
    finish.padded_rows = p.product.padded_rows, finish.padded_outputs = p.product.padded_outputs;
    if (finish.rows * finish.outputs * finish.groups == 0) return;
    if (g.batch * g.dst_cells() == 0) return launch_scale(finish, stream);
    for (std::int64_t first = 0; first < g.batch; first += p.images) {
        const std::int64_t cells = std::min(p.images, g.batch - first) * g.dst_cells();
        Args a = bwd_filter_args(p.window, src + first * g.src_strides[0], diff + first * g.dst_strides[0]);
        a.cells = cells;
        a.finish = finish;
        const dim3 grid(static_cast<unsigned>((cells + block_cells - 1) / block_cells),
                        static_cast<unsigned>(g.groups));
        write_matrix<<<grid, dim3(32, block_cells), 0, stream>>>(a, matrix, p.row);
        BwdFilter product = p.product;
        product.cells = cells;
        product.steps = (cells + 31) / 32;
        bwd_filter_products(product, finish, matrix, diff + first * g.dst_strides[0], parts, stream);
        finish.beta = 1;
    }
}

}  // namespace convlens::cuda

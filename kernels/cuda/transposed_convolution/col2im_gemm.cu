#include "kernels/cuda/transposed_convolution/col2im_gemm.h"

#include <algorithm>

#include "kernels/cuda/activation_call.cuh"
#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/fast_division.h"
#include "kernels/cuda/gemm/batched_gemm.h"
#include "kernels/cuda/transposed_convolution/hits.cuh"

namespace convlens::cuda {
namespace {

constexpr int block_threads = 128;
constexpr int cell_outputs = 4;  // of a thread of the gathering kernel

std::int64_t cells(const ConvolutionGeometry& g) { return g.src[0] * g.src[1] * g.src[2]; }
std::int64_t group_channels(const ConvolutionGeometry& g) { return g.channels / g.groups; }
std::int64_t group_outputs(const ConvolutionGeometry& g) { return g.outputs / g.groups; }
// Columns of one source cell: of one group, of all.
std::int64_t group_width(const ConvolutionGeometry& g) { return g.taps() * group_outputs(g); }
std::int64_t row_length(const ConvolutionGeometry& g) { return g.taps() * g.outputs; }
std::int64_t padded(std::int64_t width) { return (width + 3) / 4 * 4; }

// Whether the cells of all images are rows of one matrix: channels side by side, one step between cells.
bool is_matrix(const ConvolutionGeometry& g) {
    const Strides5& s = g.src_strides;
    return s[1] == 1 && (g.src[1] == 1 || s[3] == g.src[2] * s[4]) &&
           (g.src[0] == 1 || s[2] == g.src[1] * g.src[2] * s[4]) && (s[4] >= g.channels || cells(g) == 1);
}

struct GatherJob {
    ConvolutionGeometry g;
    HitAxis<int> d, h, w;
    FastDivision outputs, group_outputs, width, height, depth;  // outputs: blocks of a group's
    int groups;
    bool outputs_inside;  // threads follow the outputs first, else the cells
    std::int64_t threads, length, image_columns;
    const float* columns;
    const float* bias;
    Activation activation;
    float* dst;
};

// A thread: up to `cell_outputs` outputs of one cell, all of one group. A chunk's image is a row of the grid.
__global__ void __launch_bounds__(block_threads) gather_kernel(GatherJob job) {
    let_next_kernel_start();
    wait_for_previous_kernel();
    const std::int64_t position = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
    if (position >= job.threads) return;
    auto rest = static_cast<std::uint32_t>(position);
    std::uint32_t block = 0, group = 0;
    if (job.outputs_inside) block = job.outputs.split(rest);
    const auto x = static_cast<int>(job.width.split(rest)), y = static_cast<int>(job.height.split(rest));
    const auto z = static_cast<int>(job.depth.split(rest));
    if (!job.outputs_inside) block = job.outputs.split(rest);
    const std::uint32_t image = blockIdx.y;
    group = block;
    const auto first = static_cast<int>(job.group_outputs.split(group)) * cell_outputs;
    const auto outputs = static_cast<int>(job.g.outputs / job.groups);
    const int count = min(cell_outputs, outputs - first);
    const TapHits<int> ds = tap_hits(job.d, z), hs = tap_hits(job.h, y), ws = tap_hits(job.w, x);
    const auto window_h = static_cast<int>(job.g.window[1]), window_w = static_cast<int>(job.g.window[2]);
    const auto taps = static_cast<int>(job.g.taps());
    const float* columns =
        job.columns + image * job.image_columns + static_cast<std::int64_t>(group) * taps * outputs + first;
    float sums[cell_outputs] = {};
    for (int i = 0; i < ds.count; ++i)
        for (int j = 0; j < hs.count; ++j) {
            const int row =
                ((ds.index - i * job.d.index_step) * job.h.src + hs.index - j * job.h.index_step) *
                    job.w.src +
                ws.index;
            const int tap =
                ((ds.tap + i * job.d.tap_step) * window_h + hs.tap + j * job.h.tap_step) * window_w + ws.tap;
            const float* from = columns + row * job.length + tap * outputs;
            const std::int64_t step = job.w.tap_step * outputs - job.w.index_step * job.length;
            for (int l = 0; l < ws.count; ++l, from += step)
#pragma unroll
                for (int k = 0; k < cell_outputs; ++k)
                    if (k < count) sums[k] += from[k];
        }
    const std::int64_t output = static_cast<std::int64_t>(group) * outputs + first;
    float* to = job.dst + image * job.g.dst_strides[0] + output * job.g.dst_strides[1] +
                z * job.g.dst_strides[2] + y * job.g.dst_strides[3] + x * job.g.dst_strides[4];
#pragma unroll
    for (int k = 0; k < cell_outputs; ++k) {
        if (k >= count) break;
        const float sum = job.bias ? sums[k] + job.bias[output + k] : sums[k];
        to[k * job.g.dst_strides[1]] = activate_or_call(job.activation, sum);
    }
}

// Cells x channels of one image, 32 x 32 at a time through shared memory: read along the cells, written along
// the channels. Images of a chunk are rows of the grid.
__global__ void __launch_bounds__(256)
    copy_cells_kernel(ConvolutionGeometry g, const float* src, float* copy) {
    __shared__ float tile[32][33];
    const auto count = static_cast<std::uint32_t>(g.src[0] * g.src[1] * g.src[2]);
    const auto channel_blocks = static_cast<std::uint32_t>((g.channels + 31) / 32);
    const std::uint32_t channel0 = blockIdx.x % channel_blocks * 32, cell0 = blockIdx.x / channel_blocks * 32;
    const std::uint32_t cell = cell0 + threadIdx.x;
    const float* image = src + blockIdx.y * g.src_strides[0];
    if (cell < count) {
        const auto width = static_cast<std::uint32_t>(g.src[2]),
                   height = static_cast<std::uint32_t>(g.src[1]);
        const std::uint32_t line = cell / width;
        image += cell % width * g.src_strides[4] + line % height * g.src_strides[3] +
                 line / height * g.src_strides[2];
        for (std::uint32_t c = threadIdx.y; c < 32 && channel0 + c < g.channels; c += 8)
            tile[c][threadIdx.x] = image[(channel0 + c) * g.src_strides[1]];
    }
    __syncthreads();
    const std::uint32_t channel = channel0 + threadIdx.x;
    if (channel >= g.channels) return;
    float* to = copy + static_cast<std::int64_t>(blockIdx.y) * count * g.channels + channel;
    for (std::uint32_t i = threadIdx.y; i < 32 && cell0 + i < count; i += 8)
        to[static_cast<std::int64_t>(cell0 + i) * g.channels] = tile[threadIdx.x][i];
}

std::int64_t columns_floats(const Col2imGemmParams& params) {
    return (params.images * cells(params.geometry) * row_length(params.geometry) + 15) / 16 * 16;
}

void gather(const Col2imGemmParams& params, std::int64_t images, const float* columns, const float* bias,
            float* dst, Stream stream) {
    const ConvolutionGeometry& g = params.geometry;
    GatherJob job{};
    job.g = g;
    job.d = hit_axis<int>(g, 0), job.h = hit_axis<int>(g, 1), job.w = hit_axis<int>(g, 2);
    const std::int64_t blocks = (group_outputs(g) + cell_outputs - 1) / cell_outputs;
    job.group_outputs = FastDivision(blocks);
    job.outputs = FastDivision(blocks * g.groups);
    job.width = FastDivision(g.dst[2]), job.height = FastDivision(g.dst[1]),
    job.depth = FastDivision(g.dst[0]);
    job.groups = static_cast<int>(g.groups);
    job.outputs_inside = g.dst_strides[1] == 1;
    job.threads = blocks * g.groups * g.dst_cells();
    job.length = row_length(g);
    job.image_columns = cells(g) * row_length(g);
    job.columns = columns, job.bias = bias, job.dst = dst;
    job.activation = params.activation;
    const auto grid = dim3(static_cast<unsigned>((job.threads + block_threads - 1) / block_threads),
                           static_cast<unsigned>(images));
    launch_dependent(params.traits.major >= 9, gather_kernel, grid, dim3(block_threads), 0, stream, job);
}

constexpr std::int64_t most_workspace = std::int64_t{256} << 20;
constexpr std::int64_t most_images = 65535;  // rows of a grid

}  // namespace

bool col2im_gemm_fits(const ConvolutionGeometry& g) {
    constexpr double limit = 0x1p31;
    const auto real = [](std::int64_t value) { return static_cast<double>(value); };
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (real(g.dst[axis]) + 2 * real(g.pads[axis]) + real(g.window[axis]) * real(g.dilations[axis]) >=
            limit / 4)
            return false;
        if (real(g.src[axis]) * real(g.strides[axis]) >= limit / 4 || real(g.strides[axis]) >= limit / 4)
            return false;
    }
    const double width = real(g.taps()) * real(g.outputs);
    return width < limit / 4 && real(g.src[0]) * real(g.src[1]) * real(g.src[2]) < limit / 4 &&
           real(g.dst[0]) * real(g.dst[1]) * real(g.dst[2]) * real(g.outputs) < limit / 4 &&
           real(g.channels) < limit / 4;
}

Col2imGemmParams col2im_gemm_params(const ConvolutionGeometry& g, const Activation& activation,
                                    const DeviceTraits& traits) {
    Col2imGemmParams params;
    params.geometry = g;
    params.activation = activation;
    params.traits = traits;
    params.matrix = is_matrix(g) && (g.batch <= 1 || g.src_strides[0] == cells(g) * g.src_strides[4]);
    // One image may lie as a matrix where the batch doesn't.
    const bool alone = !params.matrix && is_matrix(g);
    params.matrix |= alone;
    if (alone || g.batch == 0) return params;
    const std::int64_t bytes = cells(g) * (row_length(g) + (params.matrix ? 0 : g.channels)) * 4;
    // Numbers of rows are 31 bits in the product.
    const std::int64_t rows = (std::int64_t{1} << 30) / cells(g);
    params.images =
        std::clamp<std::int64_t>(most_workspace / bytes, 1, std::min({g.batch, rows, most_images}));
    const std::int64_t chunks = (g.batch + params.images - 1) / params.images;
    params.images = (g.batch + chunks - 1) / chunks;
    return params;
}

std::size_t col2im_gemm_packed_size(const ConvolutionGeometry& g) {
    return static_cast<std::size_t>(g.groups * group_channels(g) * padded(group_width(g)));
}

void col2im_gemm_pack(const ConvolutionGeometry& g, const float* weights, float* packed) {
    const std::int64_t outputs = group_outputs(g), taps = g.taps(), width = padded(group_width(g));
    std::fill_n(packed, col2im_gemm_packed_size(g), 0.0f);
    for (std::int64_t c = 0; c < g.channels; ++c)
        for (std::int64_t k = 0; k < outputs; ++k)
            for (std::int64_t tap = 0; tap < taps; ++tap)
                packed[c * width + tap * outputs + k] = weights[(c * outputs + k) * taps + tap];
}

std::size_t col2im_gemm_workspace_bytes(const Col2imGemmParams& params) {
    const ConvolutionGeometry& g = params.geometry;
    const std::int64_t copy = params.matrix ? 0 : params.images * cells(g) * g.channels;
    return static_cast<std::size_t>(columns_floats(params) + copy) * sizeof(float);
}

void col2im_gemm(const Col2imGemmParams& params, const float* src, const float* packed, const float* bias,
                 float* dst, void* workspace, Stream stream) {
    const ConvolutionGeometry& g = params.geometry;
    auto* columns = static_cast<float*>(workspace);
    float* copy = columns + columns_floats(params);
    for (std::int64_t n = 0; n < g.batch; n += params.images) {
        const std::int64_t images = std::min(params.images, g.batch - n);
        const float* image = src + n * g.src_strides[0];
        BatchedGemm gemm;
        gemm.batch = g.groups;
        gemm.rows = images * cells(g), gemm.columns = group_width(g), gemm.depth = group_channels(g);
        gemm.a = image, gemm.a_row = g.src_strides[4], gemm.a_batch = gemm.depth;
        if (!params.matrix) {
            const std::int64_t blocks = (cells(g) + 31) / 32 * ((g.channels + 31) / 32);
            copy_cells_kernel<<<dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(images)),
                                dim3(32, 8), 0, stream>>>(g, image, copy);
            gemm.a = copy, gemm.a_row = g.channels;
        }
        gemm.b = packed, gemm.b_row = padded(gemm.columns), gemm.b_batch = gemm.depth * gemm.b_row;
        gemm.d = columns, gemm.d_row = row_length(g), gemm.d_batch = gemm.columns;
        gemm.may_split = params.split;
        gemm.overlaps_previous = params.traits.major >= 9;
        gemm.tile = params.gemm_tile;
        batched_gemm(gemm, params.traits, stream);
        gather(params, images, columns, bias, dst + n * g.dst_strides[0], stream);
    }
}

}  // namespace convlens::cuda

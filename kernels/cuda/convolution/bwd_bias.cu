#include "kernels/cuda/convolution/bwd_bias.h"

#include <algorithm>

#include "kernels/cuda/float_element.cuh"

namespace convlens::cuda {
namespace {

constexpr int block_threads = 256;
constexpr int lanes = 32, rows_of_threads = block_threads / lanes;

// The part of `count` cells that belongs to this block of the grid's y.
struct Part {
    std::int64_t first, end;
};
__device__ Part part_of(std::int64_t count) {
    return {count * blockIdx.y / gridDim.y, count * (blockIdx.y + 1) / gridDim.y};
}

// Grid: (channels / 32, splits). Cells lie `outer_stride` elements apart.
template <class T>
__global__ void __launch_bounds__(block_threads)
    channels_kernel(const BwdBiasSums p, const T* src, float* sums) {
    __shared__ float partial[rows_of_threads][lanes];
    const int lane = threadIdx.x % lanes, row = threadIdx.x / lanes;
    const std::int64_t k = std::int64_t{blockIdx.x} * lanes + lane;
    const Part part = part_of(p.outer);
    float sum = 0;
    if (k < p.params.channels)
        for (std::int64_t i = part.first + row; i < part.end; i += rows_of_threads)
            sum += load_float(src[i * p.outer_stride + k]);
    partial[row][lane] = sum;
    __syncthreads();
    if (row != 0 || k >= p.params.channels) return;
    for (int i = 1; i < rows_of_threads; ++i) sum += partial[i][lane];
    sums[blockIdx.y * p.params.channels + k] = sum;
}

// Grid: (channels, splits). The cells of an image are neighbours.
template <class T>
__global__ void __launch_bounds__(block_threads)
    cells_kernel(const BwdBiasSums p, const T* src, float* sums) {
    __shared__ float partial[block_threads / 32];
    const std::int64_t k = blockIdx.x;
    const Part part = part_of(p.outer * p.inner);
    float sum = 0;
    for (std::int64_t n = part.first / max(p.inner, std::int64_t{1}); n * p.inner < part.end; ++n) {
        const T* image = src + n * p.outer_stride + k * p.params.strides[1];
        const std::int64_t first = max(part.first - n * p.inner, std::int64_t{0});
        const std::int64_t end = min(part.end - n * p.inner, p.inner);
        for (std::int64_t i = first + threadIdx.x; i < end; i += block_threads) sum += load_float(image[i]);
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int i = 1; i < block_threads / 32; ++i) sum += partial[i];
    sums[blockIdx.y * p.params.channels + k] = sum;
}

template <class To>
__global__ void __launch_bounds__(block_threads)
    finish_kernel(const BwdBiasSums p, const float* sums, To* dst) {
    const std::int64_t k = std::int64_t{blockIdx.x} * block_threads + threadIdx.x;
    if (k >= p.params.channels) return;
    float sum = 0;
    for (int i = 0; i < p.splits; ++i) sum += sums[i * p.params.channels + k];
    To* at = dst + p.params.dst_offset + k * p.params.dst_stride;
    float value = p.params.alpha * sum;
    if (p.params.beta != 0) value += p.params.beta * load_float(*at);
    *at = store_float<To>(value);
}

template <class T, class To>
void run(const BwdBiasSums& p, const void* src, void* dst, void* workspace, Stream stream) {
    const auto* data = static_cast<const T*>(src) + p.params.src_offset;
    auto* sums = static_cast<float*>(workspace);
    const auto splits = static_cast<unsigned>(p.splits);
    const std::int64_t channels = p.params.channels;
    if (p.channels_last)
        channels_kernel<T><<<dim3(static_cast<unsigned>((channels + lanes - 1) / lanes), splits),
                             block_threads, 0, stream>>>(p, data, sums);
    else
        cells_kernel<T>
            <<<dim3(static_cast<unsigned>(channels), splits), block_threads, 0, stream>>>(p, data, sums);
    finish_kernel<To>
        <<<static_cast<unsigned>((channels + block_threads - 1) / block_threads), block_threads, 0, stream>>>(
            p, sums, static_cast<To*>(dst));
}

// Whether the axes D H W lie one within the other as one axis of `step` elements.
bool joined(const BwdBiasParams& p, std::int64_t step, std::int64_t& end) {
    for (std::size_t axis = 3; axis-- > 0;) {
        if (p.cells[axis] != 1 && p.strides[axis + 2] != step) return false;
        step *= p.cells[axis];
    }
    end = step;
    return true;
}

bool is_channels_last(const BwdBiasParams& p) {
    std::int64_t image = 0;
    const std::int64_t pitch = p.cells[2] > 1   ? p.strides[4]
                               : p.cells[1] > 1 ? p.strides[3]
                               : p.cells[0] > 1 ? p.strides[2]
                                                : p.strides[0];
    return (p.strides[1] == 1 || p.channels == 1) && pitch > 0 && joined(p, pitch, image) &&
           (p.batch <= 1 || p.strides[0] == image);
}

bool has_neighbouring_cells(const BwdBiasParams& p) {
    std::int64_t image = 0;
    return joined(p, 1, image);
}

constexpr std::int64_t most_channels = 0x7fffffff;

}  // namespace

std::string bwd_bias_sums_reject(const BwdBiasParams& p) {
    if (p.type == ElementType::f64) return "f64 is summed by direct only";
    if (!is_channels_last(p) && !has_neighbouring_cells(p))
        return "neither the channels nor the cells of an image are neighbours";
    if (p.channels > most_channels) return "more than 2^31 channels";
    return {};
}

BwdBiasSums bwd_bias_sums(const BwdBiasParams& params, const DeviceTraits& traits) {
    BwdBiasSums p;
    p.params = params;
    p.channels_last = is_channels_last(params);
    const std::int64_t cells = params.cells[0] * params.cells[1] * params.cells[2];
    std::int64_t blocks = params.channels, work = params.batch * cells;
    if (p.channels_last) {
        p.outer = params.batch * cells;
        p.inner = 1;
        p.outer_stride = params.cells[2] > 1   ? params.strides[4]
                         : params.cells[1] > 1 ? params.strides[3]
                         : params.cells[0] > 1 ? params.strides[2]
                                               : params.strides[0];
        blocks = (params.channels + lanes - 1) / lanes;
        work = p.outer * lanes;
    } else {
        p.outer = params.batch;
        p.inner = cells;
        p.outer_stride = params.strides[0];
    }
    // Eight blocks a multiprocessor, and enough cells for each that its reduction is little of the work.
    const std::int64_t wanted =
        (std::int64_t{8} * traits.multiprocessors + blocks - 1) / std::max<std::int64_t>(blocks, 1);
    p.splits = static_cast<int>(std::clamp<std::int64_t>(std::min(wanted, work / 2048), 1, 1024));
    return p;
}

std::size_t bwd_bias_sums_workspace_bytes(const BwdBiasSums& p) {
    return static_cast<std::size_t>(p.splits) * static_cast<std::size_t>(p.params.channels) * sizeof(float);
}

void convolution_bwd_bias_sums(const BwdBiasSums& p, const void* src, void* dst, void* workspace,
                               Stream stream) {
    if (p.params.channels == 0) return;
    const bool wide = p.params.dst_type == ElementType::f32;
    switch (p.params.type) {
        case ElementType::f16:
            return wide ? run<__half, float>(p, src, dst, workspace, stream)
                        : run<__half, __half>(p, src, dst, workspace, stream);
        case ElementType::bf16:
            return wide ? run<__nv_bfloat16, float>(p, src, dst, workspace, stream)
                        : run<__nv_bfloat16, __nv_bfloat16>(p, src, dst, workspace, stream);
        default:
            return run<float, float>(p, src, dst, workspace, stream);
    }
}

}  // namespace convlens::cuda

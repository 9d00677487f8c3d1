// How wgmma_convolution.h's kernels get src: tensor maps, and the copy into the workspace.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/cuda/convolution/wgmma_args.h"
#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/tensor_map.h"

namespace convlens::cuda::wgmma {
namespace {

// The TF32 type rounds in the copy; the split wants every bit.
CUtensorMapDataType map_type(const WgmmaConvolution& p) {
    if (p.type == ElementType::f16) return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    if (p.type == ElementType::bf16) return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    return p.math == MmaMath::tf32 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}

cuuint64_t wide(std::int64_t value) { return static_cast<cuuint64_t>(value); }

// Axes c w h n; rows of windows are made by the copy.
bool make_im2col_map(const WgmmaConvolution& p, const void* src, CUtensorMap& map) {
    static const auto encode = reinterpret_cast<EncodeIm2col>(driver_function("cuTensorMapEncodeIm2col"));
    if (encode == nullptr) return false;
    const ConvolutionGeometry& g = p.geometry;
    const bool staged = p.source == WgmmaSource::staged;
    const auto size = static_cast<std::int64_t>(size_of(p.type));
    const std::int64_t channels = staged ? p.staged_c : g.channels;
    // Strides of axes of length 1 are never used, but must be valid.
    const auto bytes = [&](std::int64_t length, std::int64_t stride, std::int64_t of_copy) {
        return wide(size * (staged ? of_copy : length == 1 ? channels : stride));
    };
    const cuuint64_t dims[] = {wide(channels), wide(g.src[2]), wide(g.src[1]), wide(g.batch)};
    const cuuint64_t strides[] = {bytes(g.src[2], g.src_strides[4], channels),
                                  bytes(g.src[1], g.src_strides[3], channels * g.src[2]),
                                  bytes(g.batch, g.src_strides[0], channels * g.src[2] * g.src[1])};
    int lower[2], upper[2];
    for (int i = 0; i < 2; ++i) {
        const auto axis = static_cast<std::size_t>(2 - i);
        lower[i] = static_cast<int>(-g.pads[axis]);
        upper[i] = static_cast<int>((g.dst[axis] - 1) * g.strides[axis] - g.pads[axis] - (g.src[axis] - 1));
    }
    const cuuint32_t steps[] = {1, static_cast<cuuint32_t>(g.strides[2]),
                                static_cast<cuuint32_t>(g.strides[1]), 1};
    return encode(&map, map_type(p), 4, const_cast<void*>(src), dims, strides, lower, upper,
                  static_cast<cuuint32_t>(128 / size), static_cast<cuuint32_t>(tiles[p.tile].m), steps,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

// Axes: the run of a row of a window, q, row of the window, p, n. Windows overlap, and so do the axes.
bool make_runs_map(const WgmmaConvolution& p, const void* staged, CUtensorMap& map) {
    static const auto encode = reinterpret_cast<EncodeTiled>(driver_function("cuTensorMapEncodeTiled"));
    if (encode == nullptr) return false;
    const ConvolutionGeometry& g = p.geometry;
    const auto size = static_cast<std::int64_t>(size_of(p.type));
    const std::int64_t cell = p.staged_c * size, row = cell * p.staged_w;
    const cuuint64_t dims[] = {wide(g.window[2] * p.staged_c), wide(g.dst[2]), wide(g.window[1]),
                               wide(g.dst[1]), wide(g.batch)};
    const cuuint64_t strides[] = {wide(cell * g.strides[2]), wide(row * g.dilations[1]),
                                  wide(row * g.strides[1]), wide(row * p.staged_h)};
    const cuuint32_t box[] = {static_cast<cuuint32_t>(128 / size), static_cast<cuuint32_t>(p.tile_w), 1,
                              static_cast<cuuint32_t>(tiles[p.tile].m / p.tile_w), 1};
    const cuuint32_t steps[] = {1, 1, 1, 1, 1};
    return encode(&map, map_type(p), 5, const_cast<void*>(staged), dims, strides, box, steps,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

// A thread copies 8 channels (or all, if there are fewer) of one cell; neighbours are cells in a row.
template <class T>
__global__ __launch_bounds__(256) void stage(const __grid_constant__ Stage s) {
    wait_for_previous_kernel();
    let_next_kernel_start();
    constexpr int most = 8;
    const std::int64_t groups = (s.c + most - 1) / most, count = s.cells * groups;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x; i < count;
         i += static_cast<std::int64_t>(gridDim.x) * 256) {
        const std::int64_t line = i / s.w, group = line % groups, image_row = line / groups;
        const int w = static_cast<int>(i - line * s.w) - s.pad_w;
        const int h = static_cast<int>(image_row % s.h) - s.pad_h;
        const std::int64_t n = image_row / s.h, c = group * most;
        const bool inside = h >= 0 && h < s.src_h && w >= 0 && w < s.src_w;
        const T* from = static_cast<const T*>(s.src) + n * s.stride_n + h * s.stride_h + w * s.stride_w;
        T* to = static_cast<T*>(s.staged) + (image_row * s.w + (i - line * s.w)) * s.c + c;
        alignas(16) T values[most];
#pragma unroll
        for (int j = 0; j < most; ++j)
            values[j] = inside && c + j < s.src_c ? from[(c + j) * s.stride_c] : T{};
        constexpr int chunk = 16 / static_cast<int>(sizeof(T));
#pragma unroll
        for (int j = 0; j < most; j += chunk)
            if (c + j < s.c) *reinterpret_cast<uint4*>(to + j) = *reinterpret_cast<const uint4*>(values + j);
    }
}

}  // namespace

bool make_map(const WgmmaConvolution& p, const void* src, CUtensorMap_st& map) {
    return p.source == WgmmaSource::runs ? make_runs_map(p, src, map) : make_im2col_map(p, src, map);
}

void launch_stage(const WgmmaConvolution& p, const void* src, void* staged, Stream stream) {
    const ConvolutionGeometry& g = p.geometry;
    const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    const bool pads = p.source == WgmmaSource::runs;
    const Stage s{src,
                  staged,
                  g.src_strides[0],
                  g.src_strides[1],
                  g.src_strides[3],
                  g.src_strides[4],
                  g.batch * p.staged_h * p.staged_w,
                  narrow(g.channels),
                  narrow(g.src[1]),
                  narrow(g.src[2]),
                  narrow(p.staged_c),
                  narrow(p.staged_h),
                  narrow(p.staged_w),
                  narrow(pads ? g.pads[1] : 0),
                  narrow(pads ? g.pads[2] : 0)};
    const std::int64_t blocks = std::min<std::int64_t>((s.cells * ((s.c + 7) / 8) + 255) / 256, 1 << 20);
    const auto grid = static_cast<unsigned>(blocks);
    if (size_of(p.type) == 2)
        launch_dependent(true, stage<std::uint16_t>, dim3(grid), dim3(256), 0, stream, s);
    else
        launch_dependent(true, stage<std::uint32_t>, dim3(grid), dim3(256), 0, stream, s);
}

}  // namespace convlens::cuda::wgmma

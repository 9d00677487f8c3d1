// Launches of wgmma_convolution.h, and its plain kernel for a src that is not aligned.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/cuda/convolution/tensor_core_epilogue.cuh"
#include "kernels/cuda/convolution/wgmma_args.h"

namespace convlens::cuda {
namespace {

using mma::Epilogue;
using wgmma::Args;
using wgmma::FilterLayout;

// One thread for each output, k fastest.
struct PlainArgs {
    const void* src;
    std::int64_t stride_n, stride_h, stride_w;
    std::int32_t src_h, src_w, window_h, channels;
    FilterLayout layout;
    MmaMath math;
};

template <class T>
__global__ __launch_bounds__(128) void convolve_plainly(const __grid_constant__ Args a,
                                                        const __grid_constant__ PlainArgs p) {
    const Epilogue& e = a.epilogue;
    const std::int64_t step_bytes = wgmma::step_bytes(p.layout, a.blocks_n8);
    const auto weight = [&](const unsigned char* step, std::int64_t k, int c) {
        const unsigned char* at = step + wgmma::filter_byte(p.layout, k, c);
        if (p.layout.bytes == 4) {
            const float high = *reinterpret_cast<const float*>(at);
            return p.layout.split ? high + *reinterpret_cast<const float*>(at + step_bytes / 2) : high;
        }
        return p.math == MmaMath::bf16 ? load_float(*reinterpret_cast<const __nv_bfloat16*>(at))
                                       : load_float(*reinterpret_cast<const __half*>(at));
    };
    const std::int64_t count = e.rows * e.outputs;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 128 + threadIdx.x; i < count;
         i += static_cast<std::int64_t>(gridDim.x) * 128) {
        const std::int64_t row = i / e.outputs, k = i - row * e.outputs;
        const mma::Cell cell = mma::cell_of_row(row, 1, e.dst_h, e.dst_w);
        float sum = 0;
        for (int tap = 0; tap < p.window_h * a.window_w; ++tap) {
            const int h = cell.h * a.step_h - a.pad_h + tap / a.window_w * a.dilation_h;
            const int w = cell.w * a.step_w - a.pad_w + tap % a.window_w * a.dilation_w;
            if (h < 0 || h >= p.src_h || w < 0 || w >= p.src_w) continue;
            const T* from =
                static_cast<const T*>(p.src) + cell.n * p.stride_n + h * p.stride_h + w * p.stride_w;
            const unsigned char* step =
                a.filter + static_cast<std::int64_t>(tap) * a.channel_steps * step_bytes;
            for (int c = 0; c < p.channels; ++c)
                sum += load_float(from[c]) *
                       weight(step + c / p.layout.elements * step_bytes, k, c % p.layout.elements);
        }
        mma::finish<T>(e, mma::dst_offset_of(e, cell) + k * e.stride_k, k, sum);
    }
}

void launch_plainly(const WgmmaConvolution& p, const Args& a, const void* src, Stream stream) {
    const ConvolutionGeometry& g = p.geometry;
    const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    const PlainArgs plain{src,
                          g.src_strides[0],
                          g.src_strides[3],
                          g.src_strides[4],
                          narrow(g.src[1]),
                          narrow(g.src[2]),
                          narrow(g.window[1]),
                          narrow(g.channels),
                          wgmma::filter_layout(p.type, p.math),
                          p.math};
    const std::int64_t blocks =
        std::min<std::int64_t>((a.epilogue.rows * a.epilogue.outputs + 127) / 128, 1 << 20);
    const auto grid = static_cast<unsigned>(blocks);
    if (p.type == ElementType::f16)
        convolve_plainly<__half><<<grid, 128, 0, stream>>>(a, plain);
    else if (p.type == ElementType::bf16)
        convolve_plainly<__nv_bfloat16><<<grid, 128, 0, stream>>>(a, plain);
    else
        convolve_plainly<float><<<grid, 128, 0, stream>>>(a, plain);
}

Args args_of(const WgmmaConvolution& p, const TensorCoreOperands& operands) {
    const ConvolutionGeometry& g = p.geometry;
    const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    Args a;
    a.filter = static_cast<const unsigned char*>(operands.packed);
    a.steps = narrow(p.steps);
    a.splits = p.splits;
    a.tiles_n = narrow((g.outputs + wgmma::tiles[p.tile].n - 1) / wgmma::tiles[p.tile].n);
    a.blocks_n8 = narrow(p.blocks_n8);
    a.channel_steps = narrow(p.channel_steps);
    a.window_w = narrow(g.window[2]);
    a.dilation_h = narrow(g.dilations[1]), a.dilation_w = narrow(g.dilations[2]);
    a.step_h = narrow(g.strides[1]), a.step_w = narrow(g.strides[2]);
    a.pad_h = narrow(g.pads[1]), a.pad_w = narrow(g.pads[2]);
    a.outputs = narrow(g.outputs);
    a.tile_w = p.tile_w, a.tiles_w = a.tiles_h = 0;
    if (p.source == WgmmaSource::runs) {
        const std::int64_t tile_h = wgmma::tiles[p.tile].m / p.tile_w;
        a.tiles_w = narrow((g.dst[2] + p.tile_w - 1) / p.tile_w);
        a.tiles_h = narrow((g.dst[1] + tile_h - 1) / tile_h);
    }
    a.epilogue = mma::epilogue_of(g, p.type, operands);
    return a;
}

}  // namespace

const char* wgmma_convolution(const WgmmaConvolution& p, const TensorCoreOperands& operands, void* workspace,
                              Stream stream) {
    Args a = args_of(p, operands);
    if (p.source == WgmmaSource::direct && !mma::is_aligned(operands.src, 16)) {
        launch_plainly(p, a, operands.src, stream);
        return nullptr;
    }
    const bool direct = p.source == WgmmaSource::direct;
    const void* src = direct ? operands.src : workspace;
    CUtensorMap map;
    if (!wgmma::make_map(p, src, map)) return "the driver takes no such tensor map";
    if (!direct) wgmma::launch_stage(p, operands.src, workspace, stream);
    const std::int64_t rows = wgmma::tiles[p.tile].m;
    const std::int64_t tiles = p.source == WgmmaSource::runs ? p.geometry.batch * a.tiles_h * a.tiles_w
                                                             : (a.epilogue.rows + rows - 1) / rows;
    const auto grid_x = static_cast<unsigned>(tiles * a.tiles_n);
    using Launch = void (*)(const Args&, const CUtensorMap_st&, int, unsigned, Stream);
    Launch launch = wgmma::launch_tf32;
    if (p.math == MmaMath::split_tf32)
        launch = wgmma::launch_split_tf32;
    else if (p.math == MmaMath::fp16)
        launch = p.type == ElementType::f16 ? wgmma::launch_half : wgmma::launch_fp16;
    else if (p.math == MmaMath::bf16)
        launch = p.type == ElementType::bf16 ? wgmma::launch_bfloat16 : wgmma::launch_bf16;
    launch(a, map, p.tile, grid_x, stream);
    return nullptr;
}

}  // namespace convlens::cuda

#include "kernels/cuda/convolution/bwd_filter_depthwise.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/cuda/convolution/bwd_filter_args.h"
#include "kernels/cuda/float_element.cuh"

namespace convlens::cuda {
namespace {

using filter_gradient::Finish;
using filter_gradient::finish_of;

constexpr int block_warps = 8, taps_a_thread = 9;
constexpr std::int64_t most_taps = 4096;

struct Args {
    const void* src;
    const void* diff;
    float* parts;  // [split][tap][padded output]
    FastDivision dst_w, dst_h, dst_d, outputs_a_channel, window_w, window_h;
    std::int64_t cells, padded_outputs, taps;
    std::int64_t units;    // fours of cells
    FastDivision units_w;  // of a row
    std::int32_t outputs, splits;
    std::int32_t size[3], step[3], pad[3], dilation[3], reach[3];  // D H W; reach: of the whole window
    std::int64_t src_n, src_c, src_axis[3], diff_n, diff_k, diff_axis[3];
};

struct Tap {
    std::int64_t offset;
    std::int32_t d, h, w;
};

template <class T>
struct Walk {
    const Args& a;
    const Tap* taps;
    const T* src;
    const T* diff;
    float sums[taps_a_thread] = {};

    // Adds cell t; taps beyond the window have the place of no cell.
    __device__ __forceinline__ void add(std::uint32_t t) {
        const auto w = static_cast<std::int32_t>(a.dst_w.split(t)),
                   h = static_cast<std::int32_t>(a.dst_h.split(t)),
                   d = static_cast<std::int32_t>(a.dst_d.split(t)), n = static_cast<std::int32_t>(t);
        const std::int32_t x = w * a.step[2] - a.pad[2], y = h * a.step[1] - a.pad[1],
                           z = d * a.step[0] - a.pad[0];
        const T* from = src + (n * a.src_n + z * a.src_axis[0] + y * a.src_axis[1] + x * a.src_axis[2]);
        const float dy =
            load_float(diff[n * a.diff_n + d * a.diff_axis[0] + h * a.diff_axis[1] + w * a.diff_axis[2]]);
        if (x >= 0 && y >= 0 && z >= 0 && x + a.reach[2] < a.size[2] && y + a.reach[1] < a.size[1] &&
            z + a.reach[0] < a.size[0]) {
#pragma unroll
            for (int i = 0; i < taps_a_thread; ++i)
                sums[i] = fmaf(dy, load_float(from[taps[i].offset]), sums[i]);
            return;
        }
#pragma unroll
        for (int i = 0; i < taps_a_thread; ++i) {
            const Tap tap = taps[i];
            const bool inside =
                static_cast<std::uint32_t>(x + tap.w) < static_cast<std::uint32_t>(a.size[2]) &&
                static_cast<std::uint32_t>(y + tap.h) < static_cast<std::uint32_t>(a.size[1]) &&
                static_cast<std::uint32_t>(z + tap.d) < static_cast<std::uint32_t>(a.size[0]);
            if (inside) sums[i] = fmaf(dy, load_float(from[tap.offset]), sums[i]);
        }
    }
};

// Lanes are outputs, warps are cells; or all threads are cells of one output.
template <class T, bool AlongOutputs>
__global__ void __launch_bounds__(32 * block_warps) depthwise(const __grid_constant__ Args a) {
    __shared__ Tap taps[taps_a_thread];
    __shared__ float shared[block_warps][taps_a_thread][32];
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const std::int64_t first_tap = static_cast<std::int64_t>(blockIdx.y) * taps_a_thread;
    if (threadIdx.x < taps_a_thread) {
        // Threads beyond the window repeat its last tap; their sums are dropped.
        auto rest = static_cast<std::uint32_t>(min(first_tap + threadIdx.x, a.taps - 1));
        Tap tap;
        tap.w = static_cast<std::int32_t>(a.window_w.split(rest)) * a.dilation[2];
        tap.h = static_cast<std::int32_t>(a.window_h.split(rest)) * a.dilation[1];
        tap.d = static_cast<std::int32_t>(rest) * a.dilation[0];
        tap.offset = tap.d * a.src_axis[0] + tap.h * a.src_axis[1] + tap.w * a.src_axis[2];
        taps[threadIdx.x] = tap;
    }
    __syncthreads();
    const int split = static_cast<int>(blockIdx.z);
    const std::int64_t first = a.cells * split / a.splits, end = a.cells * (split + 1) / a.splits;
    const std::int64_t k = AlongOutputs ? static_cast<std::int64_t>(blockIdx.x) * 32 + lane : blockIdx.x;
    const std::int64_t c = a.outputs_a_channel.quotient(static_cast<std::uint32_t>(k));
    Walk<T> walk{a, taps, static_cast<const T*>(a.src) + c * a.src_c,
                 static_cast<const T*>(a.diff) + k * a.diff_k};
    constexpr int stride = AlongOutputs ? block_warps : 32 * block_warps;
    if (k < a.outputs)
#pragma unroll 2
        for (std::int64_t t = first + (AlongOutputs ? warp : static_cast<int>(threadIdx.x)); t < end;
             t += stride)
            walk.add(static_cast<std::uint32_t>(t));
#pragma unroll
    for (int i = 0; i < taps_a_thread; ++i) shared[warp][i][lane] = walk.sums[i];
    __syncthreads();
    float* parts = a.parts + (split * a.taps + first_tap) * a.padded_outputs;
    const int count = static_cast<int>(min(static_cast<std::int64_t>(taps_a_thread), a.taps - first_tap));
    for (int i = warp; i < count; i += block_warps) {
        float sum = 0;
#pragma unroll
        for (int other = 0; other < block_warps; ++other) sum += shared[other][i][lane];
        if constexpr (AlongOutputs) {
            if (k < a.outputs) parts[i * a.padded_outputs + k] = sum;
        } else {
#pragma unroll
            for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
            if (lane == 0) parts[i * a.padded_outputs + k] = sum;
        }
    }
}

// Three rows of a window of S columns, dilation 1 along them: four neighbouring cells of a row share what
// they read. Lanes are outputs, warps are fours of cells; or all threads are fours of cells of one output.
// Two axes.
constexpr int rows_a_thread = 3, cells_a_unit = 4;
template <class T, int S, int Step, bool AlongOutputs>
__global__ void __launch_bounds__(32 * block_warps) depthwise_rows(const __grid_constant__ Args a) {
    __shared__ float shared[block_warps][rows_a_thread * S][32];
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int first_row = static_cast<int>(blockIdx.y) * rows_a_thread, split = static_cast<int>(blockIdx.z);
    const std::int64_t first = a.units * split / a.splits, end = a.units * (split + 1) / a.splits;
    const std::int64_t k = AlongOutputs ? static_cast<std::int64_t>(blockIdx.x) * 32 + lane : blockIdx.x;
    constexpr int stride = AlongOutputs ? block_warps : 32 * block_warps;
    const auto dst_w = static_cast<std::int32_t>(a.dst_w.divisor());
    const T* src =
        static_cast<const T*>(a.src) + a.outputs_a_channel.quotient(static_cast<std::uint32_t>(k)) * a.src_c;
    const T* diff = static_cast<const T*>(a.diff) + k * a.diff_k;
    float sums[rows_a_thread][S] = {};
    if (k < a.outputs)
        for (std::int64_t unit = first + (AlongOutputs ? warp : static_cast<int>(threadIdx.x)); unit < end;
             unit += stride) {
            auto rest = static_cast<std::uint32_t>(unit);
            const auto q = static_cast<std::int32_t>(a.units_w.split(rest)) * cells_a_unit,
                       p = static_cast<std::int32_t>(a.dst_h.split(rest)),
                       n = static_cast<std::int32_t>(rest);
            const std::int32_t x0 = q * Step - a.pad[2], y0 = p * a.step[1] - a.pad[1];
            const T* from = diff + n * a.diff_n + p * a.diff_axis[1] + q * a.diff_axis[2];
            float dy[cells_a_unit];
#pragma unroll
            for (int i = 0; i < cells_a_unit; ++i)
                dy[i] = q + i < dst_w ? load_float(from[i * a.diff_axis[2]]) : 0.0f;
            constexpr int columns = (cells_a_unit - 1) * Step + S;
            float x[rows_a_thread][columns];
#pragma unroll
            for (int r = 0; r < rows_a_thread; ++r) {
                const std::int32_t y = y0 + (first_row + r) * a.dilation[1];
                const bool row = y >= 0 && y < a.size[1];
                const T* at = src + n * a.src_n + y * a.src_axis[1] + x0 * a.src_axis[2];
#pragma unroll
                for (int j = 0; j < columns; ++j)
                    x[r][j] =
                        row && x0 + j >= 0 && x0 + j < a.size[2] ? load_float(at[j * a.src_axis[2]]) : 0.0f;
            }
#pragma unroll
            for (int i = 0; i < cells_a_unit; ++i)
                if (q + i < dst_w)
#pragma unroll
                    for (int r = 0; r < rows_a_thread; ++r)
#pragma unroll
                        for (int t = 0; t < S; ++t) sums[r][t] = fmaf(dy[i], x[r][i * Step + t], sums[r][t]);
        }
#pragma unroll
    for (int r = 0; r < rows_a_thread; ++r)
#pragma unroll
        for (int t = 0; t < S; ++t) shared[warp][r * S + t][lane] = sums[r][t];
    __syncthreads();
    float* parts = a.parts + (split * a.taps + first_row * S) * a.padded_outputs;
    const int count =
        static_cast<int>(min(static_cast<std::int64_t>(rows_a_thread * S), a.taps - first_row * S));
    for (int i = warp; i < count; i += block_warps) {
        float sum = 0;
#pragma unroll
        for (int other = 0; other < block_warps; ++other) sum += shared[other][i][lane];
        if constexpr (AlongOutputs) {
            if (k < a.outputs) parts[i * a.padded_outputs + k] = sum;
        } else {
#pragma unroll
            for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
            if (lane == 0) parts[i * a.padded_outputs + k] = sum;
        }
    }
}

template <class T, int S, int Step>
void launch_rows(const Args& a, bool along_outputs, Stream stream) {
    const std::int64_t rows = a.taps / S;
    const dim3 grid(static_cast<unsigned>(along_outputs ? (a.outputs + 31) / 32 : a.outputs),
                    static_cast<unsigned>((rows + rows_a_thread - 1) / rows_a_thread),
                    static_cast<unsigned>(a.splits));
    if (along_outputs)
        depthwise_rows<T, S, Step, true><<<grid, 32 * block_warps, 0, stream>>>(a);
    else
        depthwise_rows<T, S, Step, false><<<grid, 32 * block_warps, 0, stream>>>(a);
}

template <class T>
void launch(const Args& a, bool along_outputs, bool rows, Stream stream) {
    if (rows) {
        const bool two = a.step[2] == 2;
        if (a.window_w.divisor() == 3)
            return two ? launch_rows<T, 3, 2>(a, along_outputs, stream)
                       : launch_rows<T, 3, 1>(a, along_outputs, stream);
        return two ? launch_rows<T, 5, 2>(a, along_outputs, stream)
                   : launch_rows<T, 5, 1>(a, along_outputs, stream);
    }
    const dim3 grid(static_cast<unsigned>(along_outputs ? (a.outputs + 31) / 32 : a.outputs),
                    static_cast<unsigned>((a.taps + taps_a_thread - 1) / taps_a_thread),
                    static_cast<unsigned>(a.splits));
    if (along_outputs)
        depthwise<T, true><<<grid, 32 * block_warps, 0, stream>>>(a);
    else
        depthwise<T, false><<<grid, 32 * block_warps, 0, stream>>>(a);
}

std::int64_t padded(std::int64_t outputs) { return (outputs + 3) / 4 * 4; }

Args args_of(const BwdFilterDepthwise& p, const void* src, const void* diff, void* workspace) {
    const ConvolutionGeometry& g = p.problem.geometry;
    const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    Args a;
    a.src = src, a.diff = diff, a.parts = static_cast<float*>(workspace);
    a.dst_w = FastDivision(g.dst[2]), a.dst_h = FastDivision(g.dst[1]), a.dst_d = FastDivision(g.dst[0]);
    a.outputs_a_channel = FastDivision(g.outputs / g.groups);
    a.window_w = FastDivision(g.window[2]), a.window_h = FastDivision(g.window[1]);
    a.cells = g.batch * g.dst_cells(), a.padded_outputs = padded(g.outputs), a.taps = g.taps();
    const std::int64_t units_w = (g.dst[2] + cells_a_unit - 1) / cells_a_unit;
    a.units = g.batch * g.dst[1] * units_w, a.units_w = FastDivision(units_w);
    a.outputs = narrow(g.outputs), a.splits = p.splits;
    for (std::size_t i = 0; i < 3; ++i) {
        a.size[i] = narrow(g.src[i]), a.step[i] = narrow(g.strides[i]), a.pad[i] = narrow(g.pads[i]);
        a.dilation[i] = narrow(g.dilations[i]), a.reach[i] = narrow((g.window[i] - 1) * g.dilations[i]);
        a.src_axis[i] = g.src_strides[i + 2], a.diff_axis[i] = g.dst_strides[i + 2];
    }
    a.src_n = g.src_strides[0], a.src_c = g.src_strides[1];
    a.diff_n = g.dst_strides[0], a.diff_k = g.dst_strides[1];
    return a;
}

}  // namespace

std::string bwd_filter_depthwise_reject(const BwdFilterParams& problem) {
    const ConvolutionGeometry& g = problem.geometry;
    if (g.groups != g.channels)
        return "depthwise needs as many groups as source channels, here " + std::to_string(g.groups) +
               " and " + std::to_string(g.channels);
    if (g.taps() > most_taps) return "a window of more than 4096 cells";
    return bwd_filter_reject(problem);
}

BwdFilterDepthwise bwd_filter_depthwise_params(const BwdFilterParams& problem, const DeviceTraits& traits) {
    const ConvolutionGeometry& g = problem.geometry;
    BwdFilterDepthwise p;
    p.problem = problem;
    p.early = traits.major >= 9;
    p.along_outputs = std::abs(g.dst_strides[1]) <= std::abs(g.dst_strides[4]);
    p.rows = (g.window[2] == 3 || g.window[2] == 5) && g.strides[2] <= 2 && g.dilations[2] == 1 &&
             g.window[0] == 1 && g.src[0] == 1 && g.dst[0] == 1 && g.pads[0] == 0;
    const std::int64_t tap_blocks = p.rows ? (g.window[1] + rows_a_thread - 1) / rows_a_thread
                                           : (g.taps() + taps_a_thread - 1) / taps_a_thread;
    const std::int64_t blocks = (p.along_outputs ? (g.outputs + 31) / 32 : g.outputs) * tap_blocks;
    const std::int64_t cells = g.batch * g.dst_cells(), least = p.along_outputs ? 64 : 1024;
    const std::int64_t wanted =
        std::int64_t{8} * std::max(1, traits.multiprocessors) / std::max<std::int64_t>(blocks, 1);
    p.splits = static_cast<int>(std::clamp<std::int64_t>(std::min(wanted, cells / least), 1, 512));
    p.workspace_bytes = static_cast<std::size_t>(p.splits * g.taps() * padded(g.outputs)) * sizeof(float);
    return p;
}

void bwd_filter_depthwise(const BwdFilterDepthwise& p, const void* src, const void* diff, void* dst,
                          void* workspace, Stream stream) {
    Finish finish = finish_of(p.problem, dst, static_cast<const float*>(workspace), p.splits, p.early);
    finish.outputs = p.problem.geometry.outputs, finish.padded_outputs = padded(finish.outputs);
    finish.groups = 1;
    if (p.problem.geometry.outputs * p.problem.geometry.taps() == 0) return;
    const Args a = args_of(p, src, diff, workspace);
    if (a.cells == 0) return launch_scale(finish, stream);
    if (p.problem.type == ElementType::f16)
        launch<__half>(a, p.along_outputs, p.rows, stream);
    else if (p.problem.type == ElementType::bf16)
        launch<__nv_bfloat16>(a, p.along_outputs, p.rows, stream);
    else
        launch<float>(a, p.along_outputs, p.rows, stream);
    launch_finish(finish, stream);
}

}  // namespace convlens::cuda

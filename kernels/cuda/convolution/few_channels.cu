#include "kernels/cuda/convolution/few_channels.h"

#include <algorithm>

#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/dependent_launch.cuh"

namespace convlens::cuda {
namespace {

constexpr int slice_threads = 128, tile_cells = 128, thread_rows = 8, stages = 3;

struct Params {
    const float* src;
    const float* packed;
    const float* bias;
    const float* residual;
    float* dst;
    Activation activation;
    std::int64_t src_image, src_line, dst_steps[5];
    std::int32_t height, line_floats;  // of src
    std::int32_t p, q, columns, padded_columns;
    std::int32_t window_h, dilation_h, stride_h, stride_floats, pad_h, pad_floats, cell_floats, stride_w;
    std::int32_t lines, pitch, tile_w_bits, tile_h, tiles_h, tiles_w, column_tiles;
    bool quad_dst;
};

// Slices share the rows of a window; each has 128 threads and sums of its own.
template <int run_, int thread_columns_, int slices_>
struct Shape {
    static constexpr int run = run_, thread_columns = thread_columns_, slices = slices_;
    static constexpr int threads = slices * slice_threads, columns = 8 * thread_columns;
    static constexpr int row_floats = run * columns, stage_floats = slices * row_floats;
    static constexpr int result_row = columns + 4, result_floats = slices * tile_cells * result_row;
    // Longer bodies don't stay in the instruction cache.
    static constexpr int unrolled = run <= 15 ? run : run % 11 == 0 ? 11 : 7;
    static_assert(run % unrolled == 0);
};

// One row of the window for each slice.
template <class S>
__device__ __forceinline__ void load_filter(const Params& p, int step, int column, float* stage) {
    constexpr int quads = S::columns / 4, count = S::slices * S::run * quads;
    const float* from =
        p.packed + static_cast<std::int64_t>(step) * S::slices * S::run * p.padded_columns + column;
    const int rows = (p.window_h - step * S::slices) * S::run;
#pragma unroll
    for (int i = 0; i < (count + S::threads - 1) / S::threads; ++i) {
        const int at = static_cast<int>(threadIdx.x) + i * S::threads;
        if (count % S::threads != 0 && at >= count) break;
        const int k = at / quads, quad = at % quads;
        copy_async_16(stage + k * S::columns + quad * 4, from + k * p.padded_columns + quad * 4, k < rows);
    }
}

// The block's part of src; a warp copies a line. h and first: its first line, and the first float of a line.
template <int threads>
__device__ __forceinline__ void load_patch(const Params& p, const float* image, int h, int first,
                                           float* patch) {
#pragma unroll 2
    for (int line = static_cast<int>(threadIdx.x) / 32; line < p.lines; line += threads / 32) {
        const float* from = image + (h + line) * p.src_line;
        const bool inside = static_cast<unsigned>(h + line) < static_cast<unsigned>(p.height);
#pragma unroll 4
        for (int i = static_cast<int>(threadIdx.x) % 32; i < p.pitch; i += 32) {
            const bool valid =
                inside && static_cast<unsigned>(first + i) < static_cast<unsigned>(p.line_floats);
            copy_async_4(patch + line * p.pitch + i, valid ? from + first + i : image, valid);
        }
    }
}

// One row of the window; cells: bytes from `shared`, which end behind it.
template <class S>
__device__ __forceinline__ void multiply(const char* shared, int (&cells)[thread_rows], const float* filter,
                                         float (&sums)[thread_rows][S::thread_columns]) {
#pragma unroll(S::run == S::unrolled ? 2 : 1)
    for (int first = 0; first < S::run; first += S::unrolled) {
#pragma unroll
        for (int k = 0; k < S::unrolled; ++k) {
            float left[thread_rows], right[S::thread_columns];
#pragma unroll
            for (int i = 0; i < thread_rows; ++i)
                left[i] = *reinterpret_cast<const float*>(shared + cells[i] + k * 4);
#pragma unroll
            for (int c = 0; c < S::thread_columns; c += 4)
                *reinterpret_cast<float4*>(right + c) =
                    *reinterpret_cast<const float4*>(filter + k * S::columns + c * 8);
#pragma unroll
            for (int i = 0; i < thread_rows; ++i)
#pragma unroll
                for (int c = 0; c < S::thread_columns; ++c) sums[i][c] = fmaf(left[i], right[c], sums[i][c]);
        }
#pragma unroll
        for (int i = 0; i < thread_rows; ++i) cells[i] += 4 * S::unrolled;
        filter += S::unrolled * S::columns;
    }
}

template <bool clamps>
__device__ __forceinline__ float finish(const Params& p, float sum) {
    if constexpr (clamps) return clamp_value(sum, clamp_low(p.activation), clamp_high(p.activation));
    return activate_smooth(p.activation, sum);
}

template <class S, bool clamps>
__device__ __forceinline__ void store(const Params& p, const float* results, std::int64_t n, int h, int w,
                                      int column) {
    constexpr int quads = S::columns / 4;
    const bool cells_first = p.dst_steps[1] != 1;
#pragma unroll(clamps ? 2 : 1)
    for (int i = static_cast<int>(threadIdx.x); i < tile_cells * quads; i += S::threads) {
        const int cell = cells_first ? i % tile_cells : i / quads;
        const int c = (cells_first ? i / tile_cells : i % quads) * 4;
        const int y = h + (cell >> p.tile_w_bits), x = w + (cell & ((1 << p.tile_w_bits) - 1));
        if (y >= p.p || x >= p.q || column + c >= p.columns) continue;
        float value[4];
        *reinterpret_cast<float4*>(value) =
            *reinterpret_cast<const float4*>(results + cell * S::result_row + c);
        if constexpr (S::slices == 2) {
            const float4 other =
                *reinterpret_cast<const float4*>(results + (tile_cells + cell) * S::result_row + c);
            value[0] += other.x;
            value[1] += other.y;
            value[2] += other.z;
            value[3] += other.w;
        }
        const std::int64_t at =
            n * p.dst_steps[0] + y * p.dst_steps[3] + x * p.dst_steps[4] + (column + c) * p.dst_steps[1];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const std::int64_t here = at + j * p.dst_steps[1];
            if (column + c + j >= p.columns) break;
            if (p.bias) value[j] += __ldg(p.bias + column + c + j);
            if (p.residual) value[j] += p.residual[here];
            value[j] = finish<clamps>(p, value[j]);
            if (!p.quad_dst) p.dst[here] = value[j];
        }
        if (p.quad_dst) *reinterpret_cast<float4*>(p.dst + at) = *reinterpret_cast<float4*>(value);
    }
}

template <class S>
__global__ void __launch_bounds__(S::threads, S::thread_columns == 12 ? 3 : 4 / S::slices)
    few_channels_kernel(const __grid_constant__ Params p) {
    extern __shared__ __align__(16) float shared[];
    float* patch = shared + stages * S::stage_floats;
    auto block = blockIdx.x;
    const auto take = [&](int length) {
        const auto index = static_cast<int>(block % static_cast<unsigned>(length));
        block /= static_cast<unsigned>(length);
        return index;
    };
    const int column = take(p.column_tiles) * S::columns;
    const int w = take(p.tiles_w) << p.tile_w_bits, h = take(p.tiles_h) * p.tile_h;
    const auto n = static_cast<std::int64_t>(block);
    load_filter<S>(p, 0, column, shared);
    wait_for_previous_kernel();
    let_next_kernel_start();
    load_patch<S::threads>(p, p.src + n * p.src_image, h * p.stride_h - p.pad_h,
                           w * p.stride_floats - p.pad_floats, patch);
    commit_copies();
    load_filter<S>(p, 1, column, shared + S::stage_floats);
    commit_copies();

    const int slice = static_cast<int>(threadIdx.x) / slice_threads;
    const int warp = static_cast<int>(threadIdx.x) % slice_threads / 32,
              lane = static_cast<int>(threadIdx.x) % 32;
    const int first_row = warp * 32 + lane / 8 * 4, first_column = lane % 8 * 4;
    int cells[thread_rows];  // bytes
#pragma unroll
    for (int i = 0; i < thread_rows; ++i) {
        const int cell = first_row + i / 4 * 16 + i % 4;
        const int y = cell >> p.tile_w_bits, x = cell & ((1 << p.tile_w_bits) - 1);
        cells[i] = 4 * (stages * S::stage_floats + (y * p.stride_h + slice * p.dilation_h) * p.pitch +
                        x * p.stride_floats);
    }
    float sums[thread_rows][S::thread_columns] = {};
    int ready = 0, next = 2 * S::stage_floats;
    const auto advance = [](int& stage) {
        stage = stage == (stages - 1) * S::stage_floats ? 0 : stage + S::stage_floats;
    };
    const int line_step = 4 * (S::slices * p.dilation_h * p.pitch - S::run);
    for (int r = 0, step = 0; r < p.window_h; r += S::slices, ++step) {
        wait_copies<stages - 2>();
        __syncthreads();
        load_filter<S>(p, step + stages - 1, column, shared + next);
        commit_copies();
        if (S::slices == 1 || r + slice < p.window_h)
            multiply<S>(reinterpret_cast<const char*>(shared), cells,
                        shared + ready + slice * S::row_floats + first_column, sums);
#pragma unroll
        for (int i = 0; i < thread_rows; ++i) cells[i] += line_step;
        advance(ready);
        advance(next);
    }
    wait_copies<0>();
    __syncthreads();
    float* results = shared + (slice * tile_cells + first_row) * S::result_row + first_column;
#pragma unroll
    for (int i = 0; i < thread_rows; ++i)
#pragma unroll
        for (int c = 0; c < S::thread_columns; c += 4)
            *reinterpret_cast<float4*>(results + (i / 4 * 16 + i % 4) * S::result_row + c * 8) = {
                sums[i][c], sums[i][c + 1], sums[i][c + 2], sums[i][c + 3]};
    __syncthreads();
    if (is_clamp(p.activation))
        store<S, true>(p, shared, n, h, w, column);
    else
        store<S, false>(p, shared, n, h, w, column);
}

bool aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

Params make_params(const FewChannels& f, const WindowGemmOperands& operands) {
    const ConvolutionGeometry& g = f.geometry;
    const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    Params p{};
    p.src = operands.src;
    p.packed = operands.packed;
    p.bias = operands.bias;
    p.residual = operands.residual;
    p.dst = operands.dst;
    p.activation = operands.activation;
    p.src_image = g.src_strides[0];
    p.src_line = g.src_strides[3];
    for (std::size_t i = 0; i < 5; ++i) p.dst_steps[i] = g.dst_strides[i];
    p.height = narrow(g.src[1]);
    p.line_floats = narrow(g.src[2] * g.channels);
    p.p = narrow(g.dst[1]);
    p.q = narrow(g.dst[2]);
    p.columns = narrow(g.outputs);
    p.padded_columns = narrow(f.padded_columns());
    p.window_h = narrow(g.window[1]);
    p.dilation_h = narrow(g.dilations[1]);
    p.stride_h = narrow(g.strides[1]);
    p.stride_floats = narrow(g.strides[2] * g.channels);
    p.pad_h = narrow(g.pads[1]);
    p.pad_floats = narrow(g.pads[2] * g.channels);
    p.lines = f.lines;
    p.pitch = f.pitch;
    while ((1 << p.tile_w_bits) < f.tile_w) ++p.tile_w_bits;
    p.tile_h = f.tile_h;
    p.tiles_h = narrow(f.tiles_h());
    p.tiles_w = narrow(f.tiles_w());
    p.column_tiles = p.padded_columns / (8 * f.thread_columns);
    const auto& d = g.dst_strides;
    p.quad_dst = d[1] == 1 && g.outputs % 4 == 0 && (g.batch == 1 || d[0] % 4 == 0) &&
                 (g.dst[1] == 1 || d[3] % 4 == 0) && (g.dst[2] == 1 || d[4] % 4 == 0) &&
                 aligned(operands.dst);
    return p;
}

template <class S>
void launch(const FewChannels& f, const Params& p, Stream stream) {
    const int floats = std::max(stages * S::stage_floats + f.lines * f.pitch, S::result_floats);
    const int bytes = floats * static_cast<int>(sizeof(float));
    const auto kernel = few_channels_kernel<S>;
    if (bytes > 48 * 1024) cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    const auto blocks = static_cast<unsigned>(f.geometry.batch * p.tiles_h * p.tiles_w * p.column_tiles);
    launch_dependent(f.overlap, kernel, dim3(blocks), dim3(S::threads), static_cast<std::size_t>(bytes),
                     stream, p);
}

template <int run>
void choose_shape(const FewChannels& f, const Params& p, Stream stream) {
    if (f.thread_columns == 12)
        launch<Shape<run, 12, 1>>(f, p, stream);
    else if (f.thread_columns == 8 && f.slices == 1)
        launch<Shape<run, 8, 1>>(f, p, stream);
    else if (f.thread_columns == 8)
        launch<Shape<run, 8, 2>>(f, p, stream);
    else
        launch<Shape<run, 4, 1>>(f, p, stream);
}

}  // namespace

void few_channels(const FewChannels& f, const WindowGemmOperands& operands, Stream stream) {
    if (f.geometry.batch == 0 || f.geometry.dst_cells() == 0) return;
    const Params p = make_params(f, operands);
    switch (f.run) {
        case 3:
            return choose_shape<3>(f, p, stream);
        case 5:
            return choose_shape<5>(f, p, stream);
        case 7:
            return choose_shape<7>(f, p, stream);
        case 9:
            return choose_shape<9>(f, p, stream);
        case 15:
            return choose_shape<15>(f, p, stream);
        case 21:
            return choose_shape<21>(f, p, stream);
        default:
            return choose_shape<33>(f, p, stream);
    }
}

}  // namespace convlens::cuda

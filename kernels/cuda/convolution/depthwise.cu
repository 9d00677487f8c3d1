#include "kernels/cuda/convolution/depthwise.h"

#include <algorithm>
#include <type_traits>

#include "kernels/cuda/activation_call.cuh"
#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/fast_division.h"

namespace convlens::cuda {
namespace {

constexpr int block_rows =
    4;  // rows of outputs of a block, a warp each: their windows overlap in the first cache
constexpr int block_threads = 32 * block_rows;

// What the kernels for the named windows need, in 32 bits where it is within an image.
struct Job {
    const float* src;
    const float* packed;
    const float* bias;
    const float* residual;
    float* dst;
    int src_height, src_width, dst_height, dst_width, pad_top, pad_left;
    int channels, outputs;
    std::int64_t src_image, src_channel, dst_image, dst_channel;
    int src_row, src_column, dst_row, dst_column;
    Activation activation;
    FastDivision inner, row_blocks, line_blocks, multiplier;
    unsigned count;  // threads along a line (channels last) or in all (planar)
};

template <int width>
struct Lanes {
    float v[width];
};

template <int width>
__device__ __forceinline__ Lanes<width> load(const float* from) {
    Lanes<width> x;
    if constexpr (width == 4) {
        const float4 four = *reinterpret_cast<const float4*>(from);
        x.v[0] = four.x, x.v[1] = four.y, x.v[2] = four.z, x.v[3] = four.w;
    } else if constexpr (width == 2) {
        const float2 two = *reinterpret_cast<const float2*>(from);
        x.v[0] = two.x, x.v[1] = two.y;
    } else {
        x.v[0] = *from;
    }
    return x;
}

template <int width>
__device__ __forceinline__ void finish(const Job& job, Lanes<width> sum, const Lanes<width>& bias,
                                       std::int64_t at) {
#pragma unroll
    for (int i = 0; i < width; ++i) sum.v[i] += bias.v[i];
    if (job.residual) {
        const Lanes<width> more = load<width>(job.residual + at);
#pragma unroll
        for (int i = 0; i < width; ++i) sum.v[i] += more.v[i];
    }
#pragma unroll
    for (int i = 0; i < width; ++i) sum.v[i] = activate_or_call(job.activation, sum.v[i]);
    if constexpr (width == 4)
        *reinterpret_cast<float4*>(job.dst + at) = make_float4(sum.v[0], sum.v[1], sum.v[2], sum.v[3]);
    else if constexpr (width == 2)
        *reinterpret_cast<float2*>(job.dst + at) = make_float2(sum.v[0], sum.v[1]);
    else
        job.dst[at] = sum.v[0];
}

// Blocks of a multiprocessor that the registers must allow: wide rows are for large problems, which need many
// threads.
constexpr int least_blocks(int window, int columns) { return window == 3 && columns == 4 ? 6 : 0; }

// A thread: `width` channels of `columns` neighbouring outputs of a row. Lanes of a warp follow the channels,
// then the columns; warps of a block are rows. all_at_once: the whole window is asked for before the sums
// begin, else row by row.
template <int window, int stride, int columns, int width, bool all_at_once>
__global__ void __launch_bounds__(block_threads, least_blocks(window, columns))
    channels_last_kernel(Job job) {
    let_next_kernel_start();
    wait_for_previous_kernel();
    std::uint32_t image = blockIdx.x;
    const std::uint32_t line_block = job.line_blocks.split(image), row_block = job.row_blocks.split(image);
    const std::uint32_t in_line = line_block * 32 + threadIdx.x;
    const int p = static_cast<int>(row_block) * block_rows + static_cast<int>(threadIdx.y);
    if (in_line >= job.count || p >= job.dst_height) return;
    std::uint32_t column_block = in_line;
    const std::uint32_t vector = job.inner.split(column_block);
    const int q = static_cast<int>(column_block) * columns;
    const int c = static_cast<int>(vector) * width;
    const int top = p * stride - job.pad_top, left = q * stride - job.pad_left;
    const float* src = job.src + image * job.src_image + c;
    const float* taps = job.packed + c;

    // Asked for before the window: nothing waits for it then.
    Lanes<width> bias = {};
    if (job.bias)
#pragma unroll
        for (int i = 0; i < width; ++i) bias.v[i] = job.bias[c + i];
    constexpr int span = (columns - 1) * stride + window;
    const auto cell = [&](int r, int s) {
        const bool inside = static_cast<unsigned>(top + r) < static_cast<unsigned>(job.src_height) &&
                            static_cast<unsigned>(left + s) < static_cast<unsigned>(job.src_width);
        return inside ? load<width>(src + (top + r) * job.src_row + (left + s) * job.src_column)
                      : Lanes<width>{};
    };
    const auto tap = [&](int r, int s) { return load<width>(taps + (r * window + s) * job.channels); };
    Lanes<width> sums[columns] = {};
    if constexpr (all_at_once) {
        Lanes<width> cells[window][span], w[window][window];
#pragma unroll
        for (int i = 0; i < window * span; ++i) cells[i / span][i % span] = cell(i / span, i % span);
#pragma unroll
        for (int i = 0; i < window * window; ++i) w[i / window][i % window] = tap(i / window, i % window);
#pragma unroll
        for (int i = 0; i < window * window; ++i)
#pragma unroll
            for (int j = 0; j < columns; ++j)
#pragma unroll
                for (int l = 0; l < width; ++l)
                    sums[j].v[l] = fmaf(cells[i / window][i % window + j * stride].v[l],
                                        w[i / window][i % window].v[l], sums[j].v[l]);
    } else {
#pragma unroll
        for (int r = 0; r < window; ++r) {
            Lanes<width> cells[span];
#pragma unroll
            for (int s = 0; s < span; ++s) cells[s] = cell(r, s);
#pragma unroll
            for (int s = 0; s < window; ++s) {
                const Lanes<width> w = tap(r, s);
#pragma unroll
                for (int j = 0; j < columns; ++j)
#pragma unroll
                    for (int i = 0; i < width; ++i)
                        sums[j].v[i] = fmaf(cells[j * stride + s].v[i], w.v[i], sums[j].v[i]);
            }
        }
    }

    const std::int64_t at = image * job.dst_image + p * job.dst_row + q * job.dst_column + c;
#pragma unroll
    for (int j = 0; j < columns; ++j)
        if (q + j < job.dst_width) finish<width>(job, sums[j], bias, at + j * job.dst_column);
}

// A thread: `rows` outputs of a column of one plane. Threads follow the columns, then blocks of rows, then
// planes.
template <int window, int stride, int rows>
__global__ void __launch_bounds__(block_threads) planar_kernel(Job job) {
    let_next_kernel_start();
    wait_for_previous_kernel();
    const std::uint32_t index = blockIdx.x * block_threads + threadIdx.x;
    if (index >= job.count) return;
    std::uint32_t image = index;
    const std::uint32_t column = job.inner.split(image), row_block = job.row_blocks.split(image);
    const std::uint32_t output = job.line_blocks.split(image), channel = job.multiplier.quotient(output);
    const int q = static_cast<int>(column), p = static_cast<int>(row_block) * rows;
    const int top = p * stride - job.pad_top, left = q * stride - job.pad_left;
    const float* src = job.src + image * job.src_image + channel * job.src_channel;
    const float* taps = job.packed + output * (window * window);

    const Lanes<1> bias = {job.bias ? job.bias[output] : 0.0f};
    float sums[rows] = {};
    constexpr int span = (rows - 1) * stride + window;
    // Row by row of the source: each output still sums over its window in order.
#pragma unroll
    for (int r = 0; r < span; ++r) {
        const bool row_inside = static_cast<unsigned>(top + r) < static_cast<unsigned>(job.src_height);
        const float* row = src + (top + r) * job.src_row;
#pragma unroll
        for (int s = 0; s < window; ++s) {
            const bool inside =
                row_inside && static_cast<unsigned>(left + s) < static_cast<unsigned>(job.src_width);
            const float x = inside ? row[(left + s) * job.src_column] : 0.0f;
#pragma unroll
            for (int j = 0; j < rows; ++j)
                if (r - j * stride >= 0 && r - j * stride < window)
                    sums[j] = fmaf(x, __ldg(taps + (r - j * stride) * window + s), sums[j]);
        }
    }

    const std::int64_t at =
        image * job.dst_image + output * job.dst_channel + p * job.dst_row + q * job.dst_column;
#pragma unroll
    for (int j = 0; j < rows; ++j)
        if (p + j < job.dst_height) finish<1>(job, Lanes<1>{sums[j]}, bias, at + j * job.dst_row);
}

// Any window, dilation, number of axes and strides. Consecutive threads are neighbours in dst: along the
// channels, or along the last axis.
template <class Count>
__global__ void __launch_bounds__(block_threads)
    general_kernel(ConvolutionGeometry g, bool channels_inside, const float* src, const float* packed,
                   const float* bias, const float* residual, Activation activation, float* dst) {
    const auto total = static_cast<Count>(g.batch * g.outputs * g.dst_cells());
    const Count index = static_cast<Count>(blockIdx.x) * block_threads + threadIdx.x;
    if (index >= total) return;
    const auto outputs = static_cast<Count>(g.outputs), depth = static_cast<Count>(g.dst[0]);
    const auto height = static_cast<Count>(g.dst[1]), width = static_cast<Count>(g.dst[2]);
    const bool inside = g.dst_strides[1] == 1;
    Count rest = index, k = 0;
    if (inside) k = rest % outputs, rest /= outputs;
    const Count w = rest % width;
    rest /= width;
    const Count h = rest % height;
    rest /= height;
    const Count d = rest % depth;
    rest /= depth;
    if (!inside) k = rest % outputs, rest /= outputs;
    const std::int64_t n = rest;
    const std::int64_t taps = g.taps();
    const std::int64_t tap_step = channels_inside ? g.outputs : 1;
    const float* filter = packed + (channels_inside ? std::int64_t(k) : std::int64_t(k) * taps);
    const float* plane = src + n * g.src_strides[0] +
                         std::int64_t(k / static_cast<Count>(g.outputs / g.channels)) * g.src_strides[1];
    const TapRange ds = valid_taps(g, 0, d), rs = valid_taps(g, 1, h), ss = valid_taps(g, 2, w);
    float sum = 0.0f;
    for (std::int64_t t = ds.first; t < ds.end; ++t)
        for (std::int64_t r = rs.first; r < rs.end; ++r) {
            const float* row = plane +
                               (d * g.strides[0] - g.pads[0] + t * g.dilations[0]) * g.src_strides[2] +
                               (h * g.strides[1] - g.pads[1] + r * g.dilations[1]) * g.src_strides[3] +
                               (w * g.strides[2] - g.pads[2]) * g.src_strides[4];
            const float* tap = filter + (t * g.window[1] + r) * g.window[2] * tap_step;
            for (std::int64_t s = ss.first; s < ss.end; ++s)
                sum = fmaf(row[s * g.dilations[2] * g.src_strides[4]], tap[s * tap_step], sum);
        }
    const std::int64_t at = n * g.dst_strides[0] + std::int64_t(k) * g.dst_strides[1] +
                            std::int64_t(d) * g.dst_strides[2] + std::int64_t(h) * g.dst_strides[3] +
                            std::int64_t(w) * g.dst_strides[4];
    if (bias) sum += bias[k];
    if (residual) sum += residual[at];
    dst[at] = activate(activation, sum);
}

constexpr std::int64_t limit = std::int64_t{1} << 31;

// Whether every offset within an image is below 2^31, also those of pads that a thread only computes.
bool fits(const ConvolutionGeometry& g) {
    const auto small = [](std::int64_t length, std::int64_t step) {
        return step >= 0 && (step == 0 || (length + 16) < limit / 4 / step);
    };
    return g.src[1] < limit / 8 && g.src[2] < limit / 8 && g.dst[1] < limit / 8 && g.dst[2] < limit / 8 &&
           small(g.src[1] + 2 * g.pads[1], g.src_strides[3]) &&
           small(g.src[2] + 2 * g.pads[2], g.src_strides[4]) && small(g.dst[1], g.dst_strides[3]) &&
           small(g.dst[2], g.dst_strides[4]) && g.pads[1] < limit / 8 && g.pads[2] < limit / 8 &&
           g.outputs < limit / 64;
}

Job job_of(const DepthwiseParams& params, const float* src, const float* packed, const float* bias,
           const float* residual, float* dst) {
    const ConvolutionGeometry& g = params.geometry;
    const auto narrow = [](std::int64_t value) { return static_cast<int>(value); };
    Job job{};
    job.src = src, job.packed = packed, job.bias = bias, job.residual = residual, job.dst = dst;
    job.src_height = narrow(g.src[1]), job.src_width = narrow(g.src[2]);
    job.dst_height = narrow(g.dst[1]), job.dst_width = narrow(g.dst[2]);
    job.pad_top = narrow(g.pads[1]), job.pad_left = narrow(g.pads[2]);
    job.channels = narrow(g.channels), job.outputs = narrow(g.outputs);
    job.src_image = g.src_strides[0], job.src_channel = g.src_strides[1];
    job.dst_image = g.dst_strides[0], job.dst_channel = g.dst_strides[1];
    job.src_row = narrow(g.src_strides[3]), job.src_column = narrow(g.src_strides[4]);
    job.dst_row = narrow(g.dst_strides[3]), job.dst_column = narrow(g.dst_strides[4]);
    job.activation = params.activation;
    return job;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Four channels at a time need addresses that are multiples of 16 bytes everywhere.
bool vectors_allowed(const Job& job, const ConvolutionGeometry& g) {
    const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
    const auto steps = [](const Strides5& s) { return s[0] % 4 == 0 && s[3] % 4 == 0 && s[4] % 4 == 0; };
    return job.channels % 4 == 0 && aligned(job.src) && aligned(job.dst) && aligned(job.packed) &&
           aligned(job.residual) && steps(g.src_strides) && steps(g.dst_strides);
}

template <int window, int stride, int columns, int width, bool all_at_once = false>
bool run_channels_last(Job job, std::int64_t batch, bool early, Stream stream) {
    const std::int64_t vectors = job.channels / width, blocks = ceil_div(job.dst_width, columns);
    const std::int64_t lines = ceil_div(vectors * blocks, 32), rows = ceil_div(job.dst_height, block_rows);
    if (lines >= limit / 64 || lines * rows * batch >= limit) return false;
    job.inner = FastDivision(vectors);
    job.line_blocks = FastDivision(lines);
    job.row_blocks = FastDivision(rows);
    job.count = static_cast<unsigned>(vectors * blocks);
    launch_dependent(early, channels_last_kernel<window, stride, columns, width, all_at_once>,
                     dim3(static_cast<unsigned>(lines * rows * batch)), dim3(32, block_rows), 0, stream, job);
    return true;
}

template <int window, int stride, int rows>
bool run_planar(Job job, std::int64_t batch, bool early, Stream stream) {
    const std::int64_t row_blocks = ceil_div(job.dst_height, rows);
    const double threads =
        static_cast<double>(row_blocks) * job.dst_width * static_cast<double>(batch) * job.outputs;
    if (threads >= static_cast<double>(limit - block_threads)) return false;
    job.inner = FastDivision(job.dst_width);
    job.row_blocks = FastDivision(row_blocks);
    job.line_blocks = FastDivision(job.outputs);
    job.multiplier = FastDivision(job.outputs / job.channels);
    job.count = static_cast<unsigned>(threads);
    launch_dependent(early, planar_kernel<window, stride, rows>,
                     dim3(static_cast<unsigned>(ceil_div(job.count, block_threads))), dim3(block_threads), 0,
                     stream, job);
    return true;
}

// What a channels-last thread holds. Large problems want wide rows, which reuse what is loaded; small ones
// wait for memory alone, and want many threads that ask for all of their window at once.
struct Hold {
    int columns, width;
};
constexpr int hold_code(Hold hold) { return hold.columns * 16 + hold.width; }

// By threads a multiprocessor if each held four channels of one output (measured on an H200).
Hold choose_hold(int window, std::int64_t threads) {
    if (window == 3) {
        if (threads < 100) return {1, 1};
        if (threads < 240) return {1, 2};
        if (threads < 500) return {1, 4};
        return threads < 800 ? Hold{2, 4} : Hold{4, 4};
    }
    if (threads < 150) return {1, 2};
    return threads < 500 ? Hold{2, 2} : Hold{4, 4};
}

template <int window, int stride>
bool run_window(const DepthwiseParams& params, const Job& job, Stream stream) {
    const ConvolutionGeometry& g = params.geometry;
    const std::int64_t threads =
        g.batch * g.outputs * g.dst[1] * g.dst[2] / std::max(1, params.multiprocessors);
    if (params.form == DepthwiseForm::planar) {
        if (params.hold > 0 ? params.hold > 1 : threads >= 800)
            return run_planar<window, stride, 4>(job, g.batch, params.early, stream);
        return run_planar<window, stride, 1>(job, g.batch, params.early, stream);
    }
    const auto run = [&](auto columns, auto width, auto all_at_once) {
        return run_channels_last<window, stride, columns.value, width.value, all_at_once.value>(
            job, g.batch, params.early, stream);
    };
    using std::integral_constant, std::true_type, std::false_type;
    constexpr integral_constant<int, 1> one;
    constexpr integral_constant<int, 2> two;
    constexpr integral_constant<int, 4> four;
    if (!vectors_allowed(job, g)) return run(two, one, true_type());
    switch (params.hold > 0 ? params.hold : hold_code(choose_hold(window, threads / 4))) {
        case hold_code({1, 1}):
            return run(one, one, true_type());
        case hold_code({1, 2}):
            return run(one, two, true_type());
        case hold_code({2, 2}):
            return run(two, two, true_type());
        case hold_code({1, 4}):
            return run(one, four, false_type());
        case hold_code({2, 4}):
            return run(two, four, false_type());
        default:
            return run(four, four, false_type());
    }
}

bool run_named(const DepthwiseParams& params, const Job& job, Stream stream) {
    const ConvolutionGeometry& g = params.geometry;
    if (g.window[2] == 3)
        return g.strides[2] == 1 ? run_window<3, 1>(params, job, stream)
                                 : run_window<3, 2>(params, job, stream);
    return g.strides[2] == 1 ? run_window<5, 1>(params, job, stream) : run_window<5, 2>(params, job, stream);
}

}  // namespace

DepthwiseParams depthwise_params(const ConvolutionGeometry& g, const Activation& activation,
                                 const DeviceTraits& traits) {
    DepthwiseParams params;
    params.geometry = g;
    params.activation = activation;
    params.multiprocessors = traits.multiprocessors;
    params.early = traits.major >= 9;
    params.channels_inside = g.src_strides[1] == 1 && g.dst_strides[1] == 1;
    const bool flat = g.src[0] == 1 && g.window[0] == 1 && g.dst[0] == 1 && g.pads[0] == 0;
    const bool named = flat && g.window[1] == g.window[2] && (g.window[2] == 3 || g.window[2] == 5) &&
                       g.strides[1] == g.strides[2] && g.strides[2] <= 2 && g.dilations[1] == 1 &&
                       g.dilations[2] == 1 && fits(g);
    // Planes of one cell have a channel step of 1 in either layout.
    if (named && params.channels_inside && g.outputs == g.channels)
        params.form = DepthwiseForm::channels_last;
    else if (named && !params.channels_inside)
        params.form = DepthwiseForm::planar;
    return params;
}

void depthwise_pack(const DepthwiseParams& params, const float* weights, float* packed) {
    const ConvolutionGeometry& g = params.geometry;
    const std::int64_t taps = g.taps();
    for (std::int64_t k = 0; k < g.outputs; ++k)
        for (std::int64_t t = 0; t < taps; ++t)
            packed[params.channels_inside ? t * g.outputs + k : k * taps + t] =
                weights[k * taps + (g.flipped ? taps - 1 - t : t)];
}

void depthwise(const DepthwiseParams& params, const float* src, const float* packed, const float* bias,
               const float* residual, float* dst, Stream stream) {
    const ConvolutionGeometry& g = params.geometry;
    const std::int64_t total = g.batch * g.outputs * g.dst_cells();
    if (total == 0) return;
    if (params.form != DepthwiseForm::general &&
        run_named(params, job_of(params, src, packed, bias, residual, dst), stream))
        return;
    const auto blocks = static_cast<unsigned>(ceil_div(total, block_threads));
    if (total < limit - block_threads)
        general_kernel<std::uint32_t><<<blocks, block_threads, 0, stream>>>(
            g, params.channels_inside, src, packed, bias, residual, params.activation, dst);
    else
        general_kernel<std::uint64_t><<<blocks, block_threads, 0, stream>>>(
            g, params.channels_inside, src, packed, bias, residual, params.activation, dst);
}

}  // namespace convlens::cuda

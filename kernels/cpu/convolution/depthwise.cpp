#include "kernels/cpu/convolution/depthwise.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/depthwise.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "kernels/cpu/activation-inl.h"

#ifndef CONVLENS_KERNELS_CPU_DEPTHWISE_JOB
#define CONVLENS_KERNELS_CPU_DEPTHWISE_JOB
namespace convlens::cpu {

struct DepthwiseJob {
    const ConvolutionGeometry& g;
    const float* src;
    const float* packed;
    const float* bias;
    const float* residual;
    const Activation& activation;
    float* dst;

    // Then no output may be computed twice: the second time would add to the first.
    bool in_place() const { return residual == dst; }
};

// Channels that one task walks through all its rows, so that their weights and rows stay in the first cache.
// A rest of less than one vector joins the chunk before it: no two tasks write the same channel.
inline constexpr std::int64_t depthwise_chunk = 64;
inline constexpr std::int64_t depthwise_least_chunk = 16;

}  // namespace convlens::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What a pad cell reads, for the longest chunk and one vector on either side.
constexpr std::int64_t most_lanes = HWY_MAX_BYTES / sizeof(float);
static_assert(most_lanes <= depthwise_least_chunk);
alignas(64) constexpr float pad_cells[depthwise_chunk + 3 * most_lanes] = {};

// The source columns of a block of outputs: neighbours in memory, or a pointer each where some are pads.
struct NearColumns {
    const float* first;
    std::int64_t column_step, row_step;
    HWY_INLINE const float* at(std::int64_t row, std::int64_t column) const {
        return first + row * row_step + column * column_step;
    }
};
template <int count>
struct ListedColumns {
    const float* columns[count];
    std::int64_t row_steps[count];
    HWY_INLINE const float* at(std::int64_t row, std::int64_t column) const {
        return columns[column] + row * row_steps[column];
    }
};

// sums[j] += columns at j * stride + s times taps, for `rows` rows. Everything but the rows is unrolled, so
// that sums and one row of taps stay in registers and each column is loaded once.
template <int width, int stride, int block, class D, class Columns>
HWY_INLINE void sum_unrolled(D d, const Columns& columns, const float* taps, std::int64_t tap_step,
                             std::int64_t rows, std::int64_t c, hn::Vec<D> (&sums)[block]) {
    for (std::int64_t r = 0; r < rows; ++r) {
        hn::Vec<D> w[width];
#pragma GCC unroll 8
        for (int s = 0; s < width; ++s) w[s] = hn::LoadU(d, taps + (r * width + s) * tap_step + c);
#pragma GCC unroll 32
        for (int column = 0; column < (block - 1) * stride + width; ++column) {
            const auto x = hn::LoadU(d, columns.at(r, column) + c);
#pragma GCC unroll 8
            for (int j = 0; j < block; ++j) {
                const int s = column - j * stride;
                if (s >= 0 && s < width) sums[j] = hn::MulAdd(x, w[s], sums[j]);
            }
        }
    }
}

template <class D>
HWY_INLINE hn::Vec<D> finish(D d, const DepthwiseJob& job, hn::Vec<D> sum, std::int64_t c, std::int64_t at) {
    if (job.bias) sum = hn::Add(sum, hn::LoadU(d, job.bias + c));
    if (job.residual) sum = hn::Add(sum, hn::LoadU(d, job.residual + at + c));
    if (!is_clamp(job.activation)) return activate_vector(d, job.activation, sum);
    return clamp_vector(d, sum, hn::Set(d, clamp_low(job.activation)),
                        hn::Set(d, clamp_high(job.activation)));
}

// One row of outputs, channels [begin, end): end - begin is at most depthwise_chunk, and the tensor has at
// least one vector of channels.
struct RowTask {
    const float* src;   // row of the first valid tap, column 0, channel 0
    const float* taps;  // of the first valid row of taps
    std::int64_t rows;  // of taps
    std::int64_t at;    // of the row in dst
    std::int64_t begin, end;
};

template <class D, class Body>
HWY_INLINE void for_each_vector(D d, const RowTask& task, const Body& body) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t c = task.begin; c < task.end; c += lanes) body(std::min(c, task.end - lanes));
}

template <int width, int stride, int block, class D, class Columns>
HWY_INLINE void block_of_row(D d, const DepthwiseJob& job, const RowTask& task, const Columns& columns,
                             std::int64_t q) {
    const ConvolutionGeometry& g = job.g;
    const std::int64_t step = g.dst_strides[4], at = task.at + q * step;
    for_each_vector(d, task, [&](std::int64_t c) HWY_ATTR {
        hn::Vec<D> sums[block];
#pragma GCC unroll 8
        for (int j = 0; j < block; ++j) sums[j] = hn::Zero(d);
        sum_unrolled<width, stride, block>(d, columns, task.taps, g.channels, task.rows, c, sums);
#pragma GCC unroll 8
        for (int j = 0; j < block; ++j)
            hn::StoreU(finish(d, job, sums[j], c, at + j * step), d, job.dst + at + j * step + c);
    });
}

template <int width, int stride, int block, class D>
HWY_INLINE void blocks_of_row(D d, const DepthwiseJob& job, const RowTask& task, std::int64_t q_begin) {
    constexpr int count = (block - 1) * stride + width;
    const ConvolutionGeometry& g = job.g;
    const std::int64_t step = g.src_strides[4];
    const std::int64_t rest = job.in_place() ? (g.dst[2] - q_begin) % block : 0;
    for (std::int64_t next = q_begin; next < g.dst[2] - rest; next += block) {
        // The last block overlaps the one before; its first outputs are computed twice, alike.
        const std::int64_t q = std::min(next, g.dst[2] - block);
        const std::int64_t left = q * stride - g.pads[2];
        if (left >= 0 && left + count <= g.src[2]) {
            const NearColumns columns{task.src + left * step, step, g.src_strides[3]};
            block_of_row<width, stride, block>(d, job, task, columns, q);
        } else {
            ListedColumns<count> columns;
            for (int i = 0; i < count; ++i) {
                const bool inside = left + i >= 0 && left + i < g.src[2];
                columns.columns[i] =
                    inside ? task.src + (left + i) * step : pad_cells + most_lanes - task.begin;
                columns.row_steps[i] = inside ? g.src_strides[3] : 0;
            }
            block_of_row<width, stride, block>(d, job, task, columns, q);
        }
    }
}

template <int width, int stride, class D>
HWY_NOINLINE void unrolled_row(D d, const DepthwiseJob& job, const RowTask& task) {
    constexpr int block = HWY_TARGET == HWY_AVX3 && width == 3 ? 6 : 4;
    const std::int64_t length = job.g.dst[2], whole = job.in_place() ? length - length % block : length;
    if (length >= block) blocks_of_row<width, stride, block>(d, job, task, 0);
    if (length < block || whole < length)
        blocks_of_row<width, stride, 1>(d, job, task, length < block ? 0 : whole);
}

// Any window, stride and dilation.
template <class D>
HWY_NOINLINE void general_row(D d, const DepthwiseJob& job, const RowTask& task) {
    const ConvolutionGeometry& g = job.g;
    for (std::int64_t q = 0; q < g.dst[2]; ++q) {
        const TapRange valid = valid_taps(g, 2, q);
        const std::int64_t left = q * g.strides[2] - g.pads[2];
        const std::int64_t at = task.at + q * g.dst_strides[4];
        for_each_vector(d, task, [&](std::int64_t c) HWY_ATTR {
            auto sum = hn::Zero(d);
            for (std::int64_t r = 0; r < task.rows; ++r)
                for (std::int64_t s = valid.first; s < valid.end; ++s) {
                    const std::int64_t column = left + s * g.dilations[2];
                    const auto x = hn::LoadU(
                        d, task.src + r * g.src_strides[3] * g.dilations[1] + column * g.src_strides[4] + c);
                    const auto w = hn::LoadU(d, task.taps + (r * g.window[2] + s) * g.channels + c);
                    sum = hn::MulAdd(x, w, sum);
                }
            hn::StoreU(finish(d, job, sum, c, at), d, job.dst + at + c);
        });
    }
}

template <class D>
HWY_INLINE void any_row(D d, const DepthwiseJob& job, const RowTask& task) {
    const ConvolutionGeometry& g = job.g;
    const bool dense = g.dilations[1] == 1 && g.dilations[2] == 1;
    // Widths 1 and 2 are what data gradients of strided layers come down to.
    if (dense && g.window[2] == 1 && g.strides[2] == 1)
        unrolled_row<1, 1>(d, job, task);
    else if (dense && g.window[2] == 2 && g.strides[2] == 1)
        unrolled_row<2, 1>(d, job, task);
    else if (dense && g.window[2] == 3 && g.strides[2] == 1)
        unrolled_row<3, 1>(d, job, task);
    else if (dense && g.window[2] == 3 && g.strides[2] == 2)
        unrolled_row<3, 2>(d, job, task);
    else if (dense && g.window[2] == 5 && g.strides[2] == 1)
        unrolled_row<5, 1>(d, job, task);
    else if (dense && g.window[2] == 5 && g.strides[2] == 2)
        unrolled_row<5, 2>(d, job, task);
    else
        general_row(d, job, task);
}

void channels_last_rows(const DepthwiseJob& job, std::int64_t n, std::int64_t begin, std::int64_t end,
                        std::int64_t p_begin, std::int64_t p_end) {
    const ConvolutionGeometry& g = job.g;
    const hn::ScalableTag<float> full;
    const hn::CappedTag<float, 4> four;
    const hn::CappedTag<float, 1> one;
    for (std::int64_t p = p_begin; p < p_end; ++p) {
        const TapRange valid = valid_taps(g, 1, p);
        RowTask task;
        task.rows = std::max<std::int64_t>(0, valid.end - valid.first);
        const std::int64_t top =
            task.rows > 0 ? p * g.strides[1] - g.pads[1] + valid.first * g.dilations[1] : 0;
        task.src = job.src + n * g.src_strides[0] + top * g.src_strides[3];
        task.taps = job.packed + valid.first * g.window[2] * g.channels;
        task.at = n * g.dst_strides[0] + p * g.dst_strides[3];
        task.begin = begin;
        task.end = end;
        const auto lanes = static_cast<std::int64_t>(hn::Lanes(full));
        const std::int64_t vector = g.channels >= lanes ? lanes : g.channels >= 4 ? 4 : 1;
        // The last vector overlaps the one before, unless that would add twice.
        if (job.in_place()) task.end = begin + (end - begin) / vector * vector;
        if (vector == lanes)
            any_row(full, job, task);
        else if (vector == 4)
            general_row(four, job, task);
        else
            general_row(one, job, task);
        task.begin = task.end;
        task.end = end;
        if (task.begin < end) general_row(one, job, task);
    }
}

// One row of one output plane, in stretches that fit the buffer; the inner loops run along the row.
void planar_row(const DepthwiseJob& job, std::int64_t n, std::int64_t k, std::int64_t d, std::int64_t p) {
    constexpr std::int64_t stretch = 256;
    const ConvolutionGeometry& g = job.g;
    const hn::ScalableTag<float> tag;
    const hn::CappedTag<float, 1> one;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
    const float* plane = job.src + n * g.src_strides[0] + k / (g.outputs / g.channels) * g.src_strides[1];
    const float* taps = job.packed + k * g.taps();
    const TapRange ds = valid_taps(g, 0, d), rs = valid_taps(g, 1, p);
    alignas(64) float sums[stretch];
    for (std::int64_t q0 = 0; q0 < g.dst[2]; q0 += stretch) {
        const std::int64_t count = std::min(stretch, g.dst[2] - q0);
        std::fill_n(sums, count, 0.0f);
        for (std::int64_t t = ds.first; t < ds.end; ++t)
            for (std::int64_t r = rs.first; r < rs.end; ++r) {
                const float* row = plane +
                                   (d * g.strides[0] - g.pads[0] + t * g.dilations[0]) * g.src_strides[2] +
                                   (p * g.strides[1] - g.pads[1] + r * g.dilations[1]) * g.src_strides[3];
                for (std::int64_t s = 0; s < g.window[2]; ++s) {
                    // Outputs [first, last) of the stretch read inside the row at this tap.
                    const std::int64_t shift = s * g.dilations[2] - g.pads[2];
                    const std::int64_t u = g.strides[2];
                    const std::int64_t first =
                        std::max<std::int64_t>(0, (shift < 0 ? (u - 1 - shift) / u : 0) - q0);
                    const std::int64_t room = g.src[2] - shift;
                    const std::int64_t last = std::min(count, (room > 0 ? (room + u - 1) / u : 0) - q0);
                    const float w = taps[(t * g.window[1] + r) * g.window[2] + s];
                    const std::int64_t step = u * g.src_strides[4];
                    const float* x = row + ((q0 * u) + shift) * g.src_strides[4];
                    std::int64_t q = first;
                    if (step == 1)
                        for (; q + lanes <= last; q += lanes)
                            hn::StoreU(
                                hn::MulAdd(hn::LoadU(tag, x + q), hn::Set(tag, w), hn::LoadU(tag, sums + q)),
                                tag, sums + q);
                    for (; q < last; ++q)
                        hn::StoreU(
                            hn::MulAdd(hn::Set(one, x[q * step]), hn::Set(one, w), hn::LoadU(one, sums + q)),
                            one, sums + q);
                }
            }
        const std::int64_t at = n * g.dst_strides[0] + k * g.dst_strides[1] + d * g.dst_strides[2] +
                                p * g.dst_strides[3] + q0 * g.dst_strides[4];
        for (std::int64_t q = 0; q < count; ++q) {
            if (job.bias) sums[q] += job.bias[k];
            if (job.residual) sums[q] += job.residual[at + q * g.dst_strides[4]];
        }
        if (job.activation.kind != ActivationKind::identity)
            for (std::int64_t q = 0; q < count; q += lanes)
                hn::Store(activate_vector(tag, job.activation, hn::Load(tag, sums + q)), tag, sums + q);
        for (std::int64_t q = 0; q < count; ++q) job.dst[at + q * g.dst_strides[4]] = sums[q];
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convlens::cpu {
namespace {

HWY_EXPORT(channels_last_rows);
HWY_EXPORT(planar_row);

bool is_channels_last(const ConvolutionGeometry& g) {
    return g.outputs == g.channels && g.src[0] == 1 && g.window[0] == 1 && g.dst[0] == 1 && g.pads[0] == 0 &&
           g.src_strides[1] == 1 && g.dst_strides[1] == 1;
}

}  // namespace

std::size_t convolution_depthwise_packed_size(const ConvolutionGeometry& g) {
    return static_cast<std::size_t>(g.outputs * g.taps());
}

void convolution_depthwise_pack(const ConvolutionGeometry& g, const float* weights, float* packed) {
    const std::int64_t taps = g.taps();
    const bool channels_inside = is_channels_last(g);
    for (std::int64_t k = 0; k < g.outputs; ++k)
        for (std::int64_t t = 0; t < taps; ++t)
            packed[channels_inside ? t * g.channels + k : k * taps + t] =
                weights[k * taps + (g.flipped ? taps - 1 - t : t)];
}

void convolution_depthwise(const ConvolutionGeometry& g, const float* src, const float* packed,
                           const float* bias, const float* residual, const Activation& activation, float* dst,
                           ThreadPool& pool) {
    const DepthwiseJob job{g, src, packed, bias, residual, activation, dst};
    // Memory bounds this operation, so a task's price is set by what it moves.
    const double operations =
        static_cast<double>(g.batch * g.outputs * g.dst_cells()) * static_cast<double>(g.taps() + 8);
    if (is_channels_last(g)) {
        const std::int64_t chunks = std::max<std::int64_t>(
            1, (g.channels + depthwise_chunk - depthwise_least_chunk) / depthwise_chunk);
        const std::int64_t images = g.batch * chunks;
        const std::int64_t tasks = task_count(pool, operations, images * g.dst[1]);
        const std::int64_t bands = std::min(g.dst[1], (tasks + images - 1) / images);
        pool.parallel_for(tasks == 1 ? 1 : images * bands, [&](std::int64_t task, int) {
            const std::int64_t first = tasks == 1 ? 0 : task, last = tasks == 1 ? images * bands : task + 1;
            for (std::int64_t i = first; i < last; ++i) {
                const std::int64_t band = i % bands, chunk = i / bands % chunks, n = i / (bands * chunks);
                const std::int64_t begin = chunk * depthwise_chunk;
                HWY_DYNAMIC_DISPATCH(channels_last_rows)
                (job, n, begin, chunk + 1 == chunks ? g.channels : begin + depthwise_chunk,
                 g.dst[1] * band / bands, g.dst[1] * (band + 1) / bands);
            }
        });
        return;
    }
    const std::int64_t rows = g.batch * g.outputs * g.dst[0] * g.dst[1];
    const std::int64_t tasks = task_count(pool, operations, rows);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        for (std::int64_t i = rows * task / tasks; i < rows * (task + 1) / tasks; ++i) {
            const std::int64_t p = i % g.dst[1], d = i / g.dst[1] % g.dst[0];
            const std::int64_t k = i / (g.dst[1] * g.dst[0]) % g.outputs;
            HWY_DYNAMIC_DISPATCH(planar_row)(job, i / (g.dst[1] * g.dst[0] * g.outputs), k, d, p);
        }
    });
}

}  // namespace convlens::cpu
#endif

#include "kernels/cpu/convolution/bwd_filter_depthwise.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/bwd_filter_depthwise.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A few cells of one output row under all valid taps, channels [begin, end) of the tag's width.
struct RowPart {
    const float* x;     // cell under the first valid row of taps and tap 0 of the first output
    const float* dy;    // first output
    float* sums;        // of the first valid row of taps: [tap][channel]
    std::int64_t rows;  // valid rows of taps
};

// Window width and stride known, all taps of `cells` cells inside: sums of one row of taps stay in registers.
template <int width, int stride, int cells, class D>
HWY_INLINE void block_rows(D d, const ConvolutionGeometry& g, const RowPart& part, std::int64_t begin,
                           std::int64_t end) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const std::int64_t x_step = g.src_strides[4], dy_step = g.dst_strides[4];
    for (std::int64_t c = begin; c + lanes <= end; c += lanes) {
        // What the next block reads for the first time: its cells lie too far apart for the processor to see
        // a stream.
        const float* next_x = part.x + (part.rows - 1) * g.src_strides[3] + c;
#pragma GCC unroll 8
        for (int j = 0; j < cells; ++j) hwy::Prefetch(part.dy + (cells + j) * dy_step + c);
#pragma GCC unroll 16
        for (int j = 0; j < cells * stride; ++j) hwy::Prefetch(next_x + (cells * stride + j) * x_step);
        for (std::int64_t r = 0; r < part.rows; ++r) {
            float* sums = part.sums + r * width * g.channels + c;
            const float* x = part.x + r * g.src_strides[3] + c;
            hn::Vec<D> sum[width];
#pragma GCC unroll 8
            for (int s = 0; s < width; ++s) sum[s] = hn::LoadU(d, sums + s * g.channels);
            hn::Vec<D> out[cells];
#pragma GCC unroll 8
            for (int j = 0; j < cells; ++j) out[j] = hn::LoadU(d, part.dy + j * dy_step + c);
#pragma GCC unroll 32
            for (int column = 0; column < (cells - 1) * stride + width; ++column) {
                const auto in = hn::LoadU(d, x + column * x_step);
#pragma GCC unroll 8
                for (int j = 0; j < cells; ++j) {
                    const int s = column - j * stride;
                    if (s >= 0 && s < width) sum[s] = hn::MulAdd(in, out[j], sum[s]);
                }
            }
#pragma GCC unroll 8
            for (int s = 0; s < width; ++s) hn::StoreU(sum[s], d, sums + s * g.channels);
        }
    }
}

// Any window, stride and dilation, one cell, taps [first, last) of each row.
template <class D>
HWY_INLINE void one_cell(D d, const ConvolutionGeometry& g, const RowPart& part, const TapRange& taps,
                         std::int64_t begin, std::int64_t end) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t r = 0; r < part.rows; ++r)
        for (std::int64_t s = taps.first; s < taps.end; ++s) {
            const float* x =
                part.x + r * g.dilations[1] * g.src_strides[3] + s * g.dilations[2] * g.src_strides[4];
            float* sums = part.sums + (r * g.window[2] + s) * g.channels;
            for (std::int64_t c = begin; c + lanes <= end; c += lanes)
                hn::StoreU(hn::MulAdd(hn::LoadU(d, x + c), hn::LoadU(d, part.dy + c), hn::LoadU(d, sums + c)),
                           d, sums + c);
        }
}

constexpr std::int64_t most_cells = 8;
using Block = void (*)(const ConvolutionGeometry&, const RowPart&, std::int64_t cells, std::int64_t,
                       std::int64_t);
// `cells`: 8, 4, 2 or 1.
template <int width, int stride>
void block_of(const ConvolutionGeometry& g, const RowPart& part, std::int64_t cells, std::int64_t begin,
              std::int64_t end) {
    const hn::ScalableTag<float> d;
    if (cells == 8)
        block_rows<width, stride, 8>(d, g, part, begin, end);
    else if (cells == 4)
        block_rows<width, stride, 4>(d, g, part, begin, end);
    else if (cells == 2)
        block_rows<width, stride, 2>(d, g, part, begin, end);
    else
        block_rows<width, stride, 1>(d, g, part, begin, end);
}

Block choose_block(const ConvolutionGeometry& g) {
    if (g.dilations[1] != 1 || g.dilations[2] != 1 || g.strides[2] > 2) return nullptr;
    const bool two = g.strides[2] == 2;
    if (g.window[2] == 3) return two ? block_of<3, 2> : block_of<3, 1>;
    if (g.window[2] == 5) return two ? block_of<5, 2> : block_of<5, 1>;
    return nullptr;
}

// Row p of image n, channels [begin, end).
void channels_last_row(const ConvolutionGeometry& g, const float* x, const float* dy, std::int64_t n,
                       std::int64_t p, std::int64_t begin, std::int64_t end, float* sums) {
    const TapRange valid = valid_taps(g, 1, p);
    if (valid.end <= valid.first) return;
    const Block block = choose_block(g);
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
    const std::int64_t whole = begin + (end - begin) / lanes * lanes;
    RowPart part;
    part.rows = valid.end - valid.first;
    part.sums = sums + valid.first * g.window[2] * g.channels;
    const float* line = x + n * g.src_strides[0] +
                        (p * g.strides[1] - g.pads[1] + valid.first * g.dilations[1]) * g.src_strides[3];
    const float* row = dy + n * g.dst_strides[0] + p * g.dst_strides[3];
    // Outputs [low, high) see no end of the line.
    const std::int64_t u = g.strides[2], low = std::min((g.pads[2] + u - 1) / u, g.dst[2]);
    const std::int64_t room = g.src[2] + g.pads[2] - (g.window[2] - 1) * g.dilations[2] - 1;
    const std::int64_t high = room < 0 ? low : std::clamp(room / u + 1, low, g.dst[2]);
    for (std::int64_t q = 0; q < g.dst[2];) {
        part.x = line + (q * u - g.pads[2]) * g.src_strides[4];
        part.dy = row + q * g.dst_strides[4];
        std::int64_t cells = 1;
        if (block && q >= low && q < high) {
            cells = most_cells;
            while (cells > high - q) cells /= 2;
            block(g, part, cells, begin, whole);
        } else {
            one_cell(hn::ScalableTag<float>(), g, part, valid_taps(g, 2, q), begin, whole);
        }
        for (std::int64_t j = 0; j < cells && whole < end; ++j) {
            one_cell(hn::CappedTag<float, 1>(), g, part, valid_taps(g, 2, q + j), whole, end);
            part.x += u * g.src_strides[4];
            part.dy += g.dst_strides[4];
        }
        q += cells;
    }
}

// The sum over one output row of dy times x under tap s, for cells that see inside.
float row_product(const ConvolutionGeometry& g, const float* line, const float* row, std::int64_t s) {
    const std::int64_t u = g.strides[2], shift = s * g.dilations[2] - g.pads[2];
    const std::int64_t first = shift < 0 ? (u - 1 - shift) / u : 0;
    const std::int64_t room = g.src[2] - shift;
    const std::int64_t last = std::min(g.dst[2], room > 0 ? (room + u - 1) / u : 0);
    const std::int64_t x_step = u * g.src_strides[4], dy_step = g.dst_strides[4];
    const float* x = line + shift * g.src_strides[4];
    std::int64_t q = first;
    float sum = 0;
    if (x_step == 1 && dy_step == 1) {
        const hn::ScalableTag<float> d;
        const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
        auto even = hn::Zero(d), odd = hn::Zero(d);
        for (; q + 2 * lanes <= last; q += 2 * lanes) {
            even = hn::MulAdd(hn::LoadU(d, x + q), hn::LoadU(d, row + q), even);
            odd = hn::MulAdd(hn::LoadU(d, x + q + lanes), hn::LoadU(d, row + q + lanes), odd);
        }
        if (q + lanes <= last) {
            even = hn::MulAdd(hn::LoadU(d, x + q), hn::LoadU(d, row + q), even);
            q += lanes;
        }
        sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
    }
    float sums[4] = {sum, 0, 0, 0};
    for (; q + 4 <= last; q += 4)
        for (std::int64_t j = 0; j < 4; ++j) sums[j] += x[(q + j) * x_step] * row[(q + j) * dy_step];
    for (; q < last; ++q) sums[0] += x[q * x_step] * row[q * dy_step];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// All taps of output channel k, in order of the window, to sums[tap].
void one_channel(const ConvolutionGeometry& g, const float* x, const float* dy, std::int64_t k, float* sums) {
    x += k / (g.outputs / g.channels) * g.src_strides[1];
    dy += k * g.dst_strides[1];
    for (std::int64_t n = 0; n < g.batch; ++n)
        for (std::int64_t o = 0; o < g.dst[0]; ++o)
            for (std::int64_t p = 0; p < g.dst[1]; ++p) {
                const TapRange ts = valid_taps(g, 0, o), rs = valid_taps(g, 1, p);
                const float* row = dy + n * g.dst_strides[0] + o * g.dst_strides[2] + p * g.dst_strides[3];
                for (std::int64_t t = ts.first; t < ts.end; ++t)
                    for (std::int64_t r = rs.first; r < rs.end; ++r) {
                        const float* line =
                            x + n * g.src_strides[0] +
                            (o * g.strides[0] - g.pads[0] + t * g.dilations[0]) * g.src_strides[2] +
                            (p * g.strides[1] - g.pads[1] + r * g.dilations[1]) * g.src_strides[3];
                        float* to = sums + (t * g.window[1] + r) * g.window[2];
                        for (std::int64_t s = 0; s < g.window[2]; ++s) to[s] += row_product(g, line, row, s);
                    }
            }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convlens::cpu {
namespace {

HWY_EXPORT(channels_last_row);
HWY_EXPORT(one_channel);

bool is_channels_last(const ConvolutionGeometry& g) {
    return g.outputs == g.channels && g.src[0] == 1 && g.window[0] == 1 && g.dst[0] == 1 && g.pads[0] == 0 &&
           g.src_strides[1] == 1 && g.dst_strides[1] == 1;
}

// Bands of output rows: enough for many threads, so few that their tables cost little.
std::int64_t bands(const ConvolutionGeometry& g) {
    const std::int64_t rows = g.batch * g.dst[1];
    const double tables = static_cast<double>(rows) * static_cast<double>(g.dst[2]) / 256.0;
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(tables), 1, std::min<std::int64_t>(rows, 64));
}

// Channels whose rows under a window stay in the first cache from one output row to the next.
std::int64_t chunk_channels(const ConvolutionGeometry& g) {
    constexpr std::int64_t cache_floats = 8 << 10, unit = 32;
    const std::int64_t row = g.window[1] * g.src[2] + g.dst[2];
    return std::max<std::int64_t>(1, cache_floats / (row * unit)) * unit;
}

std::int64_t table_floats(const ConvolutionGeometry& g) { return (g.taps() * g.channels + 15) / 16 * 16; }

void by_bands(const BwdFilterParams& f, const float* x, const float* dy, float* dw, float* tables,
              ThreadPool& pool, bool threaded) {
    const ConvolutionGeometry& g = f.geometry;
    const std::int64_t rows = g.batch * g.dst[1], count = bands(g), floats = table_floats(g);
    const std::int64_t chunk = chunk_channels(g);
    const auto band = [&](std::int64_t i) {
        float* table = tables + i * floats;
        std::fill_n(table, floats, 0.0f);
        for (std::int64_t begin = 0; begin < g.channels; begin += chunk)
            for (std::int64_t row = rows * i / count; row < rows * (i + 1) / count; ++row)
                HWY_DYNAMIC_DISPATCH(channels_last_row)
        (g, x, dy, row / g.dst[1], row % g.dst[1], begin, std::min(begin + chunk, g.channels), table);
    };
    if (threaded)
        pool.parallel_for(count, [&](std::int64_t i, int) { band(i); });
    else
        for (std::int64_t i = 0; i < count; ++i) band(i);
    for (std::int64_t i = 1; i < count; ++i) add_floats(tables + i * floats, floats, tables);
    FilterBlock block;
    block.sums = tables;
    block.row_channels = block.channels = 1;
    block.width = block.outputs = g.channels;
    store_filter_block(f, block, dw);
}

}  // namespace

std::size_t bwd_filter_depthwise_workspace(const BwdFilterParams& f) {
    const ConvolutionGeometry& g = f.geometry;
    if (g.batch * g.dst_cells() == 0) return static_cast<std::size_t>(g.taps()) * sizeof(float);
    const std::int64_t floats = is_channels_last(g) ? bands(g) * table_floats(g) : g.outputs * g.taps();
    return static_cast<std::size_t>(floats) * sizeof(float);
}

void bwd_filter_depthwise(const BwdFilterParams& f, const float* x, const float* dy, float* dw,
                          void* workspace, ThreadPool& pool) {
    x += f.src_offset;
    dy += f.diff_offset;
    const ConvolutionGeometry& g = f.geometry;
    auto* sums = static_cast<float*>(workspace);
    // Memory bounds this operation, so its price is set by what it moves.
    const double operations =
        static_cast<double>(g.batch * g.outputs * g.dst_cells()) * static_cast<double>(g.taps() + 8);
    const bool empty = g.batch * g.dst_cells() == 0;
    if (!empty && is_channels_last(g)) return by_bands(f, x, dy, dw, sums, pool, operations >= 1e6);
    const std::int64_t taps = g.taps();
    const std::int64_t tasks = task_count(pool, operations, g.outputs);
    if (empty) std::fill_n(sums, taps, 0.0f);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        for (std::int64_t k = g.outputs * task / tasks; k < g.outputs * (task + 1) / tasks; ++k) {
            float* own = empty ? sums : sums + k * taps;
            if (!empty) {
                std::fill_n(own, taps, 0.0f);
                HWY_DYNAMIC_DISPATCH(one_channel)(g, x, dy, k, own);
            }
            FilterBlock block;
            block.sums = own;
            block.row_channels = block.width = block.channels = block.outputs = 1;
            block.offset = k * f.filter_strides[0];
            store_filter_block(f, block, dw);
        }
    });
}

}  // namespace convlens::cpu
#endif

#include "kernels/cpu/convolution/bwd_filter_direct.h"

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/convolution/geometry.h"
#include "kernels/cpu/element.h"

namespace convlens::cpu {
namespace {

using kernels::OutputRange;
using kernels::valid_outputs;

constexpr std::int64_t lanes = 16;

template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

// One tap of one channel for up to sixteen filters from `k` on, which lie in one group.
template <class T>
struct Tap {
    const BwdFilterParams& p;
    const T* src;   // channel c of image 0, at the cell that output 0 reads through the tap
    const T* diff;  // filter k of image 0
    OutputRange ds, hs, ws;
    std::int64_t count;

    void add_row(std::int64_t n, std::int64_t d, std::int64_t h, SumOf<T>* totals) const {
        const ConvolutionGeometry& g = p.geometry;
        const T* x = src + n * g.src_strides[0] + d * g.strides[0] * g.src_strides[2] +
                     h * g.strides[1] * g.src_strides[3];
        const T* dy = diff + n * g.dst_strides[0] + d * g.dst_strides[2] + h * g.dst_strides[3];
        const std::int64_t step = g.strides[2] * g.src_strides[4];
        SumOf<T> row[lanes] = {};
        for (std::int64_t w = ws.first; w < ws.end; ++w) {
            const SumOf<T> value = value_of(x[w * step]);
            const T* cell = dy + w * g.dst_strides[4];
            if (count == lanes && g.dst_strides[1] == 1)
                for (std::int64_t j = 0; j < lanes; ++j) row[j] += value * value_of(cell[j]);
            else
                for (std::int64_t j = 0; j < count; ++j)
                    row[j] += value * value_of(cell[j * g.dst_strides[1]]);
        }
        for (std::int64_t j = 0; j < count; ++j) totals[j] += row[j];
    }
    void sum(SumOf<T>* totals) const {
        for (std::int64_t n = 0; n < p.geometry.batch; ++n)
            for (std::int64_t d = ds.first; d < ds.end; ++d)
                for (std::int64_t h = hs.first; h < hs.end; ++h) add_row(n, d, h, totals);
    }
};

template <class To, class Sum>
void store(const BwdFilterParams& p, Sum sum, To* at) {
    using Wide = SumOf<To>;
    Wide value = static_cast<Wide>(p.alpha) * static_cast<Wide>(sum);
    if (p.beta != 0) value += static_cast<Wide>(p.beta) * value_of(*at);
    *at = convert<To>(value);
}

// All taps of channel c (within its group) for the filters from k on.
template <class T, class To>
void channel(const BwdFilterParams& p, const T* src, const T* diff, To* dst, std::int64_t k,
             std::int64_t count, std::int64_t c) {
    const ConvolutionGeometry& g = p.geometry;
    const std::int64_t group = k / (g.outputs / g.groups);
    const T* image = src + p.src_offset + (group * (g.channels / g.groups) + c) * g.src_strides[1];
    for (std::int64_t t = 0; t < g.window[0]; ++t)
        for (std::int64_t r = 0; r < g.window[1]; ++r)
            for (std::int64_t s = 0; s < g.window[2]; ++s) {
                const T* first = image + (t * g.dilations[0] - g.pads[0]) * g.src_strides[2] +
                                 (r * g.dilations[1] - g.pads[1]) * g.src_strides[3] +
                                 (s * g.dilations[2] - g.pads[2]) * g.src_strides[4];
                const Tap<T> tap{p,
                                 first,
                                 diff + p.diff_offset + k * g.dst_strides[1],
                                 valid_outputs(g, 0, t),
                                 valid_outputs(g, 1, r),
                                 valid_outputs(g, 2, s),
                                 count};
                SumOf<T> sums[lanes] = {};
                tap.sum(sums);
                const std::int64_t ft = g.flipped ? g.window[0] - 1 - t : t;
                const std::int64_t fr = g.flipped ? g.window[1] - 1 - r : r;
                const std::int64_t fs = g.flipped ? g.window[2] - 1 - s : s;
                const Strides5& f = p.filter_strides;
                for (std::int64_t j = 0; j < count; ++j)
                    store(p, sums[j],
                          dst + p.dst_offset + (k + j) * f[0] + c * f[1] + ft * f[2] + fr * f[3] + fs * f[4]);
            }
}

template <class T, class To>
void run(const BwdFilterParams& p, const T* src, const T* diff, To* dst, ThreadPool& pool) {
    const ConvolutionGeometry& g = p.geometry;
    const std::int64_t outputs = g.outputs / g.groups, channels = g.channels / g.groups;
    const std::int64_t blocks = (outputs + lanes - 1) / lanes, items = g.groups * blocks * channels;
    const double operations = static_cast<double>(items) * static_cast<double>(g.taps()) *
                              static_cast<double>(g.batch) * static_cast<double>(g.dst_cells()) * lanes;
    const std::int64_t tasks = task_count(pool, operations, items, 2e5);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        for (std::int64_t i = items * task / tasks; i < items * (task + 1) / tasks; ++i) {
            const std::int64_t c = i % channels, block = i / channels % blocks,
                               group = i / (channels * blocks);
            const std::int64_t first = block * lanes;
            channel(p, src, diff, dst, group * outputs + first, std::min(lanes, outputs - first), c);
        }
    });
}

}  // namespace

void convolution_bwd_filter_direct(const BwdFilterParams& p, const void* src, const void* diff, void* dst,
                                   ThreadPool& pool) {
    with_type(p.type, [&]<class T>(T) {
        if constexpr (is_float_like<T>) {
            const auto* x = static_cast<const T*>(src);
            const auto* dy = static_cast<const T*>(diff);
            if (p.dst_type == p.type)
                run(p, x, dy, static_cast<T*>(dst), pool);
            else
                run(p, x, dy, static_cast<float*>(dst), pool);
        }
    });
}

}  // namespace convlens::cpu

#include "kernels/cpu/convolution/bwd_bias.h"

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/element.h"

namespace convlens::cpu {
namespace {

constexpr std::int64_t lanes = 16;

template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Sixteen sums side by side where the cells are neighbours, joined in order.
template <class T>
SumOf<T> row_sum(const T* at, std::int64_t length, std::int64_t stride) {
    SumOf<T> sums[lanes] = {}, sum = 0;
    std::int64_t w = 0;
    if (stride == 1)
        for (; w + lanes <= length; w += lanes)
            for (std::int64_t j = 0; j < lanes; ++j) sums[j] += value_of(at[w + j]);
    for (; w < length; ++w) sum += value_of(at[w * stride]);
    for (const SumOf<T> part : sums) sum += part;
    return sum;
}

// Up to sixteen channels from k on.
template <class T, class To>
void channels(const BwdBiasParams& p, const T* src, To* dst, std::int64_t k, std::int64_t count) {
    const kernels::Strides5& s = p.strides;
    SumOf<T> totals[lanes] = {};
    for (std::int64_t n = 0; n < p.batch; ++n)
        for (std::int64_t d = 0; d < p.cells[0]; ++d)
            for (std::int64_t h = 0; h < p.cells[1]; ++h) {
                const T* at = src + p.src_offset + n * s[0] + k * s[1] + d * s[2] + h * s[3];
                SumOf<T> row[lanes] = {};
                if (count == lanes && s[1] == 1)
                    for (std::int64_t w = 0; w < p.cells[2]; ++w, at += s[4])
                        for (std::int64_t j = 0; j < lanes; ++j) row[j] += value_of(at[j]);
                else
                    for (std::int64_t j = 0; j < count; ++j)
                        row[j] = row_sum(at + j * s[1], p.cells[2], s[4]);
                for (std::int64_t j = 0; j < count; ++j) totals[j] += row[j];
            }
    for (std::int64_t j = 0; j < count; ++j) {
        To* at = dst + p.dst_offset + (k + j) * p.dst_stride;
        SumOf<T> value = static_cast<SumOf<T>>(p.alpha) * totals[j];
        if (p.beta != 0) value += static_cast<SumOf<T>>(p.beta) * value_of(*at);
        *at = convert<To>(value);
    }
}

template <class T, class To>
void run(const BwdBiasParams& p, const T* src, To* dst, ThreadPool& pool) {
    const std::int64_t blocks = (p.channels + lanes - 1) / lanes;
    const double operations = static_cast<double>(p.channels) * static_cast<double>(p.batch) *
                              static_cast<double>(p.cells[0] * p.cells[1] * p.cells[2]);
    const std::int64_t tasks = task_count(pool, operations, blocks, 2e5);
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
        for (std::int64_t i = blocks * task / tasks; i < blocks * (task + 1) / tasks; ++i)
            channels(p, src, dst, i * lanes, std::min(lanes, p.channels - i * lanes));
    });
}

}  // namespace

void convolution_bwd_bias_direct(const BwdBiasParams& p, const void* src, void* dst, ThreadPool& pool) {
    with_type(p.type, [&]<class T>(T) {
        if constexpr (is_float_like<T>) {
            const auto* x = static_cast<const T*>(src);
            if (p.dst_type == p.type)
                run(p, x, static_cast<T*>(dst), pool);
            else
                run(p, x, static_cast<float*>(dst), pool);
        }
    });
}

}  // namespace convlens::cpu

#include <algorithm>
#include <cmath>

#include "kernels/cpu/lrn/lrn.h"

namespace convlens::cpu {

void lrn_direct(const LrnParams& p, const void* src, void* dst, ThreadPool& pool) {
    const std::int64_t channels = p.src.dims[1];
    AxisValues rows = p.src.dims;
    rows[1] = 1;
    pool.parallel_for(p.src.elements() / channels, [&](std::int64_t row, int) {
        const AxisValues index = unravel(row, p.src.rank, rows);
        const std::int64_t from = address(index, p.src);
        const std::int64_t to = address(index, p.dst);
        for (std::int64_t c = 0; c < channels; ++c) {
            double sum = 0;
            const std::int64_t last = std::min(channels - 1, c + p.after());
            for (std::int64_t i = std::max<std::int64_t>(0, c - p.before()); i <= last; ++i) {
                const double value = load_element(p.src.type, src, from + i * p.src.strides[1]);
                sum += value * value;
            }
            const double scale = p.k + static_cast<double>(p.alpha) / static_cast<double>(p.size) * sum;
            store_element(p.dst.type, dst, to + c * p.dst.strides[1],
                          load_element(p.src.type, src, from + c * p.src.strides[1]) /
                              std::pow(scale, static_cast<double>(p.beta)));
        }
    });
}

}  // namespace convlens::cpu

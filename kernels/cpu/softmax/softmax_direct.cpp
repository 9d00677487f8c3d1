#include <cmath>
#include <limits>

#include "kernels/cpu/softmax/softmax.h"

namespace convlens::cpu {

void softmax_direct(const SoftmaxParams& p, const void* src, void* dst, ThreadPool& pool) {
    const auto axis = static_cast<std::size_t>(p.axis);
    const std::int64_t length = p.src.dims[axis];
    AxisValues rows = p.src.dims;
    rows[axis] = 1;
    pool.parallel_for(p.src.elements() / length, [&](std::int64_t row, int) {
        const AxisValues index = unravel(row, p.src.rank, rows);
        const std::int64_t from = address(index, p.src);
        const std::int64_t to = address(index, p.dst);
        const auto value = [&](std::int64_t i) {
            return load_element(p.src.type, src, from + i * p.src.strides[axis]);
        };
        double maximum = -std::numeric_limits<double>::infinity();
        for (std::int64_t i = 0; i < length; ++i)
            if (!(value(i) <= maximum)) maximum = std::isnan(maximum) ? maximum : value(i);
        double sum = 0;
        for (std::int64_t i = 0; i < length; ++i) sum += std::exp(value(i) - maximum);
        for (std::int64_t i = 0; i < length; ++i) {
            const double shifted = value(i) - maximum;
            store_element(p.dst.type, dst, to + i * p.dst.strides[axis],
                          p.logarithm ? shifted - std::log(sum) : std::exp(shifted) / sum);
        }
    });
}

}  // namespace convlens::cpu

#include <algorithm>
#include <cmath>

#include "kernels/cpu/activation/activation.h"
#include "kernels/cpu/batch_normalization/batch_normalization.h"

namespace convlens::cpu {

void batch_normalization_direct(const BatchNormalizationParams& p, const void* src,
                                const ChannelStatistics& statistics, void* dst, ThreadPool& pool) {
    constexpr std::int64_t chunk = 4096;
    const std::int64_t elements = p.src.elements();
    pool.parallel_for((elements + chunk - 1) / chunk, [&](std::int64_t task, int) {
        const std::int64_t end = std::min(elements, (task + 1) * chunk);
        for (std::int64_t i = task * chunk; i < end; ++i) {
            const AxisValues index = unravel(i, p.src.rank, p.src.dims);
            const std::int64_t c = index[1];
            const double deviation = std::sqrt(static_cast<double>(statistics.variance[c]) + p.epsilon);
            const double centred = load_element(p.src.type, src, address(index, p.src)) - statistics.mean[c];
            store_element(p.dst.type, dst, address(index, p.dst),
                          activate_in_double(p.activation,
                                             centred / deviation * statistics.scale[c] + statistics.bias[c]));
        }
    });
}

}  // namespace convlens::cpu

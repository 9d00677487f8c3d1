#include <cmath>
#include <limits>

#include "kernels/cpu/pooling/pooling.h"

namespace convlens::cpu {
namespace {

using Cells = PoolAxis::Cells;

double pool_window(const PoolingParams& p, const void* src, std::int64_t base,
                   const std::array<Cells, 3>& cells) {
    double best = -std::numeric_limits<double>::infinity();
    double sum = 0;
    for (std::int64_t d = 0; d < cells[0].count; ++d)
        for (std::int64_t h = 0; h < cells[1].count; ++h)
            for (std::int64_t w = 0; w < cells[2].count; ++w) {
                const std::int64_t at = base +
                                        (cells[0].first + d * p.axes[0].dilation) * p.axes[0].src_stride +
                                        (cells[1].first + h * p.axes[1].dilation) * p.axes[1].src_stride +
                                        (cells[2].first + w * p.axes[2].dilation) * p.axes[2].src_stride;
                const double value = load_element(p.type, src, at);
                if (std::isnan(value) || value > best) best = std::isnan(best) ? best : value;
                sum += value;
            }
    if (p.kind == PoolKind::max) return best;
    double divisor = 1;
    double real = 1;
    for (const Cells& axis : cells) {
        divisor *= static_cast<double>(p.kind == PoolKind::average_include_pad ? axis.counted : axis.count);
        real *= static_cast<double>(axis.count);
    }
    return real > 0 ? sum / divisor : 0;
}

}  // namespace

void pooling_direct(const PoolingParams& p, const void* src, void* dst, ThreadPool& pool) {
    const auto& [ad, ah, aw] = p.axes;
    pool.parallel_for(p.batch * p.channels, [&](std::int64_t task, int) {
        const std::int64_t n = task / p.channels;
        const std::int64_t c = task % p.channels;
        const std::int64_t src_base = p.src_offset + n * p.src_batch_stride + c * p.src_channel_stride;
        const std::int64_t dst_base = p.dst_offset + n * p.dst_batch_stride + c * p.dst_channel_stride;
        for (std::int64_t d = 0; d < ad.dst; ++d)
            for (std::int64_t h = 0; h < ah.dst; ++h)
                for (std::int64_t w = 0; w < aw.dst; ++w)
                    store_element(p.type, dst,
                                  dst_base + d * ad.dst_stride + h * ah.dst_stride + w * aw.dst_stride,
                                  pool_window(p, src, src_base, {ad.cells(d), ah.cells(h), aw.cells(w)}));
    });
}

}  // namespace convlens::cpu

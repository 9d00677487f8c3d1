#include <limits>

#include "kernels/common/element.h"
#include "kernels/cuda/pooling/pooling.h"
#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {
namespace {

using Cells = kernels::PoolAxis::Cells;

__device__ double pool_window(const PoolingParams& p, const void* src, std::int64_t base,
                              const Cells (&cells)[3]) {
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
                if (isnan(value) || value > best) best = isnan(best) ? best : value;
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

struct Body {
    PoolingParams p;
    const void* src;
    void* dst;
    __device__ void operator()(std::int64_t i) const {
        std::int64_t to = p.dst_offset;
        Cells cells[3];
#pragma unroll
        for (int axis = 2; axis >= 0; --axis) {
            const std::int64_t o = i % p.axes[axis].dst;
            i /= p.axes[axis].dst;
            cells[axis] = p.axes[axis].cells(o);
            to += o * p.axes[axis].dst_stride;
        }
        const std::int64_t c = i % p.channels, n = i / p.channels;
        to += n * p.dst_batch_stride + c * p.dst_channel_stride;
        const std::int64_t base = p.src_offset + n * p.src_batch_stride + c * p.src_channel_stride;
        store_element(p.type, dst, to, pool_window(p, src, base, cells));
    }
};

}  // namespace

void pooling_direct(const PoolingParams& params, const void* src, void* dst, Stream stream) {
    const auto& [d, h, w] = params.axes;
    for_each(params.batch * params.channels * d.dst * h.dst * w.dst, Body{params, src, dst}, stream);
}

}  // namespace convlens::cuda

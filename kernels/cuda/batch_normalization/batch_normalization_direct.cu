#include "kernels/common/element.h"
#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/batch_normalization/batch_normalization.h"
#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {
namespace {

struct Body {
    BatchNormalizationParams p;
    const void* src;
    ChannelStatistics statistics;
    void* dst;
    __device__ void operator()(std::int64_t i) const {
        const AxisValues index = unravel(i, p.src.rank, p.src.dims);
        const std::int64_t c = index[1];
        const double deviation = sqrt(static_cast<double>(statistics.variance[c]) + p.epsilon);
        const double centred = load_element(p.src.type, src, address(index, p.src)) - statistics.mean[c];
        store_element(p.dst.type, dst, address(index, p.dst),
                      activate(p.activation, centred / deviation * statistics.scale[c] + statistics.bias[c]));
    }
};

}  // namespace

void batch_normalization_direct(const BatchNormalizationParams& params, const void* src,
                                const ChannelStatistics& statistics, void* dst, Stream stream) {
    for_each(params.dst.elements(), Body{params, src, statistics, dst}, stream);
}

}  // namespace convlens::cuda

#include "kernels/common/element.h"
#include "kernels/cuda/lrn/lrn.h"
#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {
namespace {

struct Body {
    LrnParams p;
    const void* src;
    void* dst;
    __device__ void operator()(std::int64_t i) const {
        const AxisValues index = unravel(i, p.src.rank, p.src.dims);
        const std::int64_t at = address(index, p.src), c = index[1];
        const std::int64_t first = max(std::int64_t{0}, c - p.before());
        const std::int64_t last = min(p.src.dims[1] - 1, c + p.after());
        double sum = 0;
        for (std::int64_t k = first; k <= last; ++k) {
            const double value = load_element(p.src.type, src, at + (k - c) * p.src.strides[1]);
            sum += value * value;
        }
        const double scale = p.k + static_cast<double>(p.alpha) / static_cast<double>(p.size) * sum;
        store_element(p.dst.type, dst, address(index, p.dst),
                      load_element(p.src.type, src, at) / pow(scale, static_cast<double>(p.beta)));
    }
};

}  // namespace

void lrn_direct(const LrnParams& params, const void* src, void* dst, Stream stream) {
    for_each(params.dst.elements(), Body{params, src, dst}, stream);
}

}  // namespace convlens::cuda

#include <limits>

#include "kernels/common/element.h"
#include "kernels/cuda/softmax/softmax.h"
#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {
namespace {

struct Body {
    SoftmaxParams p;
    AxisValues rows;  // dims, the softmax's axis 1
    const void* src;
    void* dst;
    __device__ void operator()(std::int64_t row) const {
        const std::int64_t length = p.src.dims[p.axis];
        const AxisValues index = unravel(row, p.src.rank, rows);
        const std::int64_t from = address(index, p.src);
        const std::int64_t to = address(index, p.dst);
        const auto value = [&](std::int64_t i) {
            return load_element(p.src.type, src, from + i * p.src.strides[p.axis]);
        };
        double maximum = -std::numeric_limits<double>::infinity();
        for (std::int64_t i = 0; i < length; ++i)
            if (!(value(i) <= maximum)) maximum = isnan(maximum) ? maximum : value(i);
        double sum = 0;
        for (std::int64_t i = 0; i < length; ++i) sum += exp(value(i) - maximum);
        for (std::int64_t i = 0; i < length; ++i) {
            const double shifted = value(i) - maximum;
            store_element(p.dst.type, dst, to + i * p.dst.strides[p.axis],
                          p.logarithm ? shifted - log(sum) : exp(shifted) / sum);
        }
    }
};

}  // namespace

void softmax_direct(const SoftmaxParams& params, const void* src, void* dst, Stream stream) {
    Body body{params, params.src.dims, src, dst};
    body.rows[static_cast<std::size_t>(params.axis)] = 1;
    const std::int64_t elements = params.dst.elements();
    if (elements > 0)
        for_each(elements / params.src.dims[static_cast<std::size_t>(params.axis)], body, stream);
}

}  // namespace convlens::cuda

#include "kernels/common/element.h"
#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/elementwise/elementwise.h"
#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {
namespace {

struct Body {
    ElementwiseParams p;
    const void* a;
    const void* b;
    void* dst;
    __device__ void operator()(std::int64_t i) const {
        const AxisValues index = unravel(i, p.dst.rank, p.dst.dims);
        const double x = load_element(p.a.type, a, address(index, p.a));
        const double y = is_unary(p.op) ? 0.0 : load_element(p.b.type, b, address(index, p.b));
        store_element(p.dst.type, dst, address(index, p.dst),
                      activate(p.activation, kernels::apply_in_double(p.op, x, y)));
    }
};

}  // namespace

void elementwise_direct(const ElementwiseParams& params, const void* a, const void* b, void* dst,
                        Stream stream) {
    for_each(params.dst.elements(), Body{params, a, b, dst}, stream);
}

}  // namespace convlens::cuda

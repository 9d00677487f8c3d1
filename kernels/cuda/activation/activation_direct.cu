#include "kernels/common/element.h"
#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/activation/activation.h"
#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {
namespace {

struct Body {
    ActivationParams p;
    const void* src;
    void* dst;
    __device__ void operator()(std::int64_t i) const {
        const AxisValues index = unravel(i, p.src.rank, p.src.dims);
        const double x = load_element(p.src.type, src, address(index, p.src));
        store_element(p.dst.type, dst, address(index, p.dst), activate(p.activation, x));
    }
};

}  // namespace

void activation_direct(const ActivationParams& params, const void* src, void* dst, Stream stream) {
    for_each(params.dst.elements(), Body{params, src, dst}, stream);
}

}  // namespace convlens::cuda

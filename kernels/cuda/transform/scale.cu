#include "kernels/cuda/transform/scale.h"

#include "kernels/cuda/float_element.cuh"
#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {
namespace {

template <class T>
struct Body {
    Layout layout;
    float factor;
    T* data;
    __device__ void operator()(std::int64_t i) const {
        T& value = data[address(unravel(i, layout.rank, layout.dims), layout)];
        value = factor == 0 ? store_float<T>(0) : store_float<T>(factor * load_float(value));
    }
};

template <class T>
void run(const Layout& layout, float factor, void* data, Stream stream) {
    for_each(layout.elements(), Body<T>{layout, factor, static_cast<T*>(data)}, stream);
}

}  // namespace

void scale(const Layout& layout, float factor, void* data, Stream stream) {
    switch (layout.type) {
        case ElementType::f64:
            return run<double>(layout, factor, data, stream);
        case ElementType::f16:
            return run<__half>(layout, factor, data, stream);
        case ElementType::bf16:
            return run<__nv_bfloat16>(layout, factor, data, stream);
        default:
            return run<float>(layout, factor, data, stream);
    }
}

}  // namespace convlens::cuda

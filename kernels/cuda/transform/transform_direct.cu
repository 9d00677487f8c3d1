#include "kernels/cuda/transform/convert.cuh"
#include "kernels/cuda/transform/transform.h"
#include "kernels/cuda/walk.cuh"

namespace convlens::cuda {
namespace {

struct Body {
    TransformParams p;
    const void* src;
    void* dst;
    __device__ void operator()(std::int64_t i) const {
        const AxisValues index = unravel(i, p.dst.rank, p.dst.dims);
        std::int64_t from = p.src.offset;
        bool outside = false;
        for (int axis = 0; axis < p.dst.rank; ++axis) {
            std::int64_t at = index[axis];
            if (p.padding != Padding::none)
                at = kernels::padded_index(at - p.pads_begin[axis], p.src.dims[axis], p.padding);
            outside = outside || at < 0;
            from += at * p.src.strides[axis];
        }
        const std::int64_t to = address(index, p.dst);
        if (outside)
            store_element(p.dst.type, dst, to, p.pad_value);
        else
            convert_element(p.src.type, src, from, p.dst.type, dst, to);
    }
};

}  // namespace

void transform_direct(const TransformParams& params, const void* src, void* dst, Stream stream) {
    for_each(params.dst.elements(), Body{params, src, dst}, stream);
}

}  // namespace convlens::cuda

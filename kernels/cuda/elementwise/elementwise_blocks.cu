#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/elementwise/elementwise.h"
#include "kernels/cuda/map.cuh"

namespace convlens::cuda {
namespace {

bool is_short(ElementwiseOp op) {
    switch (op) {
        case ElementwiseOp::pow:
        case ElementwiseOp::exp:
        case ElementwiseOp::log:
        case ElementwiseOp::erf:
        case ElementwiseOp::softplus:
        case ElementwiseOp::sin:
        case ElementwiseOp::cos:
            return false;
        default:
            return true;
    }
}

__device__ __forceinline__ float apply_short(ElementwiseOp op, float a, float b) {
    switch (op) {
        case ElementwiseOp::add:
            return a + b;
        case ElementwiseOp::sub:
            return a - b;
        case ElementwiseOp::mul:
            return a * b;
        case ElementwiseOp::div:
            return a / b;
        case ElementwiseOp::min:
            return a != a || b != b ? a + b : fminf(a, b);
        case ElementwiseOp::max:
            return a != a || b != b ? a + b : fmaxf(a, b);
        case ElementwiseOp::prelu:
            return a < 0.0f ? b * a : a;
        case ElementwiseOp::abs:
            return fabsf(a);
        case ElementwiseOp::neg:
            return -a;
        case ElementwiseOp::sqrt:
            return sqrtf(a);
        case ElementwiseOp::reciprocal:
            return 1.0f / a;
        case ElementwiseOp::floor:
            return floorf(a);
        case ElementwiseOp::ceil:
            return ceilf(a);
        case ElementwiseOp::round:
            return nearbyintf(a);
        case ElementwiseOp::sign:
            return a != a ? a : static_cast<float>((a > 0.0f) - (a < 0.0f));
        default:
            return a;
    }
}

__device__ __forceinline__ float apply(ElementwiseOp op, float a, float b) {
    switch (op) {
        case ElementwiseOp::pow:
            return b == 2.0f ? a * a : powf(a, b);
        case ElementwiseOp::exp:
            return expf(a);
        case ElementwiseOp::log:
            return logf(a);
        case ElementwiseOp::erf:
            return erff(a);
        case ElementwiseOp::softplus:
            return (a < 0.0f ? 0.0f : a) + log1pf(expf(-fabsf(a)));
        case ElementwiseOp::sin:
            return sinf(a);
        case ElementwiseOp::cos:
            return cosf(a);
        default:
            return apply_short(op, a, b);
    }
}

template <int sources>
struct Short {
    ElementwiseOp op;
    float low, high;
    __device__ float operator()(const float (&x)[sources]) const {
        return clamp_value(apply_short(op, x[0], x[sources - 1]), low, high);
    }
};

template <int sources>
struct Any {
    ElementwiseOp op;
    Activation activation;
    __device__ float operator()(const float (&x)[sources]) const {
        return activate(activation, apply(op, x[0], x[sources - 1]));
    }
};

template <int sources>
void run(const ElementwiseBlocks& params, const float* const (&src)[sources], float* dst, Stream stream) {
    const Activation& a = params.activation;
    if (is_short(params.op) && is_clamp(a))
        map(params.shape, src, dst, Short<sources>{params.op, clamp_low(a), clamp_high(a)}, stream);
    else
        map(params.shape, src, dst, Any<sources>{params.op, a}, stream);
}

}  // namespace

void elementwise_blocks(const ElementwiseBlocks& params, const float* a, const float* b, float* dst,
                        Stream stream) {
    if (is_unary(params.op))
        run<1>(params, {a}, dst, stream);
    else
        run<2>(params, {a, b}, dst, stream);
}

}  // namespace convlens::cuda

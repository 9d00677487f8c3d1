// Element-wise operations with broadcast, followed by an activation.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/common/activation.h"
#include "kernels/common/host_device.h"
#include "kernels/common/joint_shape.h"

namespace convlens::kernels {

// In the order of convlens::ElementwiseKind.
enum class ElementwiseOp : std::uint8_t {
    add,
    sub,
    mul,
    div,
    pow,
    min,
    max,
    prelu,
    abs,
    neg,
    exp,
    log,
    sqrt,
    reciprocal,
    floor,
    ceil,
    round,  // ties to even
    sign,
    erf,
    softplus,
    sin,
    cos
};
CONVLENS_HD constexpr bool is_unary(ElementwiseOp op) { return op >= ElementwiseOp::abs; }

struct ElementwiseParams {
    ElementwiseOp op = ElementwiseOp::add;
    // dims are dst's for all three; a broadcast axis has stride 0. b is ignored for unary operations.
    Layout a, b, dst;
    Activation activation;
};

struct ElementwiseBlocks {
    JointShape shape;  // operands: a, b (not for unary operations), dst
    ElementwiseOp op = ElementwiseOp::add;
    Activation activation;
};

// The definition, in double. Minimum and maximum yield NaN when one operand is NaN; sign of NaN is NaN.
CONVLENS_HD inline double apply_in_double(ElementwiseOp op, double a, double b) {
    switch (op) {
        case ElementwiseOp::add:
            return a + b;
        case ElementwiseOp::sub:
            return a - b;
        case ElementwiseOp::mul:
            return a * b;
        case ElementwiseOp::div:
            return a / b;
        case ElementwiseOp::pow:
            return std::pow(a, b);
        case ElementwiseOp::min:
            return std::isnan(a) || std::isnan(b) ? a + b : std::fmin(a, b);
        case ElementwiseOp::max:
            return std::isnan(a) || std::isnan(b) ? a + b : std::fmax(a, b);
        case ElementwiseOp::prelu:
            return a < 0 ? b * a : a;
        case ElementwiseOp::abs:
            return std::fabs(a);
        case ElementwiseOp::neg:
            return -a;
        case ElementwiseOp::exp:
            return std::exp(a);
        case ElementwiseOp::log:
            return std::log(a);
        case ElementwiseOp::sqrt:
            return std::sqrt(a);
        case ElementwiseOp::reciprocal:
            return 1 / a;
        case ElementwiseOp::floor:
            return std::floor(a);
        case ElementwiseOp::ceil:
            return std::ceil(a);
        case ElementwiseOp::round:
            return std::nearbyint(a);
        case ElementwiseOp::sign:
            return std::isnan(a) ? a : static_cast<double>((a > 0) - (a < 0));
        case ElementwiseOp::erf:
            return std::erf(a);
        case ElementwiseOp::softplus:
            return std::fmax(a, 0.0) + std::log1p(std::exp(-std::fabs(a)));
        case ElementwiseOp::sin:
            return std::sin(a);
        case ElementwiseOp::cos:
            return std::cos(a);
    }
    return a;
}

}  // namespace convlens::kernels

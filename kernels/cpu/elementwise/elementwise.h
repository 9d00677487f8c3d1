// Element-wise operations with broadcast, followed by an activation.
#pragma once

#include <cstdint>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/blocks.h"
#include "kernels/cpu/thread_pool.h"

namespace convlens::cpu {

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
inline bool is_unary(ElementwiseOp op) { return op >= ElementwiseOp::abs; }

struct ElementwiseParams {
    ElementwiseOp op = ElementwiseOp::add;
    // dims are dst's for all three; a broadcast axis has stride 0. b is ignored for unary operations.
    Layout a, b, dst;
    Activation activation;
};

// By definition, in double: the reference. Any element type, any strides. Minimum and maximum yield NaN when
// one operand is NaN; sign of NaN is NaN.
void elementwise_direct(const ElementwiseParams& params, const void* a, const void* b, void* dst,
                        ThreadPool& pool);

// f32, any strides (operands: a, b or nothing, dst); dst may be a or b.
void elementwise_blocks(const JointShape& shape, ElementwiseOp op, const Activation& activation,
                        const float* a, const float* b, float* dst, ThreadPool& pool);

}  // namespace convlens::cpu

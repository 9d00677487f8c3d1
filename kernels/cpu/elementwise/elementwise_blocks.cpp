#include "kernels/cpu/elementwise/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/elementwise_blocks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/activation-inl.h"
#include "kernels/cpu/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {

// The operations that are a few instructions. False for the others.
bool CombineFloats(ElementwiseOp op, const float* a, const float* b, float* dst, std::int64_t n) {
    const auto map2 = [&](const auto& f) HWY_ATTR { map_floats(n, dst, f, a, b); };
    const auto map1 = [&](const auto& f) HWY_ATTR { map_floats(n, dst, f, a); };
    const auto nan_or = [](auto x, auto y, auto other) HWY_ATTR {
        return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::IsNaN(y), y, other));
    };
    switch (op) {
        case ElementwiseOp::add:
            map2([](auto, auto x, auto y) HWY_ATTR { return hn::Add(x, y); });
            return true;
        case ElementwiseOp::sub:
            map2([](auto, auto x, auto y) HWY_ATTR { return hn::Sub(x, y); });
            return true;
        case ElementwiseOp::mul:
            map2([](auto, auto x, auto y) HWY_ATTR { return hn::Mul(x, y); });
            return true;
        case ElementwiseOp::div:
            map2([](auto, auto x, auto y) HWY_ATTR { return hn::Div(x, y); });
            return true;
        case ElementwiseOp::min:
            map2([&](auto, auto x, auto y)
                     HWY_ATTR { return nan_or(x, y, hn::IfThenElse(hn::Lt(x, y), x, y)); });
            return true;
        case ElementwiseOp::max:
            map2([&](auto, auto x, auto y)
                     HWY_ATTR { return nan_or(x, y, hn::IfThenElse(hn::Gt(x, y), x, y)); });
            return true;
        case ElementwiseOp::prelu:
            map2([](auto d, auto x, auto y)
                     HWY_ATTR { return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, y), x); });
            return true;
        case ElementwiseOp::abs:
            map1([](auto, auto x) HWY_ATTR { return hn::Abs(x); });
            return true;
        case ElementwiseOp::neg:
            map1([](auto, auto x) HWY_ATTR { return hn::Neg(x); });
            return true;
        case ElementwiseOp::exp:
            map1([](auto d, auto x) HWY_ATTR { return hn::IfThenElse(hn::IsNaN(x), x, exp_vector(d, x)); });
            return true;
        case ElementwiseOp::sqrt:
            map1([](auto, auto x) HWY_ATTR { return hn::Sqrt(x); });
            return true;
        case ElementwiseOp::reciprocal:
            map1([](auto d, auto x) HWY_ATTR { return hn::Div(hn::Set(d, 1.0f), x); });
            return true;
        case ElementwiseOp::floor:
            map1([](auto, auto x) HWY_ATTR { return hn::Floor(x); });
            return true;
        case ElementwiseOp::ceil:
            map1([](auto, auto x) HWY_ATTR { return hn::Ceil(x); });
            return true;
        case ElementwiseOp::round:
            map1([](auto, auto x) HWY_ATTR { return hn::Round(x); });
            return true;
        case ElementwiseOp::sign:
            map1([](auto d, auto x) HWY_ATTR {
                const auto one = hn::Set(d, 1.0f);
                const auto below = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Neg(one), x);
                return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), one, below);
            });
            return true;
        default:
            return false;
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cmath>

#include "kernels/cpu/activation/activation.h"

namespace convlens::cpu {
namespace {

// The operations whose value the C library gives: rare in networks, and exact to the last bit or two over
// the whole range.
void compute_floats(ElementwiseOp op, const float* a, const float* b, float* dst, std::int64_t n) {
    const auto map = [&](const auto& f) {
        for (std::int64_t i = 0; i < n; ++i) dst[i] = f(a[i], b == nullptr ? 0.0f : b[i]);
    };
    switch (op) {
        case ElementwiseOp::pow:
            return map([](float x, float y) { return y == 2.0f ? x * x : std::pow(x, y); });
        case ElementwiseOp::log:
            return map([](float x, float) { return std::log(x); });
        case ElementwiseOp::erf:
            return map([](float x, float) { return std::erf(x); });
        case ElementwiseOp::softplus:
            return map(
                [](float x, float) { return (x < 0.0f ? 0.0f : x) + std::log1p(std::exp(-std::fabs(x))); });
        case ElementwiseOp::sin:
            return map([](float x, float) { return std::sin(x); });
        case ElementwiseOp::cos:
            return map([](float x, float) { return std::cos(x); });
        default:
            return;
    }
}

double cost_of(ElementwiseOp op, const Activation& activation) {
    double cost = 1;
    if (op == ElementwiseOp::exp) cost = 4;
    if (op == ElementwiseOp::pow || op == ElementwiseOp::log || op == ElementwiseOp::erf ||
        op >= ElementwiseOp::softplus)
        cost = 20;
    return cost + (activation.kind == ActivationKind::identity ? 0 : is_clamp(activation) ? 1 : 8);
}

}  // namespace

HWY_EXPORT(CombineFloats);

void elementwise_blocks(const ElementwiseBlocks& params, const float* a, const float* b, float* dst,
                        ThreadPool& pool) {
    const ElementwiseOp op = params.op;
    const Activation& activation = params.activation;
    const bool unary = is_unary(op);
    const auto run = [&](const float* const* sources, float* block, std::int64_t n) {
        const float* second = unary ? nullptr : sources[1];
        if (!HWY_DYNAMIC_DISPATCH(CombineFloats)(op, sources[0], second, block, n))
            compute_floats(op, sources[0], second, block, n);
        if (activation.kind != ActivationKind::identity) activate_floats(activation, block, block, n);
    };
    for_each_block(params.shape, {a, b}, dst, pool, cost_of(op, activation), run);
}

}  // namespace convlens::cpu
#endif

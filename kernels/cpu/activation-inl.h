// Activation functions on Highway vectors, for epilogues and for the activation operation. Included by files
// that Highway compiles once for each target (after foreach_target.h).
//
// NaN passes through every function, also through those whose exp() would swallow it. Tails are computed by
// the same vector code as bodies, so an element's result does not depend on its place.
#if defined(CONVLENS_KERNELS_CPU_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVLENS_KERNELS_CPU_ACTIVATION_INL_H_
#undef CONVLENS_KERNELS_CPU_ACTIVATION_INL_H_
#else
#define CONVLENS_KERNELS_CPU_ACTIVATION_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "kernels/cpu/activation.h"

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {

// NaN in x is kept: x86's min and max yield their second operand when one is NaN; elsewhere by comparisons,
// which are false with NaN.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V clamp_vector(D, V x, V low, V high) {
    namespace hn = hwy::HWY_NAMESPACE;
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
    return hn::Min(high, hn::Max(low, x));
#else
    x = hn::IfThenElse(hn::Lt(x, low), low, x);
    return hn::IfThenElse(hn::Gt(x, high), high, x);
#endif
}

// Highway's exp() is defined up to 104, where the result is infinite already.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V exp_vector(D d, V x) {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::Exp(d, hn::Min(hn::Max(x, hn::Set(d, -104.0f)), hn::Set(d, 104.0f)));
}

template <ActivationKind kind, class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V activate_vector(D d, V x, float alpha, float beta) {
    namespace hn = hwy::HWY_NAMESPACE;
    const V zero = hn::Zero(d);
    const V one = hn::Set(d, 1.0f);
    const auto keep_nan = [&](V y) { return hn::IfThenElse(hn::IsNaN(x), x, y); };
    if constexpr (kind == ActivationKind::identity) {
        return x;
    } else if constexpr (kind == ActivationKind::relu) {
        return hn::IfThenElse(hn::Lt(x, zero), zero, x);
    } else if constexpr (kind == ActivationKind::clip) {
        return clamp_vector(d, x, hn::Set(d, alpha), hn::Set(d, beta));
    } else if constexpr (kind == ActivationKind::leaky_relu) {
        return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(x, hn::Set(d, alpha)), x);
    } else if constexpr (kind == ActivationKind::elu) {
        const V below = hn::Expm1(d, hn::Max(hn::Min(x, zero), hn::Set(d, -104.0f)));
        return keep_nan(hn::IfThenElse(hn::Lt(x, zero), hn::Mul(below, hn::Set(d, alpha)), x));
    } else if constexpr (kind == ActivationKind::sigmoid) {
        return keep_nan(hn::Div(one, hn::Add(one, exp_vector(d, hn::Neg(x)))));
    } else if constexpr (kind == ActivationKind::tanh) {
        // Beyond 10 the result is 1 to the last bit.
        const V inside = hn::Min(hn::Max(x, hn::Set(d, -10.0f)), hn::Set(d, 10.0f));
        return keep_nan(hn::Tanh(d, inside));
    } else if constexpr (kind == ActivationKind::swish) {
        const V exponent = hn::Mul(x, hn::Set(d, -alpha));
        return keep_nan(hn::Div(x, hn::Add(one, exp_vector(d, exponent))));
    } else if constexpr (kind == ActivationKind::hard_sigmoid) {
        return clamp_vector(d, hn::MulAdd(x, hn::Set(d, alpha), hn::Set(d, beta)), zero, one);
    } else {
        const V gate = hn::MulAdd(x, hn::Set(d, 1.0f / 6.0f), hn::Set(d, 0.5f));
        return hn::Mul(x, clamp_vector(d, gate, zero, one));
    }
}

// Calls body.template operator()<kind>() for the activation's kind, so that a loop inside has no choice to
// make.
template <class Body>
HWY_INLINE void with_activation_kind(ActivationKind kind, const Body& body) {
    switch (kind) {
        case ActivationKind::identity:
            return body.template operator()<ActivationKind::identity>();
        case ActivationKind::relu:
            return body.template operator()<ActivationKind::relu>();
        case ActivationKind::clip:
            return body.template operator()<ActivationKind::clip>();
        case ActivationKind::leaky_relu:
            return body.template operator()<ActivationKind::leaky_relu>();
        case ActivationKind::elu:
            return body.template operator()<ActivationKind::elu>();
        case ActivationKind::sigmoid:
            return body.template operator()<ActivationKind::sigmoid>();
        case ActivationKind::tanh:
            return body.template operator()<ActivationKind::tanh>();
        case ActivationKind::swish:
            return body.template operator()<ActivationKind::swish>();
        case ActivationKind::hard_sigmoid:
            return body.template operator()<ActivationKind::hard_sigmoid>();
        case ActivationKind::hard_swish:
            return body.template operator()<ActivationKind::hard_swish>();
    }
}

// The choice at every vector, for epilogues outside the inner loop.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_NOINLINE V activate_vector(D d, const Activation& a, V x) {
    with_activation_kind(
        a.kind, [&]<ActivationKind kind>() HWY_ATTR { x = activate_vector<kind>(d, x, a.alpha, a.beta); });
    return x;
}

}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#endif

// How a window's cells are folded, for each vector width: maximum that keeps NaN, or sum.
#if defined(CONVLENS_POOLING_FOLD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVLENS_POOLING_FOLD_INL_H
#undef CONVLENS_POOLING_FOLD_INL_H
#else
#define CONVLENS_POOLING_FOLD_INL_H
#endif

#include <hwy/highway.h>

#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct MaxFold {
    static constexpr float identity = -std::numeric_limits<float>::infinity();
    template <class V>
    static HWY_INLINE V fold(V sofar, V x) {
        return hn::IfThenElse(hn::Or(hn::Gt(sofar, x), hn::IsNaN(sofar)), sofar, x);
    }
    static HWY_INLINE float fold_one(float sofar, float x) {
        return sofar > x || std::isnan(sofar) ? sofar : x;
    }
};

struct SumFold {
    static constexpr float identity = 0.0f;
    template <class V>
    static HWY_INLINE V fold(V sofar, V x) {
        return hn::Add(sofar, x);
    }
    static HWY_INLINE float fold_one(float sofar, float x) { return sofar + x; }
};

}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();
#endif

// Element-wise loops on Highway vectors. The tail goes through the same vector code as the body, so an
// element's result does not depend on its place.
#if defined(CONVLENS_KERNELS_CPU_MAP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVLENS_KERNELS_CPU_MAP_INL_H
#undef CONVLENS_KERNELS_CPU_MAP_INL_H
#else
#define CONVLENS_KERNELS_CPU_MAP_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// dst[i] = f(d, a[i]...); dst may be one of the sources.
template <class F, class... Sources>
HWY_INLINE void map_floats(std::int64_t n, float* dst, const F& f, const Sources*... sources) {
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) hn::StoreU(f(d, hn::LoadU(d, sources + i)...), d, dst + i);
    if (i == n) return;
    const std::size_t rest = static_cast<std::size_t>(n - i) * sizeof(float);
    const auto load = [&](const float* from) HWY_ATTR {
        HWY_ALIGN float lane[HWY_MAX_BYTES / 4] = {};
        std::memcpy(lane, from + i, rest);
        return hn::Load(d, lane);
    };
    HWY_ALIGN float out[HWY_MAX_BYTES / 4];
    hn::Store(f(d, load(sources)...), d, out);
    std::memcpy(dst + i, out, rest);
}

}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();
#endif

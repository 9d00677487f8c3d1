#include "kernels/cpu/activation/activation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/activation/activation_blocks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/activation-inl.h"
#include "kernels/cpu/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {

void ActivateFloats(const Activation& activation, const float* src, float* dst, std::int64_t n) {
    const float alpha = activation.alpha;
    const float beta = activation.beta;
    with_activation_kind(activation.kind, [&]<ActivationKind kind>() HWY_ATTR {
        map_floats(
            n, dst, [&](auto d, auto x) HWY_ATTR { return activate_vector<kind>(d, x, alpha, beta); }, src);
    });
}

}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convlens::cpu {

HWY_EXPORT(ActivateFloats);

void activate_floats(const Activation& activation, const float* src, float* dst, std::int64_t n) {
    HWY_DYNAMIC_DISPATCH(ActivateFloats)(activation, src, dst, n);
}

void activation_blocks(const ActivationBlocks& params, const float* src, float* dst, ThreadPool& pool) {
    const Activation& activation = params.activation;
    const bool cheap = is_clamp(activation) || activation.kind == ActivationKind::leaky_relu;
    for_each_block(params.shape, {src}, dst, pool, cheap ? 1 : 8,
                   [&](const float* const* sources, float* block, std::int64_t n) {
                       activate_floats(activation, sources[0], block, n);
                   });
}

}  // namespace convlens::cpu
#endif

#include "kernels/cpu/transform/convert_run.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/transform/convert_run.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convlens::cpu {
namespace HWY_NAMESPACE {
namespace {

// The conversions have no branches, so the compiler makes vector code of the target.
template <class From, class To>
void run(const From* HWY_RESTRICT from, std::int64_t count, To* HWY_RESTRICT to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i]);
}

void from_half(const Half* from, std::int64_t count, float* to) { run(from, count, to); }
void from_bfloat16(const BFloat16* from, std::int64_t count, float* to) { run(from, count, to); }
void to_half(const float* from, std::int64_t count, Half* to) { run(from, count, to); }
void to_bfloat16(const float* from, std::int64_t count, BFloat16* to) { run(from, count, to); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace convlens::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convlens::cpu {
namespace {

HWY_EXPORT(from_half);
HWY_EXPORT(from_bfloat16);
HWY_EXPORT(to_half);
HWY_EXPORT(to_bfloat16);

}  // namespace

void convert_run(const Half* from, std::int64_t count, float* to) {
    HWY_DYNAMIC_DISPATCH(from_half)(from, count, to);
}
void convert_run(const BFloat16* from, std::int64_t count, float* to) {
    HWY_DYNAMIC_DISPATCH(from_bfloat16)(from, count, to);
}
void convert_run(const float* from, std::int64_t count, Half* to) {
    HWY_DYNAMIC_DISPATCH(to_half)(from, count, to);
}
void convert_run(const float* from, std::int64_t count, BFloat16* to) {
    HWY_DYNAMIC_DISPATCH(to_bfloat16)(from, count, to);
}

}  // namespace convlens::cpu
#endif

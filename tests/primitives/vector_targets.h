// Runs a body once for each vector target that this processor has, the widest last; on a GPU once.
#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <string>

#include "tests/support/on_gpu.h"

namespace convlens::test {

template <class Body>
void for_each_vector_target(const Body& body) {
    if (on_gpu) return body(std::string("the GPU"));
    const std::int64_t here = hwy::SupportedTargets();
    const struct {
        const char* name;
        std::int64_t target, without;
    } rows[] = {
        {"SSE4", HWY_SSE4, HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL},
        {"AVX2", HWY_AVX2, HWY_AVX3 | HWY_AVX3_DL},
        {"AVX-512", HWY_AVX3, 0},
    };
    for (const auto& row : rows) {
        if ((here & row.target) == 0) continue;
        hwy::DisableTargets(row.without);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        body(std::string(row.name));
    }
    hwy::DisableTargets(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace convlens::test

// Runs of 16-bit floats to and from f32 in vector code; the same bits as kernels/common/element.h gives.
#pragma once

#include <cstdint>

#include "kernels/cpu/element.h"

namespace convlens::cpu {

void convert_run(const Half* from, std::int64_t count, float* to);
void convert_run(const BFloat16* from, std::int64_t count, float* to);
void convert_run(const float* from, std::int64_t count, Half* to);
void convert_run(const float* from, std::int64_t count, BFloat16* to);

}  // namespace convlens::cpu

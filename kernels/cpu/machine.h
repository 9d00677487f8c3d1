// What processor this is and which vector width the kernels use on it.
#pragma once
#include <cstddef>
#include <string>

namespace convlens::cpu {
// The name from /proc/cpuinfo, or "processor".
std::string processor_name();
// The widest Highway target that the kernels are compiled for and this processor has: "AVX-512", "AVX2",
// "SSE4", "scalar".
std::string vector_target_name();
// f32 lanes of that target: 16, 8, 4 or 1.
std::size_t vector_lanes();
// Bytes of the data cache of one core (level 1 and 2) as the system tells, or 32 KiB and 1 MiB.
std::size_t cache_bytes(int level);
}  // namespace convlens::cpu

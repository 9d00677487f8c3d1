#include "kernels/cpu/machine.h"

#include <hwy/targets.h>
#include <unistd.h>

#include <fstream>

namespace convlens::cpu {

std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("model name", 0) != 0) continue;
        const auto colon = line.find(':');
        if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
    }
    return "processor";
}

namespace {
bool has(std::int64_t target) { return (hwy::SupportedTargets() & target) != 0; }
}  // namespace

std::string vector_target_name() {
    if (has(HWY_AVX3)) return "AVX-512";
    if (has(HWY_AVX2)) return "AVX2";
    if (has(HWY_SSE4)) return "SSE4";
    return "scalar";
}

std::size_t vector_lanes() {
    if (has(HWY_AVX3)) return 16;
    if (has(HWY_AVX2)) return 8;
    if (has(HWY_SSE4)) return 4;
    return 1;
}

std::size_t cache_bytes(int level) {
    const long size = sysconf(level == 1 ? _SC_LEVEL1_DCACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);
    if (size > 0) return static_cast<std::size_t>(size);
    return level == 1 ? std::size_t{32} << 10 : std::size_t{1} << 20;
}

}  // namespace convlens::cpu

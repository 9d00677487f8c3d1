// Descriptors as a hostile or careless caller makes them, for a minute (CONVLENS_FUZZ_SECONDS): only errors
// of the library may come out, and what is accepted and small runs inside its buffers. The bytes of each seed
// are always the same.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "convlens/problem.h"
#include "fuzz_target.h"
#include "tests/support/on_gpu.h"

namespace convlens::test {
namespace {

std::vector<std::uint8_t> bytes_of(std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    std::vector<std::uint8_t> bytes(768);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(engine() >> 24);
    return bytes;
}

// So many at least, however slow sanitizers or a device make them.
constexpr std::uint64_t least = on_gpu ? 2000 : 8000;

// On a GPU, where time is dear, the least number is enough.
std::chrono::seconds duration() {
    const char* asked = std::getenv("CONVLENS_FUZZ_SECONDS");
    return std::chrono::seconds(asked != nullptr ? std::atoi(asked) : on_gpu ? 0 : 60);
}

TEST(DescriptorFuzz, OnlyErrorsComeOut) {
    std::uint64_t accepted = 0, refused = 0;
    std::vector<std::uint64_t> by_operation(std::variant_size_v<Problem>);
    const auto end = std::chrono::steady_clock::now() + duration();
    std::uint64_t seed = 0;
    for (; seed < least || std::chrono::steady_clock::now() < end; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const FuzzOutcome outcome = fuzz_one(bytes_of(seed));
        ++(outcome.accepted ? accepted : refused);
        by_operation[outcome.operation] += static_cast<std::uint64_t>(outcome.executed);
        if (HasFailure()) break;
    }
    RecordProperty("seeds", std::to_string(seed));
    EXPECT_GT(accepted, seed / 6);
    EXPECT_GT(refused, seed / 6);
    for (std::size_t i = 0; i < by_operation.size(); ++i)
        EXPECT_GT(by_operation[i], least / 200) << "operation " << i;
}

}  // namespace
}  // namespace convlens::test

// Problems of any bytes: what comes out of both interfaces is an answer or an error, and what is accepted and
// small runs inside its buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace convlens::test {

struct FuzzOutcome {
    std::size_t operation = 0;  // index of the problem's type
    bool accepted = false;
    int executed = 0;  // algorithms
};

// Failures are GoogleTest's.
FuzzOutcome fuzz_one(std::span<const std::uint8_t> bytes);

}  // namespace convlens::test

// The steady clock in milliseconds, as frames, snapshots and messages carry it.
#pragma once

#include <chrono>

namespace convlens::engine {

inline double now_ms() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace convlens::engine

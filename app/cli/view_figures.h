// What the loop around the window measures of itself.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "app/measure/timing.h"
#include "app/render/renderer.h"

namespace convlens::cli {

struct ViewFigures {
    std::uint64_t refreshes = 0;  // after the first pass
    std::uint64_t first_pass = 0, last_pass = 0;
    double start_ms = 0, end_ms = 0;
    measure::RollingWindow interval_ms{120};  // between refreshes
    measure::RollingWindow window_gpu_ms{240}, atlas_gpu_ms{240}, draw_cpu_ms{240};
    measure::RollingWindow copied_per_refresh{60}, fetch_ms{60};  // of refreshes that copied
    std::vector<double> latencies_ms;  // from the input of a pass, or a command, to the refresh that shows it
    std::uint64_t upload_bytes = 0, copied_bytes = 0, snapshot_bytes = 0;
    std::uint64_t atlas_refreshes = 0;

    std::optional<double> refreshes_per_second() const {
        const double seconds = (end_ms - start_ms) / 1000;
        if (refreshes < 2 || seconds <= 0) return std::nullopt;
        return static_cast<double>(refreshes - 1) / seconds;
    }
};

}  // namespace convlens::cli

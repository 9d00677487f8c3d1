// What Winograd takes, and in how many tiles, on both backends (inside the library only).
#pragma once

#include <cstdint>
#include <string>

#include "convlens/problem.h"

namespace convlens {

// Empty, or why Winograd's filtering with a window of length x length does not compute this one; filter: K
// C/groups R S, of any direction.
inline std::string reject_winograd_window(const WindowDesc& window, const Dims& filter, std::int64_t groups,
                                          std::int64_t length) {
    const auto all_ones = [](const Dims& values) {
        for (const std::int64_t value : values)
            if (value != 1) return false;
        return true;
    };
    if (window.rank() != 2) return "Winograd here needs two spatial axes";
    const std::string size = std::to_string(length);
    if (filter[2] != length || filter[3] != length)
        return "Winograd here needs a " + size + "x" + size + " window, not " + std::to_string(filter[2]) +
               "x" + std::to_string(filter[3]);
    if (!all_ones(window.strides)) return "Winograd needs stride 1";
    if (!all_ones(window.dilations)) return "Winograd needs dilation 1";
    if (groups != 1) return "Winograd needs one group, not " + std::to_string(groups);
    return {};
}
inline std::string reject_winograd_window(const ConvolutionProblem& problem, std::int64_t length) {
    return reject_winograd_window(problem.window, problem.weights, problem.groups, length);
}

// Output tiles of the whole batch.
inline std::int64_t winograd_tiles(const ConvolutionProblem& problem, std::int64_t tile) {
    return problem.dst.dims[0] * ((problem.dst.dims[2] + tile - 1) / tile) *
           ((problem.dst.dims[3] + tile - 1) / tile);
}

}  // namespace convlens

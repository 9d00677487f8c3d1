// What Winograd takes, and in how many tiles, on both backends (inside the library only).
#pragma once

#include <cstdint>
#include <string>

#include "convlens/problem.h"

namespace convlens {

// Empty, or why F(m x m, length x length) does not compute this window.
inline std::string reject_winograd_window(const ConvolutionProblem& problem, std::int64_t length) {
    const auto all_ones = [](const Dims& values) {
        for (const std::int64_t value : values)
            if (value != 1) return false;
        return true;
    };
    if (problem.window.rank() != 2) return "Winograd here needs two spatial axes";
    if (problem.weights[2] != length || problem.weights[3] != length)
        return "Winograd here needs a " + std::to_string(length) + "x" + std::to_string(length) +
               " window, not " + std::to_string(problem.weights[2]) + "x" +
               std::to_string(problem.weights[3]);
    if (!all_ones(problem.window.strides)) return "Winograd needs stride 1";
    if (!all_ones(problem.window.dilations)) return "Winograd needs dilation 1";
    if (problem.groups != 1) return "Winograd needs one group, not " + std::to_string(problem.groups);
    return {};
}

// Output tiles of the whole batch.
inline std::int64_t winograd_tiles(const ConvolutionProblem& problem, std::int64_t tile) {
    return problem.dst.dims[0] * ((problem.dst.dims[2] + tile - 1) / tile) *
           ((problem.dst.dims[3] + tile - 1) / tile);
}

}  // namespace convlens

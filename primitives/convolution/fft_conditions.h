// What the FFT rows take on both backends (inside the library only).
#pragma once

#include <cstdint>
#include <string>

#include "convlens/problem.h"
#include "kernels/common/convolution_geometry.h"

namespace convlens {

// Empty, or why transforms do not compute this window.
inline std::string reject_fft_window(const WindowDesc& window, std::int64_t groups) {
    if (window.rank() != 2) return "FFT here needs two spatial axes";
    for (int axis = 0; axis < 2; ++axis) {
        if (window.strides[axis] != 1) return "FFT needs stride 1";
        if (window.dilations[axis] != 1) return "FFT needs dilation 1";
    }
    if (groups != 1) return "FFT needs one group, not " + std::to_string(groups);
    return {};
}

// Empty, or why one transform does not hold a padded image, or tiles not the window.
inline std::string reject_fft_side(const kernels::ConvolutionGeometry& g, bool whole, std::int64_t most) {
    for (std::size_t axis = 1; axis < 3; ++axis) {
        const std::int64_t outputs = whole ? g.dst[axis] : 1;
        if (outputs <= most && g.window[axis] <= most && outputs + g.window[axis] - 1 <= most) continue;
        return whole ? "the padded image is larger than " + std::to_string(most) +
                           " on a side; fft_tiling takes it in tiles"
                     : "the window is larger than " + std::to_string(most) + " on a side";
    }
    return {};
}

// Spectra of a filter, and a workspace, beyond this are refused: another row does better by far.
inline std::string reject_spectra(double bytes, const char* what, std::int64_t most_mebibytes) {
    if (bytes <= static_cast<double>(most_mebibytes << 20)) return {};
    return std::string(what) + " would need " + std::to_string(static_cast<std::int64_t>(bytes / (1 << 20))) +
           " MiB, above " + std::to_string(most_mebibytes);
}

// Beyond what Winograd takes.
inline bool large_window(const kernels::ConvolutionGeometry& g) { return g.taps() > 9; }

}  // namespace convlens

#include "app/ui/picture_scale.h"

#include <algorithm>
#include <cmath>

namespace convlens::ui {

namespace {

struct Tap {
    int first = 0;
    std::vector<float> weights;  // sum 1
};

std::vector<Tap> taps(int from, int to) {
    std::vector<Tap> result(static_cast<std::size_t>(to));
    const double ratio = static_cast<double>(from) / to;
    for (int i = 0; i < to; ++i) {
        Tap& tap = result[static_cast<std::size_t>(i)];
        if (ratio > 1) {
            const double begin = i * ratio, end = std::min<double>(from, (i + 1) * ratio);
            tap.first = static_cast<int>(begin);
            const int last = std::min(from - 1, static_cast<int>(std::ceil(end)) - 1);
            for (int p = tap.first; p <= std::max(tap.first, last); ++p)
                tap.weights.push_back(static_cast<float>(
                    std::max(1e-6, std::min<double>(end, p + 1) - std::max<double>(begin, p)) /
                    (end - begin)));
        } else {
            const double at = std::clamp((i + 0.5) * ratio - 0.5, 0.0, from - 1.0);
            tap.first = std::min(static_cast<int>(at), std::max(0, from - 2));
            const auto part = static_cast<float>(at - tap.first);
            tap.weights = from > 1 ? std::vector<float>{1 - part, part} : std::vector<float>{1};
        }
    }
    return result;
}

}  // namespace

std::vector<std::uint8_t> scale_picture(const std::uint8_t* rgb, int width, int height, int new_width,
                                        int new_height) {
    const std::vector<Tap> across = taps(width, new_width), down = taps(height, new_height);
    const auto row_values = static_cast<std::size_t>(new_width) * 3;
    std::vector<std::uint8_t> out(row_values * static_cast<std::size_t>(new_height));
    std::vector<float> sum(static_cast<std::size_t>(width) * 3);
    for (int y = 0; y < new_height; ++y) {
        const Tap& rows = down[static_cast<std::size_t>(y)];
        std::fill(sum.begin(), sum.end(), 0.0f);
        for (std::size_t k = 0; k < rows.weights.size(); ++k) {
            const std::uint8_t* row =
                rgb + (static_cast<std::size_t>(rows.first) + k) * static_cast<std::size_t>(width) * 3;
            for (std::size_t i = 0; i < sum.size(); ++i)
                sum[i] += rows.weights[k] * static_cast<float>(row[i]);
        }
        for (int x = 0; x < new_width; ++x) {
            const Tap& columns = across[static_cast<std::size_t>(x)];
            for (std::size_t c = 0; c < 3; ++c) {
                float value = 0;
                for (std::size_t k = 0; k < columns.weights.size(); ++k)
                    value += columns.weights[k] * sum[(static_cast<std::size_t>(columns.first) + k) * 3 + c];
                out[static_cast<std::size_t>(y) * row_values + static_cast<std::size_t>(x) * 3 + c] =
                    static_cast<std::uint8_t>(std::clamp(value + 0.5f, 0.0f, 255.0f));
            }
        }
    }
    return out;
}

}  // namespace convlens::ui

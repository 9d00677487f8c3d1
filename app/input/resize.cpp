#include "app/input/resize.h"

#include <algorithm>
#include <cmath>

#include "convlens/error.h"

namespace convlens::input {
namespace {

// Weights of one axis for outputs [first, first + count) of n.
struct Axis {
    std::vector<int> start, size;     // per output: first source pixel, number of source pixels
    std::vector<std::size_t> offset;  // into weights
    std::vector<float> weights;
    int low = 0, high = 0;  // all source pixels used: [low, high)
};

Axis axis_weights(double a, double b, int source, int n, int first, int count) {
    Axis axis;
    const double step = (b - a) / n, width = std::max(step, 1.0);
    axis.low = source;
    std::vector<double> w;
    for (int i = first; i < first + count; ++i) {
        const double centre = a + (i + 0.5) * step;
        // Pixels whose centre lies strictly within the triangle's foot.
        const double from = std::ceil(centre - width - 0.5), to = std::floor(centre + width - 0.5);
        int low = static_cast<int>(std::clamp(from, 0.0, static_cast<double>(source - 1)));
        int high = static_cast<int>(std::clamp(to, 0.0, static_cast<double>(source - 1))) + 1;
        w.clear();
        double sum = 0;
        for (int j = low; j < high; ++j) {
            w.push_back(std::max(0.0, 1 - std::abs(j + 0.5 - centre) / width));
            sum += w.back();
        }
        if (!(sum > 0)) {
            low = std::clamp(static_cast<int>(std::clamp(centre, 0.0, static_cast<double>(source))), 0,
                             source - 1);
            high = low + 1;
            w.assign(1, 1.0);
            sum = 1;
        }
        axis.start.push_back(low);
        axis.size.push_back(high - low);
        axis.offset.push_back(axis.weights.size());
        for (const double value : w) axis.weights.push_back(static_cast<float>(value / sum));
        axis.low = std::min(axis.low, low);
        axis.high = std::max(axis.high, high);
    }
    return axis;
}

}  // namespace

FloatPicture resize(const Frame& frame, const Box& source, int width, int height,
                    const OutputWindow& wanted) {
    const bool overlaps = source.x0 < source.x1 && source.y0 < source.y1 && source.x1 > 0 && source.y1 > 0 &&
                          source.x0 < frame.width && source.y0 < frame.height;
    if (!overlaps || wanted.width < 1 || wanted.height < 1 || wanted.x < 0 || wanted.y < 0 ||
        wanted.x + wanted.width > width || wanted.y + wanted.height > height)
        throw Error(Status::bad_parameter,
                    "'" + frame.name + "': the part to be resized is empty or outside of the picture");
    const Axis columns = axis_weights(source.x0, source.x1, frame.width, width, wanted.x, wanted.width);
    const Axis rows = axis_weights(source.y0, source.y1, frame.height, height, wanted.y, wanted.height);

    const std::size_t stride = static_cast<std::size_t>(wanted.width) * 3;
    std::vector<float> between(static_cast<std::size_t>(rows.high - rows.low) * stride);
    for (int y = rows.low; y < rows.high; ++y) {
        const std::uint8_t* from =
            frame.rgb.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(frame.width) * 3;
        float* to = between.data() + static_cast<std::size_t>(y - rows.low) * stride;
        for (std::size_t x = 0; x < static_cast<std::size_t>(wanted.width); ++x, to += 3) {
            const float* weight = columns.weights.data() + columns.offset[x];
            const std::uint8_t* pixel = from + static_cast<std::size_t>(columns.start[x]) * 3;
            float sum[3] = {0, 0, 0};
            for (int k = 0; k < columns.size[x]; ++k, pixel += 3)
                for (int c = 0; c < 3; ++c) sum[c] += weight[k] * static_cast<float>(pixel[c]);
            std::copy_n(sum, 3, to);
        }
    }
    FloatPicture out{wanted.width, wanted.height,
                     std::vector<float>(static_cast<std::size_t>(wanted.height) * stride, 0.0f)};
    for (std::size_t y = 0; y < static_cast<std::size_t>(wanted.height); ++y) {
        float* to = out.rgb.data() + y * stride;
        for (int k = 0; k < rows.size[y]; ++k) {
            const float weight = rows.weights[rows.offset[y] + static_cast<std::size_t>(k)];
            const float* from =
                between.data() + static_cast<std::size_t>(rows.start[y] + k - rows.low) * stride;
            for (std::size_t i = 0; i < stride; ++i) to[i] += weight * from[i];
        }
    }
    return out;
}

FloatPicture resize(const Frame& frame, int width, int height) {
    return resize(frame, {0, 0, static_cast<double>(frame.width), static_cast<double>(frame.height)}, width,
                  height, {0, 0, width, height});
}

}  // namespace convlens::input

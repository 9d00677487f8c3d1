#include "app/measure/aggregate.h"

#include <algorithm>
#include <cmath>

#include "app/measure/tensor_maps.h"

namespace convlens::measure {
namespace {
constexpr std::int64_t most_channels = 32;  // of one aggregated picture
}  // namespace

AggregateView aggregate_view(const TensorDesc& desc) {
    AggregateView view;
    const TensorMaps maps(desc);
    if (maps.count == 0) return view;
    const std::int64_t stride = maps.uniform_stride();
    const std::int64_t step = stride == 0 ? maps.count : (maps.count + most_channels - 1) / most_channels;
    view.channels = (maps.count + step - 1) / step;
    view.width = maps.width;
    view.height = maps.height;
    view.stride_x = maps.stride_x;
    view.stride_y = maps.stride_y;
    view.stride_c = stride * step;
    if (maps.width == 1 && maps.height == 1 && stride != 0) {
        const auto side =
            std::max<std::int64_t>(1, static_cast<std::int64_t>(std::sqrt(static_cast<double>(maps.count))));
        view.width = std::min<std::int64_t>(side, 64);
        view.height = std::min<std::int64_t>(maps.count / view.width, 64);
        view.stride_x = stride;
        view.stride_y = stride * view.width;
        view.channels = 1;
    }
    return view;
}

std::optional<AggregateRange> aggregate_range(const float* data, const AggregateView& view) {
    std::optional<AggregateRange> range;
    for (int i = 0; i < aggregate_grid * aggregate_grid; ++i) {
        const std::int64_t y = (2 * (i / aggregate_grid) + 1) * view.height / (2 * aggregate_grid);
        const std::int64_t x = (2 * (i % aggregate_grid) + 1) * view.width / (2 * aggregate_grid);
        float sum = 0;
        for (std::int64_t c = 0; c < view.channels; ++c)
            sum += std::abs(data[y * view.stride_y + x * view.stride_x + c * view.stride_c]);
        const float mean = sum / static_cast<float>(view.channels);
        if (!std::isfinite(mean)) continue;
        if (!range) range = AggregateRange{mean, mean};
        range->lo = std::min(range->lo, mean);
        range->hi = std::max(range->hi, mean);
    }
    return range;
}

}  // namespace convlens::measure

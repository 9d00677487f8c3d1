// Statistics of the maps after a pass: on the processor in turn over several passes, on a device at once.
#include "app/engine/clock.h"
#include "app/engine/session.h"
#include "primitives/device.h"

namespace convlens::engine {
namespace {

constexpr int histogram_bins = 64;

measure::MapStatistics map_statistics(const ValueStatistics& values) {
    measure::MapStatistics result;
    result.min = values.min;
    result.max = values.max;
    result.mean = values.mean;
    result.deviation = values.deviation;
    result.zero_share = values.zero_share;
    result.count = values.count;
    result.nan_count = values.nan_count;
    result.inf_count = values.inf_count;
    return result;
}

}  // namespace

bool Session::has_statistics(int tensor) const {
    if (tensor < 0) return false;
    const network::Tensor& t = executor_->tensors()[static_cast<std::size_t>(tensor)];
    return t.kept && t.desc.type == DataType::f32 && t.desc.rank() >= 1 && t.desc.rank() <= 5 &&
           !t.desc.is_empty();
}

std::vector<measure::MapStatistics> Session::statistics_of(int layer, int arena) const {
    const int tensor = first_output(layer);
    if (!has_statistics(tensor)) return {};
    return measure::map_statistics(executor_->data(tensor, arena),
                                   executor_->tensors()[static_cast<std::size_t>(tensor)].desc, 0,
                                   context_.pool());
}

// On a device all layers at once: one pass over memory that is far faster than the bus to it.
void Session::take_statistics_on_device(const Selection& selection, int arena) {
    if (selection == statistics_of_ && selected_version_ == data_version_) return;
    if (taker_ == nullptr) taker_ = context_.device()->make_map_statistics();
    StatisticsRequest request;
    request.channel = selection.map;
    request.bins = histogram_bins;
    std::vector<std::size_t> layers;
    for (std::size_t layer = 0; layer < layer_statistics_.size(); ++layer) {
        const int tensor = first_output(static_cast<int>(layer));
        if (!has_statistics(tensor)) continue;
        const TensorDesc& desc = executor_->tensors()[static_cast<std::size_t>(tensor)].desc;
        if (static_cast<int>(layer) == selection.layer) {
            request.maps_of = request.histogram_of = static_cast<int>(request.tensors.size());
            const std::int64_t maps = desc.rank() > 1 ? desc.dims[1] : desc.dims[0];
            if (request.channel >= maps) request.channel = -1;
        }
        request.tensors.push_back({executor_->data(tensor, arena), desc});
        layers.push_back(layer);
    }
    take_aggregate_ranges(layers, arena);
    const StatisticsResult& result = taker_->take(request);
    for (std::size_t i = 0; i < layers.size(); ++i)
        layer_statistics_[layers[i]] = map_statistics(result.tensors[i]);
    maps_.clear();
    for (const ValueStatistics& map : result.maps) maps_.push_back(map_statistics(map));
    histogram_ = {};
    histogram_map_ = request.channel;
    if (request.histogram_of >= 0)
        histogram_ = {result.low, result.high, result.counts, result.nan_count, result.inf_count};
    statistics_of_ = selection;
    selected_version_ = data_version_;
}

void Session::take_aggregate_ranges(const std::vector<std::size_t>& layers, int arena) {
    std::vector<Device::View> views;
    for (const std::size_t layer : layers) {
        const int tensor = first_output(static_cast<int>(layer));
        const measure::AggregateView v =
            measure::aggregate_view(executor_->tensors()[static_cast<std::size_t>(tensor)].desc);
        views.push_back({executor_->data(tensor, arena), v.width, v.height, v.channels, v.stride_x,
                         v.stride_y, v.stride_c});
    }
    std::vector<Device::Range> ranges(views.size());
    context_.device()->mean_ranges(views, measure::aggregate_grid, ranges.data());
    aggregate_ranges_.assign(layer_statistics_.size(), std::nullopt);
    for (std::size_t i = 0; i < layers.size(); ++i)
        if (ranges[i].lo <= ranges[i].hi)
            aggregate_ranges_[layers[i]] = measure::AggregateRange{ranges[i].lo, ranges[i].hi};
}

void Session::take_statistics(const Selection& selection, int arena, bool thorough) {
    if (context_.backend() != Backend::cpu) return take_statistics_on_device(selection, arena);
    if (!(selection == statistics_of_) || selected_version_ != data_version_) {
        statistics_of_ = selection;
        selected_version_ = data_version_;
        maps_ = statistics_of(selection.layer, arena);
        histogram_ = {};
        histogram_map_ = selection.map < static_cast<std::int64_t>(maps_.size()) ? selection.map : -1;
        if (!maps_.empty()) {
            const int tensor = first_output(selection.layer);
            histogram_ = measure::map_histogram(executor_->data(tensor, arena),
                                                executor_->tensors()[static_cast<std::size_t>(tensor)].desc,
                                                0, histogram_map_, histogram_bins);
            layer_statistics_[static_cast<std::size_t>(selection.layer)] = measure::joined(maps_);
            statistics_version_[static_cast<std::size_t>(selection.layer)] = data_version_;
        }
    }
    const double start = now_ms();
    for (std::size_t visited = 0; visited < statistics_version_.size(); ++visited) {
        if (!thorough && now_ms() - start > in_turn_budget_ms) break;
        next_statistics_ %= statistics_version_.size();
        const std::size_t layer = next_statistics_++;
        if (statistics_version_[layer] == data_version_) continue;
        statistics_version_[layer] = data_version_;
        layer_statistics_[layer] = measure::joined(statistics_of(static_cast<int>(layer), arena));
    }
}

}  // namespace convlens::engine

#include "app/ui/figures.h"

#include <algorithm>

namespace convlens::ui {

namespace {

// Fixed times look like times: different by layer, the same on every machine.
double fixed_layer_ms(int layer) { return 0.05 + 0.0125 * ((layer * 37) % 61); }

constexpr double mebi = 1024.0 * 1024.0;

}  // namespace

Figures::Figures(const UiInput& input, bool fixed)
    : input_(input), snapshot_(*input.snapshot), fixed_(fixed) {
    if (snapshot_.network) layers_ = static_cast<int>(snapshot_.network->layers.size());
    for (int i = 0; i < layers_; ++i) {
        slowest_ = std::max(slowest_, layer_ms(i).median);
        if (fixed_) fixed_sum_ += fixed_layer_ms(i);
    }
}

measure::Quantiles Figures::layer_ms(int layer) const {
    if (layer < 0 || layer >= layers_) return {};
    if (fixed_) {
        const double ms = fixed_layer_ms(layer);
        return {ms, 0.95 * ms, 1.1 * ms, ms, 240};
    }
    if (!snapshot_.times || layer >= static_cast<int>(snapshot_.times->layer_ms.size())) return {};
    return snapshot_.times->layer_ms[static_cast<std::size_t>(layer)];
}

measure::Quantiles Figures::layer_cpu_ms(int layer) const {
    if (fixed_) {
        measure::Quantiles q = layer_ms(layer);
        q.median *= 1.9;
        return q;
    }
    if (!snapshot_.times || layer < 0 || layer >= static_cast<int>(snapshot_.times->layer_cpu_ms.size()))
        return {};
    return snapshot_.times->layer_cpu_ms[static_cast<std::size_t>(layer)];
}

measure::Quantiles Figures::pass_ms() const {
    if (fixed_ && layers_ > 0) {
        const double ms = fixed_sum_ * 1.02;
        return {ms, 0.97 * ms, 1.06 * ms, ms, 240};
    }
    return snapshot_.times ? snapshot_.times->total_ms : measure::Quantiles{};
}

double Figures::sum_layers_ms() const {
    if (pass_ms().samples == 0) return -1;
    return fixed_ ? fixed_sum_ : snapshot_.times->sum_layers_ms;
}

double Figures::unexplained_ms() const {
    if (pass_ms().samples == 0) return -1;
    return fixed_ ? fixed_sum_ * 0.02 : snapshot_.times->unexplained_ms;
}

double Figures::clock_cost_ms() const {
    if (pass_ms().samples == 0) return -1;
    return fixed_ ? 0.00012 : snapshot_.times->clock_cost_ms;
}

bool Figures::contended() const { return !fixed_ && snapshot_.times && snapshot_.times->contended; }
double Figures::fps() const { return fixed_ ? 60 : input_.figures.fps; }
double Figures::draw_ms() const { return fixed_ ? 4.2 : input_.figures.draw_ms; }
double Figures::atlas_ms() const { return fixed_ ? 1.3 : input_.figures.atlas_ms; }
double Figures::latency_ms() const { return fixed_ ? 42 : snapshot_.input_to_result_ms; }
double Figures::viewer_bytes() const {
    return fixed_ ? 24 * mebi : static_cast<double>(input_.figures.viewer_bytes);
}

double Figures::staging_bytes() const {
    return fixed_ ? 0 : static_cast<double>(input_.figures.staging_bytes);
}

network::MemoryReport Figures::memory() const {
    network::MemoryReport report;
    if (!snapshot_.network) return report;
    if (!fixed_) return snapshot_.network->memory;
    report.weights_bytes = static_cast<std::size_t>(18.6 * mebi);
    report.activations_bytes = static_cast<std::size_t>(61.2 * mebi);
    report.workspace_bytes = static_cast<std::size_t>(2.5 * mebi);
    report.arenas = 2;
    report.peak_bytes = report.weights_bytes + 2 * report.activations_bytes + report.workspace_bytes;
    return report;
}

std::size_t Figures::layer_workspace(int layer) const {
    if (layer < 0 || layer >= layers_) return 0;
    if (fixed_) return layer % 3 == 0 ? static_cast<std::size_t>(1024 * (layer + 8)) : 0;
    return snapshot_.network->layers[static_cast<std::size_t>(layer)].workspace_bytes;
}

std::size_t Figures::layer_weights(int layer) const {
    if (layer < 0 || layer >= layers_) return 0;
    if (fixed_) return static_cast<std::size_t>(512 * (layer + 1));
    return snapshot_.network->layers[static_cast<std::size_t>(layer)].weights_bytes;
}

Figures::Row Figures::row(const engine::AlgorithmRow& row, int index) const {
    if (!fixed_)
        return {row.median_ms, row.p10_ms, row.p90_ms, row.max_error,
                static_cast<double>(row.workspace_bytes)};
    const double ms = 0.1 * (1 + (index * 5) % 7);
    Row result{ms, 0.95 * ms, 1.1 * ms, index == 0 ? 0.0 : 1e-7 * (1 + index), 27.0 * 1024 * index};
    if (!row.median_ms) result.median_ms = result.p10_ms = result.p90_ms = std::nullopt;
    if (!row.max_error) result.max_error = std::nullopt;
    return result;
}

}  // namespace convlens::ui

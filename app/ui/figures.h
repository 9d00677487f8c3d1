// Every time, memory and rate that the window shows goes through here, so that approved pictures can have
// fixed ones.
#pragma once

#include <optional>

#include "app/engine/snapshot.h"
#include "app/ui/ui.h"

namespace convlens::ui {

class Figures {
  public:
    Figures(const UiInput& input, bool fixed);

    bool fixed() const { return fixed_; }
    // samples 0: not measured.
    measure::Quantiles layer_ms(int layer) const;
    measure::Quantiles layer_cpu_ms(int layer) const;
    measure::Quantiles pass_ms() const;
    double sum_layers_ms() const;  // negative: not measured
    double unexplained_ms() const;
    double clock_cost_ms() const;
    double slowest_layer_ms() const { return slowest_; }
    bool contended() const;
    double fps() const;
    double draw_ms() const;  // negative: not measured
    double atlas_ms() const;
    double latency_ms() const;
    double viewer_bytes() const;
    double staging_bytes() const;  // copies of the activations for display; 0 where they are shared
    network::MemoryReport memory() const;
    std::size_t layer_workspace(int layer) const;
    std::size_t layer_weights(int layer) const;

    struct Row {
        std::optional<double> median_ms, p10_ms, p90_ms, max_error;
        double workspace_bytes = 0;
    };
    Row row(const engine::AlgorithmRow& row, int index) const;

  private:
    const UiInput& input_;
    const engine::Snapshot& snapshot_;
    bool fixed_;
    int layers_ = 0;
    double slowest_ = 0, fixed_sum_ = 0;
};

}  // namespace convlens::ui

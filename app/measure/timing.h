// Layer times that can be trusted: rolling windows with median and p10/p90, wall and CPU time, the clock's
// own cost subtracted.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "app/network/executor.h"

namespace convlens::measure {

struct Quantiles {
    double median = 0, p10 = 0, p90 = 0, last = 0;
    int samples = 0;
};

// The last `capacity` values; quantiles by linear interpolation.
class RollingWindow {
  public:
    explicit RollingWindow(int capacity = 240) : capacity_(capacity) {}
    void add(double value);
    void clear();
    Quantiles quantiles() const;
    int size() const { return static_cast<int>(values_.size()); }

  private:
    int capacity_;
    int next_ = 0;
    double last_ = 0;
    std::vector<double> values_;  // ring, in order of arrival
    std::vector<double> sorted_;  // the same values, ascending: quantiles cost no sort
};

struct PassTimes {
    std::vector<Quantiles> layer_ms;      // wall time, clock cost subtracted
    std::vector<Quantiles> layer_cpu_ms;  // CPU time of all threads (samples 0: not measured)
    Quantiles total_ms;                   // the whole pass by its own clock
    double sum_layers_ms = 0;             // median of the passes' own sums of their layers
    double unexplained_ms = 0;            // total median - sum_layers_ms
    double clock_cost_ms = 0;             // of one empty before/after pair, subtracted from each layer
    bool contended =
        false;  // wall time well above what the threads' CPU time explains: the machine was shared
    // Passes are replayed as a whole, which hides the layers: their times come from every `observed_every`-th
    // pass, which is not, and the total from the others. 0: every pass is observed.
    int observed_every = 0;
};

// Runs passes of an executor and keeps their times: by the clock on the processor, by events on a device.
class PassTimer {
  public:
    explicit PassTimer(Context& context, int window = 240);
    void reset();  // after a change of model, mode or algorithm
    // The first `warmup` passes after a reset are run but not kept.
    void set_warmup(int passes) { warmup_ = passes; }
    // CPU times of the layers are taken in every `passes`-th pass (reading the clocks of all threads costs
    // more than a small layer); the wall times of such a pass are not kept. 0: never.
    void set_cpu_interval(int passes) { cpu_interval_ = passes; }
    // One pass. What `extra` does lies outside the layers' times but inside the whole pass'.
    void run(network::Executor& executor, int arena, const network::PassObserver* extra = nullptr);
    PassTimes times() const;
    double last_total_ms() const { return last_total_ms_; }

  private:
    void run_on_processor(network::Executor& executor, int arena, const network::PassObserver* extra);
    void run_on_device(network::Executor& executor, int arena, const network::PassObserver* extra);
    void measure_event_cost();
    void keep_layers(const std::vector<double>& layer_ms);

    Context& context_;
    std::optional<Marks> marks_;  // device: two a layer, then two for the pass
    bool recorded_ = false;
    int window_, warmup_ = 2, cpu_interval_ = 8, passes_ = 0;
    double clock_cost_ms_ = 0, cpu_clock_cost_ms_ = 0, last_total_ms_ = 0;
    std::vector<RollingWindow> layers_, layers_cpu_;
    RollingWindow total_, sum_, running_share_;
};

// What a layer's median time makes of its work; empty without a time.
struct Rates {
    std::optional<double> gflops;           // of the direct method's operations
    std::optional<double> executed_gflops;  // of the operations that the algorithm really does
    std::optional<double> gbytes;           // per second: each element moved once
};
Rates achieved_rates(const Work& work, double median_ms);

}  // namespace convlens::measure

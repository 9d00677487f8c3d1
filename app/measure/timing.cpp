#include "app/measure/timing.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace convlens::measure {
namespace {

using Clock = std::chrono::steady_clock;

// Of passes that are replayed as a whole, those that show the layers' times.
constexpr int observed_every = 8;

double milliseconds(Clock::duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
}

double thread_cpu_ms() {
    timespec t{};
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0) return 0;
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

// The clock reads around one layer. Wall clocks lie inside of CPU clocks, and a caller's own observer outside
// of both.
struct Reads {
    Clock::time_point start, stop;
    double cpu_start = 0, cpu_stop = 0;
};

network::PassObserver observer_of(std::vector<Reads>& reads, const Context* cpu_clock,
                                  const network::PassObserver* extra) {
    network::PassObserver observer;
    observer.before = [&reads, cpu_clock, extra](int layer) {
        if (extra != nullptr && extra->before) extra->before(layer);
        Reads& r = reads[static_cast<std::size_t>(layer)];
        if (cpu_clock != nullptr) r.cpu_start = cpu_clock->cpu_milliseconds().value_or(0);
        r.start = Clock::now();
    };
    observer.after = [&reads, cpu_clock, extra](int layer) {
        Reads& r = reads[static_cast<std::size_t>(layer)];
        r.stop = Clock::now();
        if (cpu_clock != nullptr) r.cpu_stop = cpu_clock->cpu_milliseconds().value_or(0);
        if (extra != nullptr && extra->after) extra->after(layer);
    };
    return observer;
}

double median_of(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// What an empty pair of reads shows: it is in every layer's time and doesn't belong there.
void measure_clock_cost(const Context& context, double& wall_ms, double& cpu_ms) {
    constexpr int pairs = 257;
    std::vector<Reads> reads(1);
    std::vector<double> wall, cpu;
    const auto plain = observer_of(reads, nullptr, nullptr);
    for (int i = 0; i < pairs; ++i) {
        plain.before(0);
        plain.after(0);
        wall.push_back(milliseconds(reads[0].stop - reads[0].start));
    }
    const auto with_cpu = observer_of(reads, &context, nullptr);
    for (int i = 0; i < pairs; ++i) {
        with_cpu.before(0);
        with_cpu.after(0);
        cpu.push_back(reads[0].cpu_stop - reads[0].cpu_start);
    }
    wall_ms = median_of(std::move(wall));
    cpu_ms = median_of(std::move(cpu));
}

double interpolated(const std::vector<double>& sorted, double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

}  // namespace

void RollingWindow::add(double value) {
    if (std::isnan(value)) return;
    last_ = value;
    if (size() < capacity_) {
        values_.push_back(value);
    } else {
        double& oldest = values_[static_cast<std::size_t>(next_)];
        sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), oldest));
        oldest = value;
        next_ = (next_ + 1) % capacity_;
    }
    sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), value), value);
}

void RollingWindow::clear() {
    next_ = 0;
    last_ = 0;
    values_.clear();
    sorted_.clear();
}

Quantiles RollingWindow::quantiles() const {
    Quantiles q;
    q.samples = size();
    if (sorted_.empty()) return q;
    q.last = last_;
    q.median = interpolated(sorted_, 0.5);
    q.p10 = interpolated(sorted_, 0.1);
    q.p90 = interpolated(sorted_, 0.9);
    return q;
}

PassTimer::PassTimer(Context& context, int window)
    : context_(context),
      window_(std::max(1, window)),
      total_(window_),
      running_share_(std::min(window_, 30)) {
    if (context_.backend() == Backend::cpu)
        measure_clock_cost(context_, clock_cost_ms_, cpu_clock_cost_ms_);
    else
        measure_event_cost();
}

void PassTimer::measure_event_cost() {
    constexpr int pairs = 65;
    Marks marks(context_, pairs * 2);
    for (int i = 0; i < pairs * 2; ++i) marks.set(i);
    context_.synchronize();
    std::vector<double> cost;
    for (int i = 0; i < pairs; ++i) cost.push_back(marks.milliseconds(2 * i, 2 * i + 1));
    clock_cost_ms_ = median_of(std::move(cost));
}

void PassTimer::reset() {
    passes_ = 0;
    layers_.clear();
    layers_cpu_.clear();
    total_.clear();
    sum_.clear();
    running_share_.clear();
}

void PassTimer::run(network::Executor& executor, int arena, const network::PassObserver* extra) {
    const std::size_t count = executor.layers().size();
    if (layers_.size() != count) {
        reset();
        layers_.assign(count, RollingWindow(window_));
        layers_cpu_.assign(count, RollingWindow(std::max(1, window_ / 8)));
    }
    if (context_.backend() == Backend::cpu)
        run_on_processor(executor, arena, extra);
    else
        run_on_device(executor, arena, extra);
}

void PassTimer::keep_layers(const std::vector<double>& layer_ms) {
    double sum_ms = 0;
    for (std::size_t i = 0; i < layer_ms.size(); ++i) {
        const double ms = std::max(0.0, layer_ms[i] - clock_cost_ms_);
        layers_[i].add(ms);
        sum_ms += ms;
    }
    // On a busy machine interruptions hit other layers in each pass: the sum of the layers' medians would
    // miss them all.
    sum_.add(sum_ms);
}

void PassTimer::run_on_device(network::Executor& executor, int arena, const network::PassObserver* extra) {
    const int count = static_cast<int>(executor.layers().size());
    if (!marks_ || marks_->count() != 2 * count + 2) marks_.emplace(context_, 2 * count + 2);
    const bool kept = passes_ >= warmup_;
    recorded_ = executor.records() && extra == nullptr;
    const bool observed = !recorded_ || passes_ % observed_every == observed_every - 1;
    network::PassObserver observer;
    observer.before = [&](int layer) {
        if (extra != nullptr && extra->before) extra->before(layer);
        marks_->set(2 * layer);
    };
    observer.after = [&](int layer) {
        marks_->set(2 * layer + 1);
        if (extra != nullptr && extra->after) extra->after(layer);
    };
    marks_->set(2 * count);
    executor.run(arena, observed ? &observer : nullptr);
    marks_->set(2 * count + 1);
    context_.synchronize();
    const double total_ms = std::max(0.0, marks_->milliseconds(2 * count, 2 * count + 1) - clock_cost_ms_);
    ++passes_;
    last_total_ms_ = total_ms;
    if (!kept) return;
    if (observed) {
        std::vector<double> layer_ms;
        for (int i = 0; i < count; ++i) layer_ms.push_back(marks_->milliseconds(2 * i, 2 * i + 1));
        keep_layers(layer_ms);
    }
    if (observed != recorded_) total_.add(total_ms);
}

void PassTimer::run_on_processor(network::Executor& executor, int arena, const network::PassObserver* extra) {
    const std::size_t count = executor.layers().size();
    const bool kept = passes_ >= warmup_;
    const bool with_cpu =
        kept && cpu_interval_ > 0 && (passes_ - warmup_) % cpu_interval_ == cpu_interval_ - 1;
    std::vector<Reads> reads(count);
    const auto observer = observer_of(reads, with_cpu ? &context_ : nullptr, extra);
    const double running_start = thread_cpu_ms();
    const auto start = Clock::now();
    executor.run(arena, &observer);
    context_.synchronize();
    const double total_ms = milliseconds(Clock::now() - start);
    const double running_ms = thread_cpu_ms() - running_start;
    ++passes_;
    last_total_ms_ = total_ms;
    if (!kept) return;
    std::vector<double> layer_ms;
    for (std::size_t i = 0; i < count; ++i) {
        if (with_cpu)
            layers_cpu_[i].add(std::max(0.0, reads[i].cpu_stop - reads[i].cpu_start - cpu_clock_cost_ms_));
        else
            layer_ms.push_back(milliseconds(reads[i].stop - reads[i].start));
    }
    if (!with_cpu) {
        total_.add(total_ms);
        keep_layers(layer_ms);
    }
    // The calling thread computes, or spins for a moment until the others are done. Where it was off its core
    // for long, it or one of the others had to wait for the machine.
    if (total_ms > 0) running_share_.add(running_ms / total_ms);
}

PassTimes PassTimer::times() const {
    PassTimes times;
    times.layer_ms.reserve(layers_.size());
    times.layer_cpu_ms.reserve(layers_.size());
    for (const auto& window : layers_) times.layer_ms.push_back(window.quantiles());
    times.sum_layers_ms = sum_.quantiles().median;
    for (const auto& window : layers_cpu_) times.layer_cpu_ms.push_back(window.quantiles());
    times.total_ms = total_.quantiles();
    times.unexplained_ms = times.total_ms.samples > 0 ? times.total_ms.median - times.sum_layers_ms : 0;
    times.clock_cost_ms = clock_cost_ms_;
    times.observed_every = recorded_ ? observed_every : 0;
    times.contended = context_.backend() == Backend::cpu && running_share_.size() > 0 &&
                      running_share_.quantiles().median < 0.9;
    return times;
}

Rates achieved_rates(const Work& work, double median_ms) {
    Rates rates;
    if (!(median_ms > 0)) return rates;
    const double scale = 1e-6 / median_ms;  // per millisecond to 1e9 per second
    rates.gflops = work.flops * scale;
    rates.executed_gflops = work.executed_flops * scale;
    rates.gbytes = work.bytes * scale;
    return rates;
}

}  // namespace convlens::measure

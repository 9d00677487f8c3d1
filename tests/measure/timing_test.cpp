#include "app/measure/timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace convlens::measure {
namespace {

// Linear interpolation between order statistics, written from its definition.
double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    const double place = share * static_cast<double>(values.size() - 1);
    const double below = std::floor(place);
    const double lo = values[static_cast<std::size_t>(below)];
    const double hi = values[std::min(values.size() - 1, static_cast<std::size_t>(below) + 1)];
    return lo + (hi - lo) * (place - below);
}

TEST(RollingWindow, QuantilesOfTheLastValues) {
    std::mt19937 random(3);
    for (const int capacity : {1, 2, 3, 10, 240}) {
        RollingWindow window(capacity);
        std::vector<double> all;
        EXPECT_EQ(window.quantiles().samples, 0);
        for (int i = 0; i < 3 * capacity + 5; ++i) {
            // Few different values: equal ones must be told apart when the oldest leaves.
            all.push_back(static_cast<double>(random() % 7) * 0.1);
            window.add(all.back());
            const auto kept = std::min<std::ptrdiff_t>(capacity, static_cast<std::ptrdiff_t>(all.size()));
            const std::vector<double> last(all.end() - kept, all.end());
            const Quantiles q = window.quantiles();
            ASSERT_EQ(q.samples, kept);
            ASSERT_DOUBLE_EQ(q.last, all.back());
            ASSERT_NEAR(q.median, quantile(last, 0.5), 1e-12);
            ASSERT_NEAR(q.p10, quantile(last, 0.1), 1e-12);
            ASSERT_NEAR(q.p90, quantile(last, 0.9), 1e-12);
        }
        window.clear();
        EXPECT_EQ(window.size(), 0);
        window.add(4);
        EXPECT_DOUBLE_EQ(window.quantiles().median, 4);
    }
}

TEST(RollingWindow, LeavesNaNOut) {
    RollingWindow window(3);
    window.add(std::numeric_limits<double>::quiet_NaN());
    window.add(1);
    EXPECT_EQ(window.size(), 1);
    EXPECT_DOUBLE_EQ(window.quantiles().median, 1);
}

TEST(Rates, AreEmptyWithoutATime) {
    const Work work{2e9, 1e9, 3e6};
    const Rates rates = achieved_rates(work, 4);
    EXPECT_DOUBLE_EQ(*rates.gflops, 500);
    EXPECT_DOUBLE_EQ(*rates.executed_gflops, 250);
    EXPECT_DOUBLE_EQ(*rates.gbytes, 0.75);
    EXPECT_FALSE(achieved_rates(work, 0).gflops);
    EXPECT_FALSE(achieved_rates(work, std::numeric_limits<double>::quiet_NaN()).gbytes);
}

class TimedNetwork : public ::testing::Test {
  protected:
    Context context_{{.threads = 2}};
    std::shared_ptr<const network::Model> model_ =
        network::Model::load(CONVLENS_SOURCE_DIR "/assets/models/face-landmarks.onnx");
    network::Executor executor_{context_, model_, {}};
};

TEST_F(TimedNetwork, WarmUpIsNotKeptAndCpuTimesAreTakenInTurn) {
    PassTimer timer(context_, 50);
    timer.set_warmup(3);
    timer.set_cpu_interval(4);
    for (int i = 0; i < 3; ++i) timer.run(executor_, 0);
    EXPECT_EQ(timer.times().total_ms.samples, 0);
    for (int i = 0; i < 12; ++i) timer.run(executor_, 0);
    const PassTimes times = timer.times();
    ASSERT_EQ(times.layer_ms.size(), executor_.layers().size());
    EXPECT_EQ(times.total_ms.samples, 9);
    for (const auto& layer : times.layer_ms) {
        EXPECT_EQ(layer.samples, 9);
        EXPECT_GE(layer.p10, 0);
        EXPECT_LE(layer.p10, layer.median);
        EXPECT_LE(layer.median, layer.p90);
    }
    for (const auto& layer : times.layer_cpu_ms) EXPECT_EQ(layer.samples, 3);
    EXPECT_GT(timer.last_total_ms(), 0);
    EXPECT_LT(times.clock_cost_ms, 0.05);
    timer.reset();
    EXPECT_EQ(timer.times().total_ms.samples, 0);
}

TEST_F(TimedNetwork, AnObserversWorkStaysOutOfTheLayers) {
    PassTimer timer(context_);
    timer.set_warmup(1);
    timer.set_cpu_interval(0);
    std::vector<int> before, after;
    const auto waste = [] {
        volatile double sum = 0;
        for (int i = 0; i < 300000; ++i) sum = sum + i;
    };
    network::PassObserver observer;
    observer.before = [&](int layer) { before.push_back(layer), waste(); };
    observer.after = [&](int layer) { after.push_back(layer), waste(); };
    for (int i = 0; i < 6; ++i) timer.run(executor_, 0, &observer);
    EXPECT_EQ(before.size(), 6 * executor_.layers().size());
    EXPECT_EQ(before, after);
    const PassTimes times = timer.times();
    EXPECT_LT(times.sum_layers_ms, 0.5 * times.total_ms.median);
    EXPECT_NEAR(times.sum_layers_ms + times.unexplained_ms, times.total_ms.median, 1e-9);
    EXPECT_EQ(times.layer_cpu_ms[0].samples, 0);
}

TEST_F(TimedNetwork, AnotherNumberOfLayersStartsAnew) {
    PassTimer timer(context_);
    timer.set_warmup(0);
    timer.run(executor_, 0);
    const auto finder = network::Model::load(CONVLENS_SOURCE_DIR "/assets/models/face-finder.onnx");
    network::Executor other(context_, finder, {.default_side = 40});
    ASSERT_NE(other.layers().size(), executor_.layers().size());
    timer.run(other, 0);
    EXPECT_EQ(timer.times().layer_ms.size(), other.layers().size());
    EXPECT_EQ(timer.times().total_ms.samples, 1);
}

}  // namespace
}  // namespace convlens::measure

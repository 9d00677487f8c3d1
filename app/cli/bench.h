// `convlens bench`: every algorithm on stated layers, and whole networks, timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "app/network/executor.h"
#include "convlens/convlens.hpp"

namespace convlens::cli {

// Throws convlens::Error; returns an exit status.
int bench(const BenchOptions& options);

// A layer of assets/layers/*.csv: a convolution without bias, symmetric pads.
struct BenchLayer {
    std::string name;
    std::int64_t n = 0, c = 0, h = 0, w = 0, k = 0, r = 0, s = 0, stride = 1, pad = 0, dilation = 1,
                 groups = 1;
};

// Throws Error(bad_parameter) naming the file and the line.
std::vector<BenchLayer> read_layers(const std::string& path);
// Channels-last source and destination. Throws as check() does.
ConvolutionProblem problem_of(const BenchLayer& layer, DataType type);

// Times in milliseconds; valid with samples > 0.
struct BenchTimes {
    double median_ms = 0, p10_ms = 0, p90_ms = 0;
    int samples = 0;
};

enum class BenchStatus : std::uint8_t { ok, not_supported, failed };

// One algorithm on one layer.
struct LayerRow {
    std::size_t layer = 0;  // of BenchResult::layers
    BenchStatus status = BenchStatus::ok;
    std::string reason;   // why not, or what failed
    Candidate candidate;  // what the list says of the row
    bool chosen = false;  // the list's own choice at this precision
    BenchTimes times;
    std::optional<double> max_error;
};

// One network in one mode.
struct NetworkRow {
    std::string model, path, mode;
    BenchStatus status = BenchStatus::ok;
    std::string reason;
    Dims input;
    BenchTimes times;
    double sum_layers_ms = 0, flops = 0;
    bool contended = false;
    network::MemoryReport memory;
};

struct BenchResult {
    std::string backend, device, precision;
    int threads = 0;
    std::uint64_t seed = 0;
    DataType type = DataType::f32;       // of the layers' tensors
    std::optional<DeviceHealth> health;  // after the measurement
    std::vector<BenchLayer> layers;
    std::vector<LayerRow> layer_rows;
    std::vector<NetworkRow> network_rows;
};

// Tells on standard error what is measured now and about how long the rest will take.
class BenchProgress {
  public:
    explicit BenchProgress(std::size_t steps);
    void begin(const std::string& step);

  private:
    std::size_t steps_, done_ = 0;
    double start_ms_;
};

// bench_models.cpp
void bench_models(const BenchOptions& options, Context& context, BenchResult& result);
// bench_table.cpp: for people, best first.
std::string bench_text(const BenchResult& result);
// bench_report.cpp: "convlens.bench/1", and its rows as CSV.
std::string bench_json(const BenchResult& result);
std::string bench_csv(const BenchResult& result);

}  // namespace convlens::cli

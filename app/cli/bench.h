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

enum class BenchDirection : std::uint8_t { fwd, bwd_data, bwd_filter };
const char* to_string(BenchDirection direction);
// What a direction of a layer is asked of the library: all tensors channels-last, or all packed. Throws as
// check() does.
Problem problem_of(const BenchLayer& layer, BenchDirection direction, DataType type,
                   bool channels_last = true);
// N K P Q of a layer.
Dims output_of(const BenchLayer& layer);

// Times in milliseconds; valid with samples > 0.
struct BenchTimes {
    double median_ms = 0, p10_ms = 0, p90_ms = 0;
    int samples = 0;
};

// skipped: it would take too long here.
enum class BenchStatus : std::uint8_t { ok, not_supported, failed, skipped };

// One algorithm on one layer.
struct LayerRow {
    std::size_t layer = 0;  // of BenchResult::layers
    BenchDirection direction = BenchDirection::fwd;
    bool channels_last = true;
    BenchStatus status = BenchStatus::ok;
    std::string reason;     // why not, or what failed
    Candidate candidate;    // what the list says of the row
    bool chosen = false;    // the list's own choice at this precision
    bool admitted = false;  // its class serves this precision
    BenchTimes times;
    std::optional<double> cold_ms, cpu_ms;
    std::optional<double> max_error;
    bool is_peer() const { return candidate.algorithm.starts_with("peer:"); }
};

// What the machine can do at best, measured: a large matrix product by the best own row, and a large copy.
struct BenchPeaks {
    double gflops = 0;
    std::string gflops_row;
    double gbytes_per_s = 0;  // read and written
};

// The figures of one direction over all layers: own rows and peers that the precision admits.
struct BenchSummary {
    BenchDirection direction = BenchDirection::fwd;
    // The peer's best time over the own best: geometric mean and least; with `compared` layers.
    int compared = 0;
    double mean_of_peer = 0, least_of_peer = 0;
    std::string least_layer;
    // The list's choice over the best own row: most, and how many layers are within 10 %.
    int chosen = 0, chosen_within = 0;
    double most_of_best = 0;
    std::string most_layer;
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
    std::string suite;
    // Of the processor's time meanwhile, the share that went to other programs; nothing where it is not
    // known.
    std::optional<double> shared;
    std::optional<BenchPeaks> peaks;
    std::vector<BenchLayer> layers;
    std::vector<LayerRow> layer_rows;
    std::vector<NetworkRow> network_rows;
};

// The row of a layer and direction that a question is about; null: none was measured.
const LayerRow* best_own(const BenchResult& result, std::size_t layer, BenchDirection direction);
const LayerRow* best_peer(const BenchResult& result, std::size_t layer, BenchDirection direction);
std::vector<BenchDirection> directions_of(const BenchResult& result);
std::vector<BenchSummary> summaries_of(const BenchResult& result);

// What other programs take of the processor while it lives.
class SharedMachine {
  public:
    SharedMachine();
    // From 0 to 1; nothing where the system does not say.
    std::optional<double> share() const;

  private:
    double busy_ = -1, all_ = 0, own_ = 0;
};
// Above that, times say little; those of threads that wait for each other say least.
inline constexpr double shared_too_much = 0.05;

// Tells on standard error what is measured now and about how long the rest will take.
class BenchProgress {
  public:
    // The expected shares of the steps in the time, in any unit.
    explicit BenchProgress(std::vector<double> shares);
    void begin(const std::string& step);

  private:
    std::vector<double> shares_;
    std::size_t done_ = 0;
    double start_ms_;
};

// bench_models.cpp
void bench_models(const BenchOptions& options, Context& context, BenchResult& result);
// bench_peaks.cpp
BenchPeaks measure_peaks(Context& context, DataType type, Precision precision);
// bench_table.cpp: for people, best first.
std::string bench_text(const BenchResult& result);
// bench_report.cpp: "convlens.bench/1", and its rows as CSV.
std::string bench_json(const BenchResult& result);
std::string bench_csv(const BenchResult& result);
// bench_html.cpp: one page that needs nothing beside it.
std::string bench_html(const BenchResult& result);

}  // namespace convlens::cli

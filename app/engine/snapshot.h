// What the window sees: immutable snapshots that the engine publishes after each pass. No Vulkan, no ImGui.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/input/frame.h"
#include "app/input/preprocess.h"
#include "app/measure/aggregate.h"
#include "app/measure/statistics.h"
#include "app/measure/timing.h"
#include "app/network/executor.h"

namespace convlens::engine {

// One row of the algorithm table of a layer.
struct AlgorithmRow {
    std::string name;
    bool applicable = false;
    bool active = false;  // the running network uses it
    std::string reason;   // why not
    std::string error_class;
    bool deterministic = true;
    std::size_t workspace_bytes = 0;
    std::optional<double> median_ms, p10_ms, p90_ms;  // of the finder; empty: not measured yet
    int samples = 0;
    std::optional<double> max_error;  // against the reference
};

struct LayerInfo {
    std::string name, op, category, summary, algorithm, error_class;
    std::vector<std::string> fused;
    std::vector<int> inputs, outputs;  // tensors
    double flops = 0, executed_flops = 0, bytes = 0;
    std::size_t workspace_bytes = 0, weights_bytes = 0;
    std::vector<AlgorithmRow> rows;
};

struct TensorInfo {
    std::string name;
    TensorDesc desc;
    std::size_t bytes = 0, address = 0;  // bytes from the arena's start
    int first_layer = 0, last_layer = 0;
    bool kept = true, is_input = false, is_output = false;
    int alias_of = -1;
};

// Constant while model, mode, input size and algorithms stay.
struct NetworkInfo {
    std::uint64_t generation = 0;
    std::string model_name, model_path, device_text, backend = "cpu", precision = "fp32";
    network::Mode mode = network::Mode::explore;
    std::vector<LayerInfo> layers;
    std::vector<TensorInfo> tensors;
    std::vector<int> inputs, outputs;  // tensors
    network::MemoryReport memory;
    std::size_t arena_bytes = 0;
    std::map<std::string, std::string> metadata;
};

struct ClassScore {
    int index = 0;
    std::string label;
    double score = 0;
};

struct HeatMap {  // drawn over the input
    int tensor = -1;
    std::int64_t channel = 0;
    std::string label;
    int window_width = 0, window_height = 0, stride = 1;  // in network pixels
};

struct FoundBox {  // in frame pixels
    double x0 = 0, y0 = 0, x1 = 0, y1 = 0, score = 0;
    std::vector<std::pair<double, double>> points;
};

struct PictureOutput {
    int tensor = -1;  // three planes, 0 to 1
};

struct Outputs {
    std::vector<ClassScore> top;  // best first
    std::optional<HeatMap> heat_map;
    std::optional<PictureOutput> picture;
    std::vector<FoundBox> boxes;
};

struct Snapshot {
    // Rises when the tensors' values may differ from the last snapshot's: another picture, model, mode,
    // algorithm. 0: not known, every pass may differ.
    std::uint64_t values = 0;
    std::uint64_t pass = 0;                      // rises by one each pass, over all models
    std::shared_ptr<const NetworkInfo> network;  // null before the first model is there
    int arena = 0;                               // which arena holds this pass
    std::shared_ptr<network::Allocator> memory;  // of the arena; null: plain memory
    // Value of memory's timeline from which on shaders may read this pass; 0: at once.
    std::uint64_t written = 0;
    std::vector<const float*> host;      // per tensor: element 0 in host memory; null where unavailable
    std::vector<std::uint64_t> address;  // per tensor: what shaders read; 0 where unavailable
    // Single values of one tensor where host memory is not there: offsets from its element 0, ascending.
    int fetched_tensor = -1;
    std::vector<std::int64_t> fetched_offsets;
    std::vector<float> fetched_values;
    std::shared_ptr<const measure::PassTimes> times;
    std::optional<DeviceHealth> health;  // of the GPU that computes, about once a second
    input::FramePtr frame;
    input::SeenRegion seen;
    Outputs outputs;
    // Of the layer that the window has selected (engine command "select layer").
    int statistics_layer = -1;
    std::vector<measure::MapStatistics> maps;  // of its first output, batch item 0
    measure::Histogram histogram;              // of the selected map; -1: of all
    std::int64_t histogram_map = -1;
    // Per layer, of its first output; refreshed in turn over several passes. lo/hi are the finite range.
    std::vector<measure::MapStatistics> layer_statistics;
    // Per layer, of its first output, where maps lie on a device: the range of the strip's small picture.
    std::vector<std::optional<measure::AggregateRange>> aggregate_ranges;
    double input_to_result_ms = 0;  // from the newest input command or frame to its first snapshot
    // Steady clock, ms: when the frame of this pass came in, or the command that asked for it; for a repeated
    // pass on the same frame the start of the pass.
    double input_at_ms = 0;
    std::uint64_t requests = 0;  // how many requests the engine had taken up (see Engine::requests)
    bool paused = false;
    bool measuring = false;       // a finder is running
    double measure_progress = 0;  // 0 to 1
    std::string input_text;       // "chelsea.jpg", "photos/ 2 of 4"
    std::string input_source;     // as given to open_input; empty for a frame that was handed over
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

// A message for the user: an error that left everything as it was, or news.
struct Message {
    enum class Kind { info, warning, error } kind = Kind::info;
    std::string text;
    double at_ms = 0;
};

}  // namespace convlens::engine

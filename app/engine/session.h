// One network made runnable on one frame: its executor, the prepared picture, times, statistics and algorithm
// rows. Used by the engine's thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/engine/outputs.h"
#include "app/engine/snapshot.h"
#include "app/input/preprocess.h"
#include "app/measure/timing.h"
#include "app/network/executor.h"
#include "primitives/map_statistics.h"

namespace convlens::engine {

struct SessionOptions {
    network::Mode mode = network::Mode::explore;
    std::map<std::string, std::string> algorithms;  // layer name (or "*") to algorithm
    int side_limit = 0;                             // 0: the model's default
    std::set<std::string> pinned;                   // lean: tensors that the window shows
    int arenas = 2;
    std::shared_ptr<network::Allocator> allocator;
    Precision precision = Precision::fp32;
};

struct Selection {
    int layer = 0;
    std::int64_t map = -1;
    bool operator==(const Selection&) const = default;
};

class Session {
  public:
    // Plans the model for this frame. Throws Error naming the model and the reason.
    Session(Context& context, std::shared_ptr<const network::Model> model, const SessionOptions& options,
            input::FramePtr frame);

    const std::shared_ptr<const network::Model>& model() const { return model_; }
    const SessionOptions& options() const { return options_; }
    const input::FramePtr& frame() const { return frame_; }
    network::Executor& executor() { return *executor_; }
    const network::Executor& executor() const { return *executor_; }

    // Takes a frame that needs no new plan; false: the network's input would have another size.
    bool take_frame(input::FramePtr frame);
    // Whether the first output of this layer holds its values after a pass.
    bool shows(int layer) const;
    // Layer "*": every layer that can; algorithm "auto": the list's own choice. Throws Error, and nothing has
    // changed then.
    void set_algorithm(const std::string& layer, const std::string& algorithm);

    // One pass in this arena.
    void run(int arena);
    int last_arena() const { return last_arena_; }  // -1: none yet
    // Rises when the values in the tensors change; unique among sessions together with generation().
    std::uint64_t data_version() const { return data_version_; }
    std::uint64_t generation() const { return generation_; }
    const OutputMeaning& meaning() const { return meaning_; }
    Outputs outputs() const { return interpret_outputs(meaning_, *executor_, last_arena_, input_); }
    measure::PassTimer& timer() { return timer_; }

    // The network's part of a snapshot: info, pointers, times, statistics. `thorough`: everything is filled
    // at once instead of in turn, so that the result does not depend on the machine's speed.
    void fill(Snapshot& snapshot, const Selection& selection, bool thorough);
    std::shared_ptr<const NetworkInfo> info(const Selection& selection, bool thorough);

    // Single values that the window wants to show as numbers: offsets from a tensor's first element. Fetched
    // with each snapshot until others are wanted; at most most_wanted of them.
    static constexpr std::size_t most_wanted = 4096;
    void want_values(int tensor, std::vector<std::int64_t> offsets);

    // Figures of the finder for a layer: kept and shown in its rows from now on.
    void keep_findings(int layer, const std::vector<Finding>& findings);
    // Error of the layer's active algorithm against the list's reference, unless it is known or too dear to
    // take without being asked. True when a row has changed.
    bool take_error(int layer);

  private:
    struct Figures {
        std::optional<double> median_ms, p10_ms, p90_ms, max_error;
        int samples = 0;
        bool error_tried = false;
    };
    struct LayerRows {
        bool listed = false;
        bool asked = false;  // the user chose this layer's algorithm: its error is worth a slow reference
        std::vector<AlgorithmRow> rows;
        std::map<std::string, Figures> figures;
    };

    static constexpr double in_turn_budget_ms = 1.5;  // per pass, for what is refreshed in turn

    Dims wanted_dims() const;
    input::NetworkInput prepare(const input::Frame& frame) const;
    int find_layer(const std::string& name) const;
    std::string own_choice(int layer) const;
    void list_rows(int layer);
    void list_more_rows(const Selection& selection, bool thorough);
    void build_info();
    void set_input(int arena);
    void fetch_wanted(Snapshot& snapshot, int arena) const;
    bool has_statistics(int tensor) const;
    void take_aggregate_ranges(const std::vector<std::size_t>& layers, int arena);
    void take_statistics_on_device(const Selection& selection, int arena);
    void take_statistics(const Selection& selection, int arena, bool thorough);
    std::vector<measure::MapStatistics> statistics_of(int layer, int arena) const;
    int first_output(int layer) const;

    Context& context_;
    std::shared_ptr<const network::Model> model_;
    SessionOptions options_;
    input::FramePtr frame_;
    input::Preprocessing preprocessing_;
    OutputMeaning meaning_;
    input::NetworkInput input_;
    std::unique_ptr<network::Executor> executor_;
    measure::PassTimer timer_;
    int last_arena_ = -1;
    std::vector<std::uint64_t> uploaded_;  // by arena: the data version whose input it holds
    int wanted_tensor_ = -1;
    std::vector<std::int64_t> wanted_offsets_;

    std::vector<LayerRows> rows_;
    std::shared_ptr<const NetworkInfo> info_;
    std::uint64_t generation_ = 0;
    bool info_changed_ = true;
    double info_built_ms_ = 0;
    std::size_t next_listed_ = 0;

    // Statistics of the same version stay.
    std::uint64_t data_version_ = 1;
    std::vector<std::uint64_t> statistics_version_;
    std::vector<measure::MapStatistics> layer_statistics_;
    std::size_t next_statistics_ = 0;
    Selection statistics_of_;
    std::int64_t histogram_map_ = -1;
    std::uint64_t selected_version_ = 0;
    std::vector<measure::MapStatistics> maps_;
    measure::Histogram histogram_;
    std::vector<std::optional<measure::AggregateRange>> aggregate_ranges_;  // device: by layer
    std::unique_ptr<MapStatisticsTaker> taker_;  // of a device, made when it is first needed
};

}  // namespace convlens::engine

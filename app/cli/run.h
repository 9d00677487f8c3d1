// `convlens run`: pictures through a model, answers, times and memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "app/engine/outputs.h"
#include "app/input/preprocess.h"
#include "app/input/source.h"
#include "app/measure/timing.h"
#include "app/network/executor.h"

namespace convlens::cli {

// Throws convlens::Error; returns an exit status.
int run(const RunOptions& options);

// One picture's answer.
struct InputResult {
    std::string name;
    int width = 0, height = 0;  // of the picture
    Dims input_dims;            // of the network's input
    engine::Outputs outputs;
    double heat_most = 0;  // largest value of the heat map
};

// When a layer ran in one pass; milliseconds from the first recorded pass' start.
struct TraceEvent {
    int pass = 0, layer = 0;
    double start_ms = 0, end_ms = 0;
};

// Everything that tables and reports show.
struct RunResult {
    std::string model_name, model_path, backend = "cpu", device, precision, mode;
    int threads = 0, batch = 1;
    std::vector<InputResult> inputs;
    bool shows_classes = true;
    // Of the first picture; the executor stays alive for names, plans and memory.
    std::unique_ptr<network::Executor> executor;
    measure::PassTimes times;
    std::vector<TraceEvent> trace;
};

// run_table.cpp: for people.
std::string answer_text(const RunResult& result, const InputResult& input);
std::string layer_text(const RunResult& result, bool profile);
std::string explain_text(const RunResult& result);
// run_report.cpp: "convlens.run/1" and a Chrome trace.
std::string run_json(const RunResult& result);
std::string trace_json(const RunResult& result);

}  // namespace convlens::cli

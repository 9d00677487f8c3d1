// JSON "convlens.bench/1" of `convlens bench`, and its rows as CSV.
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/cli/bench.h"

namespace convlens::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* text_of(BenchStatus status) {
    switch (status) {
        case BenchStatus::ok:
            return "ok";
        case BenchStatus::failed:
            return "failed";
        case BenchStatus::skipped:
            return "skipped";
        case BenchStatus::not_supported:
            break;
    }
    return "not_supported";
}

// A figure that was not measured is null, never 0.
Json figure(bool measured, double value) { return measured && std::isfinite(value) ? Json(value) : Json(); }

// The fields that rows of layers and of networks share, in the order of the CSV's columns.
Json common_row(const BenchResult& result, BenchStatus status, const std::string& reason,
                const BenchTimes& times, double flops) {
    const bool measured = times.samples > 0;
    Json row;
    for (const char* key :
         {"op", "direction", "problem", "backend", "precision", "layout", "threads", "algorithm"})
        row[key] = nullptr;
    row["direction"] = "fwd";
    row["backend"] = result.backend;
    row["precision"] = result.precision;
    row["threads"] = result.threads;
    row["status"] = text_of(status);
    row["reason"] = reason.empty() ? Json() : Json(reason);
    row["median_ms"] = figure(measured, times.median_ms);
    row["p10_ms"] = figure(measured, times.p10_ms);
    row["p90_ms"] = figure(measured, times.p90_ms);
    row["samples"] = times.samples;
    row["gflops"] = figure(measured && times.median_ms > 0 && flops > 0, flops / (times.median_ms * 1e6));
    return row;
}

Json json_of(const BenchResult& result, const LayerRow& from) {
    const BenchLayer& layer = result.layers[from.layer];
    const bool applicable = from.candidate.applicable;
    Json row = common_row(result, from.status, from.reason, from.times, from.candidate.work.flops);
    row["op"] = "convolution";
    row["direction"] = to_string(from.direction);
    row["problem"] = layer.name;
    row["layout"] = from.channels_last ? "channels-last" : "packed";
    row["algorithm"] = from.candidate.algorithm;
    row["workspace_bytes"] = applicable ? Json(from.candidate.workspace_bytes) : Json();
    row["max_error"] = from.max_error ? figure(true, *from.max_error) : Json();
    row["error_class"] = to_string(from.candidate.error_class);
    row["deterministic"] = from.candidate.deterministic;
    row["type"] = to_string(result.type);
    row["chosen"] = from.chosen;
    row["admitted"] = from.admitted;
    row["cold_ms"] = from.cold_ms ? figure(true, *from.cold_ms) : Json();
    row["cpu_ms"] = from.cpu_ms ? figure(true, *from.cpu_ms) : Json();
    row["executed_gflops"] = figure(from.times.samples > 0 && from.times.median_ms > 0,
                                    from.candidate.work.executed_flops / (from.times.median_ms * 1e6));
    return row;
}

Json json_of(const BenchResult& result, const NetworkRow& from) {
    const bool planned = from.status == BenchStatus::ok;
    Json row = common_row(result, from.status, from.reason, from.times, from.flops);
    row["op"] = "network";
    row["problem"] = from.model;
    row["workspace_bytes"] = planned ? Json(from.memory.workspace_bytes) : Json();
    row["max_error"] = nullptr;
    row["error_class"] = nullptr;
    row["deterministic"] = nullptr;
    row["mode"] = from.mode;
    row["input"] = from.input.empty() ? Json() : Json(from.input.text());
    row["sum_layers_ms"] = figure(planned && from.times.samples > 0, from.sum_layers_ms);
    row["weights_bytes"] = planned ? Json(from.memory.weights_bytes) : Json();
    row["activations_bytes"] = planned ? Json(from.memory.activations_bytes) : Json();
    row["peak_bytes"] = planned ? Json(from.memory.peak_bytes) : Json();
    row["contended"] = planned ? Json(from.contended) : Json();
    return row;
}

Json rows_of(const BenchResult& result) {
    Json rows = Json::array();
    for (const LayerRow& row : result.layer_rows) rows.push_back(json_of(result, row));
    for (const NetworkRow& row : result.network_rows) rows.push_back(json_of(result, row));
    return rows;
}

Json machine_of(const BenchResult& result) {
    Json machine{{"backend", result.backend}, {"device", result.device}, {"threads", result.threads}};
    const auto known = [](int value) { return value > 0 ? Json(value) : Json(); };
    if (result.peaks) {
        machine["matrix_product_gflops"] = figure(result.peaks->gflops > 0, result.peaks->gflops);
        machine["matrix_product_algorithm"] = result.peaks->gflops_row;
        machine["copy_gb_per_s"] = figure(result.peaks->gbytes_per_s > 0, result.peaks->gbytes_per_s);
    }
    machine["shared"] = result.shared ? Json(*result.shared) : Json();
    Json peers = Json::array();
    for (const PeerInfo& peer : convlens::peers())
        peers.push_back({{"name", peer.name}, {"found", peer.found}, {"text", peer.text}});
    machine["peers"] = peers;
    if (result.health) {
        machine["clock_mhz"] = known(result.health->clock_mhz);
        machine["max_clock_mhz"] = known(result.health->max_clock_mhz);
        machine["temperature_c"] = known(result.health->temperature_c);
        machine["throttled_by"] =
            result.health->throttled_by.empty() ? Json() : Json(result.health->throttled_by);
    }
    return machine;
}

Json problems_of(const BenchResult& result) {
    Json problems = Json::object();
    for (const BenchLayer& l : result.layers)
        problems[l.name] = {
            {"n", l.n},          {"c", l.c}, {"h", l.h},           {"w", l.w},     {"k", l.k},
            {"r", l.r},          {"s", l.s}, {"stride", l.stride}, {"pad", l.pad}, {"dilation", l.dilation},
            {"groups", l.groups}};
    return problems;
}

Json summary_of(const BenchResult& result) {
    Json list = Json::array();
    for (const BenchSummary& s : summaries_of(result)) {
        const auto known = [](bool there, const Json& value) { return there ? value : Json(); };
        list.push_back({{"direction", to_string(s.direction)},
                        {"layers_with_peer", s.compared},
                        {"peer_over_own_mean", figure(s.compared > 0, s.mean_of_peer)},
                        {"peer_over_own_least", figure(s.compared > 0, s.least_of_peer)},
                        {"peer_over_own_least_problem", known(s.compared > 0, s.least_layer)},
                        {"layers_with_choice", s.chosen},
                        {"choice_within_10_percent", s.chosen_within},
                        {"choice_over_best_most", figure(s.chosen > 0, s.most_of_best)},
                        {"choice_over_best_most_problem", known(s.chosen > 0, s.most_layer)}});
    }
    return list;
}

std::string cell_of(const Json& value) {
    if (value.is_null()) return {};
    if (!value.is_string()) return value.dump();
    const std::string text = value.get<std::string>();
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

}  // namespace

std::string bench_json(const BenchResult& result) {
    Json json;
    json["schema"] = "convlens.bench/1";
    json["version"] = version();
    json["machine"] = machine_of(result);
    json["seed"] = result.seed;
    json["suite"] = result.suite;
    json["problems"] = problems_of(result);
    json["summary"] = summary_of(result);
    json["rows"] = rows_of(result);
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string bench_csv(const BenchResult& result) {
    std::string text;
    for (const Json& row : rows_of(result)) {
        std::string head, line;
        const char* separator = "";
        for (const auto& [key, value] : row.items()) {
            head += separator + key;
            line += separator + cell_of(value);
            separator = ",";
        }
        if (text.empty()) text = head + "\n";
        text += line + "\n";
    }
    return text;
}

}  // namespace convlens::cli

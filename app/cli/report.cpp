#include "app/cli/report.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "convlens/error.h"

namespace convlens::cli {
namespace {

using Json = nlohmann::ordered_json;

Json median_or_null(const measure::RollingWindow& window) {
    return window.size() > 0 ? Json(window.quantiles().median) : Json(nullptr);
}

Json per_refresh(std::uint64_t bytes, std::uint64_t refreshes) {
    return refreshes > 0 ? Json(static_cast<double>(bytes) / static_cast<double>(refreshes)) : Json(nullptr);
}

Json quantile(std::vector<double> values, double share) {
    if (values.empty()) return nullptr;
    std::sort(values.begin(), values.end());
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

Json state_of(const ReportInput& input) {
    Json state;
    const engine::Snapshot& shown = *input.snapshot;
    state["pass"] = shown.pass;
    state["input"] = shown.input_text;
    state["paused"] = shown.paused;
    state["model"] = nullptr;
    if (shown.network == nullptr) return state;
    const engine::NetworkInfo& network = *shown.network;
    state["model"] = network.model_name;
    state["mode"] = network::to_string(network.mode);
    state["layers"] = network.layers.size();
    const auto layer = static_cast<std::size_t>(std::max(0, input.view->layer));
    if (layer < network.layers.size()) {
        const engine::LayerInfo& l = network.layers[layer];
        Json rows = Json::array();
        for (const auto& row : l.rows) {
            Json r{{"algorithm", row.name}, {"applicable", row.applicable}, {"active", row.active}};
            r["reason"] = row.applicable ? Json(nullptr) : Json(row.reason);
            r["error_class"] = row.error_class;
            r["workspace_bytes"] = row.workspace_bytes;
            r["median_ms"] = row.median_ms ? Json(*row.median_ms) : Json(nullptr);
            r["max_error"] = row.max_error ? Json(*row.max_error) : Json(nullptr);
            rows.push_back(std::move(r));
        }
        state["layer"] = {{"index", layer},
                          {"name", l.name},
                          {"op", l.op},
                          {"algorithm", l.algorithm},
                          {"rows", std::move(rows)}};
    }
    state["map"] = input.view->map < 0 ? Json(nullptr) : Json(input.view->map);
    Json top = Json::array();
    for (const auto& score : shown.outputs.top)
        top.push_back({{"index", score.index}, {"label", score.label}, {"score", score.score}});
    state["top"] = std::move(top);
    state["boxes"] = shown.outputs.boxes.size();
    return state;
}

// The ledger by label. activations_bytes is one arena; staging_bytes are copies for display.
Json memory_of(const ReportInput& input) {
    const auto& network = input.snapshot->network;
    Json memory;
    const bool known = network != nullptr;
    const network::MemoryReport report = known ? network->memory : network::MemoryReport{};
    const auto figure = [&](std::size_t bytes) { return known ? Json(bytes) : Json(nullptr); };
    memory["weights_bytes"] = figure(report.weights_bytes);
    memory["activations_bytes"] = figure(report.activations_bytes);
    memory["arenas"] = known ? Json(report.arenas) : Json(nullptr);
    memory["workspace_bytes"] = figure(report.workspace_bytes);
    memory["peak_bytes"] = figure(report.peak_bytes);
    memory["staging_bytes"] = figure(input.staging_bytes);
    memory["viewer_bytes"] = input.viewer_bytes;
    return memory;
}

}  // namespace

std::string view_report(const ReportInput& input) {
    const ViewFigures& f = *input.figures;
    const engine::Snapshot& shown = *input.snapshot;
    Json j;
    j["schema"] = "convlens.view/1";
    j["vulkan_device"] = input.vulkan_device;
    j["compute_device"] = shown.network != nullptr ? Json(shown.network->device_text) : Json(nullptr);
    j["interop"] = input.interop;
    j["interop_reason"] = input.interop_reason;
    j["width"] = input.width;
    j["height"] = input.height;
    j["sync"] = input.synchronous;
    j["frames"] = f.refreshes;
    j["passes"] = f.last_pass - f.first_pass;
    const auto rate = f.refreshes_per_second();
    j["fps"] = rate ? Json(*rate) : Json(nullptr);
    const bool timed = shown.times != nullptr && shown.times->total_ms.samples > 0;
    j["pass_ms"] = timed ? Json(shown.times->total_ms.median) : Json(nullptr);
    j["sum_layers_ms"] = timed ? Json(shown.times->sum_layers_ms) : Json(nullptr);
    j["contended"] = timed ? Json(shown.times->contended) : Json(nullptr);
    j["window_ms"] = median_or_null(f.window_gpu_ms);
    j["atlas_ms"] = median_or_null(f.atlas_gpu_ms);
    j["draw_cpu_ms"] = median_or_null(f.draw_cpu_ms);
    j["latency_ms"] = {{"p50", quantile(f.latencies_ms, 0.5)}, {"p95", quantile(f.latencies_ms, 0.95)}};
    j["copied_bytes_per_frame"] = per_refresh(f.copied_bytes, f.refreshes);
    j["copy_ms"] = median_or_null(f.fetch_ms);
    j["upload_bytes_per_frame"] = per_refresh(f.upload_bytes, f.refreshes);
    j["snapshot_bytes_per_frame"] = per_refresh(f.snapshot_bytes, f.refreshes);
    j["memory"] = memory_of(input);
    j["validation_messages"] = input.validation_messages;
    j["state"] = state_of(input);
    j["messages"] = input.messages;
    return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void write_text(const std::string& path, const std::string& text) {
    std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
    bool failed = file == nullptr;
    int reason = errno;
    if (!failed) {
        failed = std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0;
        if (failed) reason = errno;
        if (file != stdout && std::fclose(file) != 0 && !failed) {
            failed = true;
            reason = errno;
        }
    }
    if (failed)
        throw Error(Status::runtime_failure, "\"" + path + "\" can't be written (" + std::strerror(reason) +
                                                 "); choose another place or free some space");
}

std::uint64_t snapshot_bytes(const engine::Snapshot& s) {
    const auto bytes = [](const auto& vector) { return vector.size() * sizeof(vector[0]); };
    std::uint64_t sum = sizeof s + bytes(s.host) + bytes(s.address) + bytes(s.maps) +
                        bytes(s.layer_statistics) + bytes(s.histogram.counts) + bytes(s.outputs.top) +
                        bytes(s.outputs.boxes);
    if (s.times != nullptr) sum += sizeof *s.times + bytes(s.times->layer_ms) + bytes(s.times->layer_cpu_ms);
    return sum;
}

}  // namespace convlens::cli

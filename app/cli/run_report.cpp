// JSON of `convlens run`: the report, the index of dumped maps, a trace.
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/cli/dump_maps.h"
#include "app/cli/run.h"

namespace convlens::cli {
namespace {

using Json = nlohmann::ordered_json;

// Names come from files and may not be UTF-8.
std::string text_of(const Json& json, int indent) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json array_of(const Dims& dims) {
    Json array = Json::array();
    for (const std::int64_t dim : dims) array.push_back(dim);
    return array;
}

// A figure that was not measured is null, never 0.
Json measured(const measure::Quantiles& q, double value) {
    return q.samples > 0 && std::isfinite(value) ? Json(value) : Json();
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json input_json(const InputResult& input) {
    Json json = {{"name", input.name},
                 {"width", input.width},
                 {"height", input.height},
                 {"input_shape", array_of(input.input_dims)}};
    Json top = Json::array();
    for (const engine::ClassScore& score : input.outputs.top)
        top.push_back({{"index", score.index}, {"label", score.label}, {"score", finite(score.score)}});
    json["top"] = top;
    if (input.outputs.heat_map) {
        json["heat_map"] = {{"output", input.outputs.heat_map->label}, {"max", finite(input.heat_most)}};
        json["boxes"] = Json::array();
    }
    for (const engine::FoundBox& box : input.outputs.boxes) {
        Json points = Json::array();
        for (const auto& [x, y] : box.points) points.push_back({finite(x), finite(y)});
        json["boxes"].push_back({{"x0", finite(box.x0)},
                                 {"y0", finite(box.y0)},
                                 {"x1", finite(box.x1)},
                                 {"y1", finite(box.y1)},
                                 {"score", finite(box.score)},
                                 {"points", points}});
    }
    return json;
}

Json layer_json(const RunResult& result, std::size_t index) {
    const network::Executor& executor = *result.executor;
    const network::Layer& layer = executor.layers()[index];
    const measure::PassTimes& times = result.times;
    const measure::Quantiles ms =
        index < times.layer_ms.size() ? times.layer_ms[index] : measure::Quantiles{};
    const measure::Quantiles cpu =
        index < times.layer_cpu_ms.size() ? times.layer_cpu_ms[index] : measure::Quantiles{};
    Json shape = Json::array();
    if (!layer.outputs.empty())
        shape = array_of(executor.tensors()[static_cast<std::size_t>(layer.outputs.front())].desc.dims);
    return {{"name", layer.name},
            {"op", layer.op},
            {"algorithm", layer.plan.algorithm},
            {"shape", shape},
            {"median_ms", measured(ms, ms.median)},
            {"p10_ms", measured(ms, ms.p10)},
            {"p90_ms", measured(ms, ms.p90)},
            {"cpu_ms", measured(cpu, cpu.median)},
            {"flops", layer.plan.work.flops},
            {"executed_flops", layer.plan.work.executed_flops},
            {"bytes", layer.plan.work.bytes},
            {"workspace_bytes", layer.plan.workspace_bytes},
            {"weights_bytes", layer.weights_bytes},
            {"category", layer.category},
            {"summary", layer.summary},
            {"error_class", to_string(layer.plan.error_class)},
            {"fused", layer.fused}};
}

}  // namespace

std::string run_json(const RunResult& result) {
    const measure::PassTimes& times = result.times;
    const network::MemoryReport memory = result.executor->memory();
    Json json = {
        {"schema", "convlens.run/1"},      {"model", result.model_name},
        {"model_path", result.model_path}, {"backend", result.backend},
        {"device", result.device},         {"threads", result.threads},
        {"precision", result.precision},   {"mode", result.mode},
        {"batch", result.batch},           {"input_shape", array_of(result.inputs.front().input_dims)}};
    json["inputs"] = Json::array();
    for (const InputResult& input : result.inputs) json["inputs"].push_back(input_json(input));
    json["layers"] = Json::array();
    for (std::size_t i = 0; i < result.executor->layers().size(); ++i)
        json["layers"].push_back(layer_json(result, i));
    json["total"] = {{"median_ms", measured(times.total_ms, times.total_ms.median)},
                     {"p10_ms", measured(times.total_ms, times.total_ms.p10)},
                     {"p90_ms", measured(times.total_ms, times.total_ms.p90)},
                     {"sum_layers_ms", measured(times.total_ms, times.sum_layers_ms)},
                     {"unexplained_ms", measured(times.total_ms, times.unexplained_ms)},
                     {"clock_cost_ms", measured(times.total_ms, times.clock_cost_ms)},
                     {"passes", times.total_ms.samples},
                     {"contended", times.contended},
                     {"layers_observed_every", times.observed_every == 0 ? 1 : times.observed_every}};
    json["memory"] = {{"weights_bytes", memory.weights_bytes},
                      {"activations_bytes", memory.activations_bytes},
                      {"workspace_bytes", memory.workspace_bytes},
                      {"peak_bytes", memory.peak_bytes}};
    return text_of(json, 2);
}

// The format of chrome://tracing and ui.perfetto.dev: complete events, microseconds.
std::string trace_json(const RunResult& result) {
    const network::Executor& executor = *result.executor;
    Json events = Json::array();
    const auto name = [&](const char* what, int thread, const std::string& text) {
        events.push_back(
            {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", thread}, {"args", {{"name", text}}}});
    };
    name("process_name", 0, "convlens " + result.model_name);
    name("thread_name", 1, "passes");
    name("thread_name", 2, "layers");
    for (std::size_t i = 0; i < result.trace.size();) {
        std::size_t end = i;
        while (end < result.trace.size() && result.trace[end].pass == result.trace[i].pass) ++end;
        events.push_back({{"name", "pass"},
                          {"ph", "X"},
                          {"pid", 1},
                          {"tid", 1},
                          {"ts", 1000 * result.trace[i].start_ms},
                          {"dur", 1000 * (result.trace[end - 1].end_ms - result.trace[i].start_ms)}});
        i = end;
    }
    for (const TraceEvent& event : result.trace) {
        const network::Layer& layer = executor.layers()[static_cast<std::size_t>(event.layer)];
        std::string shape;
        if (!layer.outputs.empty())
            shape = executor.tensors()[static_cast<std::size_t>(layer.outputs.front())].desc.dims.text();
        events.push_back({{"name", layer.name},
                          {"cat", layer.category},
                          {"ph", "X"},
                          {"pid", 1},
                          {"tid", 2},
                          {"ts", 1000 * event.start_ms},
                          {"dur", 1000 * (event.end_ms - event.start_ms)},
                          {"args",
                           {{"op", layer.op},
                            {"algorithm", layer.plan.algorithm},
                            {"shape", shape},
                            {"flops", layer.plan.work.flops},
                            {"bytes", layer.plan.work.bytes},
                            {"workspace_bytes", layer.plan.workspace_bytes}}}});
    }
    return text_of({{"displayTimeUnit", "ms"}, {"traceEvents", events}}, 1);
}

std::string index_json(const std::vector<DumpedTensor>& tensors) {
    Json json = Json::object();
    for (const DumpedTensor& tensor : tensors)
        json[tensor.name] = {{"file", tensor.file},
                             {"shape", array_of(tensor.dims)},
                             {"layer", tensor.layer.empty() ? Json() : Json(tensor.layer)}};
    return text_of(json, 1);
}

}  // namespace convlens::cli

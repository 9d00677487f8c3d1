#include "app/cli/bench.h"

#include <algorithm>
#include <cmath>

#include "app/cli/assets.h"
#include "app/cli/backend.h"
#include "app/cli/message.h"
#include "app/input/file.h"
#include "app/input/source.h"

namespace convlens::cli {
namespace {

// Destinations with more elements are not compared with the reference value by value: the error then comes
// from the same layer with a smaller batch.
constexpr std::int64_t compared_elements = std::int64_t{1} << 20;

[[noreturn]] void refuse(const std::string& text) { throw Error(Status::bad_parameter, text); }

DataType type_of(Precision precision) {
    return precision == Precision::fp16   ? DataType::f16
           : precision == Precision::bf16 ? DataType::bf16
                                          : DataType::f32;
}

std::vector<BenchLayer> wanted_layers(const BenchOptions& options, Backend backend) {
    std::string path = options.layers;
    if (path.empty()) {
        if (assets_folder().empty())
            refuse(
                "the bundled layers were not found: name a file with --layers, or set CONVLENS_ASSETS to the "
                "folder that holds layers/");
        path = assets_folder() + "/layers/" + (backend == Backend::cpu ? "cpu" : "gpu") + "-layers.csv";
    }
    std::vector<BenchLayer> layers = read_layers(path);
    std::string names;
    for (const BenchLayer& layer : layers) names += (names.empty() ? "" : ", ") + layer.name;
    std::erase_if(layers,
                  [&](const BenchLayer& l) { return l.name.find(options.filter) == std::string::npos; });
    if (layers.empty()) refuse("--filter '" + options.filter + "' fits no layer of '" + path + "': " + names);
    return layers;
}

LayerRow row_of(const Finding& finding, std::size_t layer) {
    LayerRow row;
    row.layer = layer;
    row.candidate = finding.candidate;
    row.max_error = finding.max_error;
    if (finding.measured)
        row.times = {finding.median_ms, finding.p10_ms, finding.p90_ms, finding.samples};
    else
        row.status = finding.failure.empty() ? BenchStatus::not_supported : BenchStatus::failed;
    row.reason = finding.failure.empty() ? finding.candidate.reason : finding.failure;
    return row;
}

std::string list_choice(Context& context, const Problem& problem, Precision precision) {
    try {
        return make_plan(context, problem, {.algorithm = {}, .precision = precision})->info().algorithm;
    } catch (const Error&) {
        return {};  // no row can do it: each says why
    }
}

void bench_layer(const BenchOptions& options, Context& context, Precision precision, std::size_t number,
                 BenchResult& result) {
    const BenchLayer& layer = result.layers[number];
    const ConvolutionProblem problem = problem_of(layer, result.type);
    const std::int64_t elements = problem.dst.elements();
    FindOptions find_options;
    find_options.budget_ms = 1000 * options.seconds;
    find_options.budget_of_samples = true;
    find_options.seed = options.seed;
    find_options.measure_error = elements <= compared_elements;
    std::vector<Finding> found = find(context, problem, find_options);
    if (!find_options.measure_error) {
        BenchLayer small = layer;
        small.n = std::max<std::int64_t>(1, layer.n * compared_elements / elements);
        find_options.measure_error = true;
        find_options.samples = 1;
        find_options.budget_ms = 0;
        const std::vector<Finding> compared = find(context, problem_of(small, result.type), find_options);
        for (std::size_t i = 0; i < found.size() && i < compared.size(); ++i)
            if (found[i].measured) found[i].max_error = compared[i].max_error;
    }
    const std::string chosen = list_choice(context, problem, precision);
    for (const Finding& finding : found) {
        result.layer_rows.push_back(row_of(finding, number));
        result.layer_rows.back().chosen = finding.candidate.algorithm == chosen;
    }
}

void bench_ops(const BenchOptions& options, Context& context, Precision precision, BenchResult& result) {
    result.layers = wanted_layers(options, context.backend());
    BenchProgress progress(result.layers.size());
    for (std::size_t i = 0; i < result.layers.size(); ++i) {
        progress.begin(result.layers[i].name);
        bench_layer(options, context, precision, i, result);
    }
}

// What this version lacks, and what does not go together.
void check_options(const BenchOptions& options) {
    if (options.suite == "paper")
        throw Error(Status::not_supported, "--suite paper is not in this version: take ops or models");
    if (options.suite != "ops" && options.suite != "models")
        refuse("--suite '" + options.suite + "' is not known: ops or models");
    if (options.direction != "fwd") {
        if (options.direction != "bwd_data" && options.direction != "bwd_filter")
            refuse("--direction '" + options.direction + "' is not known: fwd, bwd_data or bwd_filter");
        throw Error(Status::not_supported,
                    "--direction " + options.direction + " is not in this version: only fwd is");
    }
    if (options.peers) throw Error(Status::not_supported, "--peers is not in this version");
    if (!options.html.empty())
        throw Error(Status::not_supported, "--html is not in this version: take --json or --csv");
    if (!options.json.empty() && options.json == options.csv)
        refuse("--json and --csv can't both be written to '" + options.json + "': name two files");
    const bool ops = options.suite == "ops";
    if (ops && options.batch > 0) refuse("--batch is for --suite models: layers have batches of their own");
    if (ops && options.side > 0) refuse("--side is for --suite models: layers have sizes of their own");
    if (ops && !options.models.empty())
        refuse("'" + options.models.front() + "': models are for --suite models; --filter names layers");
    if (!ops && !options.layers.empty()) refuse("--layers is for --suite ops");
}

}  // namespace

BenchProgress::BenchProgress(std::size_t steps) : steps_(steps), start_ms_(input::now_ms()) {}

void BenchProgress::begin(const std::string& step) {
    std::string text = "[" + std::to_string(done_ + 1) + "/" + std::to_string(steps_) + "] " + step;
    if (done_ > 0) {
        const double each = (input::now_ms() - start_ms_) / static_cast<double>(done_);
        const double left = each * static_cast<double>(steps_ - done_) / 1000;
        text += ", about " + std::to_string(std::max(1L, std::lround(left))) + " s left";
    }
    ++done_;
    note(text);
}

int bench(const BenchOptions& from) {
    BenchOptions options = from;
    if (options.suite.empty()) options.suite = options.models.empty() ? "ops" : "models";
    if (options.seconds <= 0) options.seconds = 2;
    check_options(options);
    Context context(context_options(options));
    const Precision precision = parse_precision(options.precision, context.backend());
    BenchResult result;
    result.backend = to_string(context.backend());
    result.device = context.device_text();
    result.precision = options.precision;
    result.threads = context.threads();
    result.seed = options.seed;
    result.type = type_of(precision);
    if (options.suite == "ops")
        bench_ops(options, context, precision, result);
    else
        bench_models(options, context, result);
    result.health = context.health();

    if (options.json != "-" && options.csv != "-") input::write_file("-", bench_text(result));
    if (!options.json.empty()) input::write_file(options.json, bench_json(result));
    if (!options.csv.empty()) input::write_file(options.csv, bench_csv(result));
    const auto failed = [](const auto& row) { return row.status == BenchStatus::failed; };
    return std::any_of(result.layer_rows.begin(), result.layer_rows.end(), failed) ||
                   std::any_of(result.network_rows.begin(), result.network_rows.end(), failed)
               ? exit_failed
               : exit_done;
}

}  // namespace convlens::cli

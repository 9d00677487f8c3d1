#include "app/cli/bench.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "app/cli/assets.h"
#include "app/cli/backend.h"
#include "app/cli/message.h"
#include "app/input/file.h"
#include "app/input/source.h"

namespace convlens::cli {
namespace {

// Destinations with more elements are not compared with the reference value by value, and layers of more
// operations are tried on a small batch first: the errors then come from that.
constexpr std::int64_t compared_elements = std::int64_t{1} << 20;
constexpr double tried_flops = 1e10;
// Enough for the tenth percentile of a short row to mean something.
constexpr int most_samples = 60;
// On the processor, rows that would take this many times the seconds of a layer are left out.
constexpr double most_times = 10;
// Larger than the last caches of today; on the processor only where it says less of itself.
constexpr std::size_t cold_bytes_cpu = std::size_t{512} << 20, cold_bytes_cuda = std::size_t{256} << 20;

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
        const char* name = options.suite == "paper" ? "paper" : backend == Backend::cpu ? "cpu" : "gpu";
        path = assets_folder() + "/layers/" + name + "-layers.csv";
    }
    std::vector<BenchLayer> layers = read_layers(path);
    std::string names;
    for (const BenchLayer& layer : layers) names += (names.empty() ? "" : ", ") + layer.name;
    std::erase_if(layers,
                  [&](const BenchLayer& l) { return l.name.find(options.filter) == std::string::npos; });
    if (layers.empty()) refuse("--filter '" + options.filter + "' fits no layer of '" + path + "': " + names);
    return layers;
}

std::vector<BenchDirection> wanted_directions(const BenchOptions& options) {
    std::vector<BenchDirection> wanted;
    for (const auto direction : {BenchDirection::fwd, BenchDirection::bwd_data, BenchDirection::bwd_filter})
        if (options.direction == "all" || options.direction == to_string(direction))
            wanted.push_back(direction);
    if (wanted.empty())
        refuse("--direction '" + options.direction + "' is not known: fwd, bwd_data, bwd_filter or all");
    return wanted;
}

bool is_wanted(const BenchOptions& options, const std::string& row) {
    return options.algorithms.empty() ||
           std::any_of(options.algorithms.begin(), options.algorithms.end(),
                       [&](const std::string& name) { return row == name || row.starts_with(name + "_"); });
}

// The measurement of one layer in one direction.
class LayerBench {
  public:
    LayerBench(const BenchOptions& options, Context& context, Precision precision, BenchResult& result,
               std::size_t number, BenchDirection direction)
        : options_(options),
          context_(context),
          precision_(precision),
          result_(result),
          layer_(result.layers[number]),
          number_(number),
          direction_(direction),
          problem_(problem_of(layer_, direction, result.type)),
          list_(candidates(context, problem_, options.peers)) {
        std::erase_if(list_, [&](const Candidate& c) { return !is_wanted(options, c.algorithm); });
    }

    void run() {
        const double flops = list_.empty() ? 0
                                           : 2.0 * output_elements() * static_cast<double>(layer_.c) /
                                                 static_cast<double>(layer_.groups) *
                                                 static_cast<double>(layer_.r * layer_.s);
        const bool tried =
            std::visit([](const auto& p) { return p.dst.elements(); }, problem_) > compared_elements ||
            flops > tried_flops;
        if (tried) try_small();
        FindOptions find_options = common_options();
        find_options.measure_error = !tried;
        const std::string chosen = list_choice();
        for (const Finding& finding : search(problem_, find_options)) add(finding, chosen, true);
        for (const Candidate& candidate : list_)
            if (skipped_.contains(candidate.algorithm)) {
                Finding left_out;
                left_out.candidate = candidate;
                add(left_out, chosen, true);
            }
        // Peers on a GPU have a layout of their own liking.
        if (!options_.peers || context_.backend() == Backend::cpu) return;
        find_options.measure_error = find_options.remember = false;
        std::vector<std::string> peers;
        for (const Candidate& candidate : list_)
            if (candidate.algorithm.starts_with("peer:")) peers.push_back(candidate.algorithm);
        if (peers.empty()) return;
        find_options.algorithms = peers;
        for (const Finding& finding :
             find(context_, problem_of(layer_, direction_, result_.type, false), find_options))
            add(finding, {}, false);
    }

  private:
    double output_elements() const { return static_cast<double>(output_of(layer_).product()); }

    FindOptions common_options() const {
        FindOptions o;
        o.samples = most_samples;
        o.budget_ms = 1000 * options_.seconds;
        o.budget_of_samples = true;
        o.seed = options_.seed;
        o.peers = options_.peers;
        o.warm = true;
        o.recorded = true;
        o.remember = options_.remember;
        if (options_.cold)
            o.cold_bytes = context_.backend() == Backend::cpu ? cold_bytes_cpu : cold_bytes_cuda;
        return o;
    }

    std::vector<Finding> search(const Problem& problem, FindOptions find_options) const {
        std::vector<std::string> names;
        for (const Candidate& candidate : list_)
            if (!skipped_.contains(candidate.algorithm)) names.push_back(candidate.algorithm);
        if (names.empty()) return {};
        find_options.algorithms = names;
        return find(context_, problem, find_options);
    }

    // One run of each row on as few images as will do: their errors, and what the whole batch would take.
    void try_small() {
        BenchLayer small = layer_;
        const double images =
            static_cast<double>(compared_elements) * static_cast<double>(layer_.n) / output_elements();
        small.n = std::clamp<std::int64_t>(static_cast<std::int64_t>(images), 1, layer_.n);
        FindOptions find_options = common_options();
        find_options.samples = 1;
        find_options.budget_ms = 0;
        find_options.cold_bytes = 0;
        find_options.recorded = find_options.remember = find_options.warm = false;
        const double times = static_cast<double>(layer_.n) / static_cast<double>(small.n);
        // The reference besides what is wanted, for the errors.
        for (const Finding& finding :
             find(context_, problem_of(small, direction_, result_.type), find_options)) {
            const std::string& row = finding.candidate.algorithm;
            if (!is_wanted(options_, row)) continue;
            if (finding.measured) errors_[row] = finding.max_error;
            const double seconds = finding.median_ms * times / 1000;
            if (context_.backend() == Backend::cpu && finding.measured &&
                seconds > most_times * options_.seconds)
                skipped_[row] = seconds;
        }
    }

    std::string list_choice() const {
        try {
            return make_plan(context_, problem_, {.algorithm = {}, .precision = precision_})
                ->info()
                .algorithm;
        } catch (const Error&) {
            return {};  // no row can do it: each says why
        }
    }

    void add(const Finding& finding, const std::string& chosen, bool channels_last) {
        LayerRow row;
        row.layer = number_;
        row.direction = direction_;
        row.channels_last = channels_last;
        row.candidate = finding.candidate;
        row.max_error = finding.max_error;
        row.reason = finding.failure.empty() ? finding.candidate.reason : finding.failure;
        const std::string& name = finding.candidate.algorithm;
        row.chosen = name == chosen;
        row.admitted = serves(finding.candidate.error_class);
        if (finding.measured) {
            row.times = {finding.median_ms, finding.p10_ms, finding.p90_ms, finding.samples};
            row.cold_ms = finding.cold_ms;
            row.cpu_ms = finding.cpu_ms;
            if (const auto known = errors_.find(name); known != errors_.end() && !row.max_error)
                row.max_error = known->second;
        } else if (const auto left_out = skipped_.find(name); left_out != skipped_.end()) {
            row.status = BenchStatus::skipped;
            row.reason = "it would take about " + std::to_string(std::lround(left_out->second)) +
                         " s a run; --seconds " +
                         std::to_string(std::lround(left_out->second / most_times) + 1) + " measures it";
        } else {
            row.status = finding.failure.empty() ? BenchStatus::not_supported : BenchStatus::failed;
        }
        result_.layer_rows.push_back(std::move(row));
    }

    bool serves(ErrorClass error_class) const {
        if (result_.type == DataType::f16 && error_class == ErrorClass::fp16) return true;
        if (result_.type == DataType::bf16 && error_class == ErrorClass::bf16) return true;
        return admits(precision_, error_class);
    }

    const BenchOptions& options_;
    Context& context_;
    Precision precision_;
    BenchResult& result_;
    const BenchLayer layer_;
    std::size_t number_;
    BenchDirection direction_;
    Problem problem_;
    std::vector<Candidate> list_;
    std::map<std::string, std::optional<double>> errors_;
    std::map<std::string, double> skipped_;  // seconds a run
};

void bench_layers(const BenchOptions& options, Context& context, Precision precision, BenchResult& result) {
    const std::vector<BenchDirection> directions = wanted_directions(options);
    result.layers = wanted_layers(options, context.backend());
    std::vector<double> shares;
    for (const BenchLayer& layer : result.layers)
        for (std::size_t i = 0; i < directions.size(); ++i)
            shares.push_back(options.seconds +
                             1e-11 * static_cast<double>(output_of(layer).product()) *
                                 static_cast<double>(layer.c / layer.groups * layer.r * layer.s));
    BenchProgress progress(shares);
    for (std::size_t i = 0; i < result.layers.size(); ++i)
        for (const BenchDirection direction : directions) {
            progress.begin(result.layers[i].name +
                           (directions.size() > 1 ? std::string(", ") + to_string(direction) : ""));
            LayerBench(options, context, precision, result, i, direction).run();
        }
    if (!options.html.empty() || options.suite == "paper")
        result.peaks = measure_peaks(context, result.type, precision);
}

// Layers of 16-bit tensors are asked of every backend: each row says whether it takes them.
Precision precision_of(const BenchOptions& options, Backend backend) {
    for (const Precision precision : {Precision::fp16, Precision::bf16})
        if (options.suite != "models" && options.precision == to_string(precision)) return precision;
    return parse_precision(options.precision, backend);
}

// What does not go together.
void check_options(const BenchOptions& options) {
    if (options.suite != "ops" && options.suite != "models" && options.suite != "paper")
        refuse("--suite '" + options.suite + "' is not known: ops, paper or models");
    (void)wanted_directions(options);
    const std::pair<const char*, const std::string*> files[] = {
        {"--json", &options.json}, {"--csv", &options.csv}, {"--html", &options.html}};
    for (std::size_t i = 0; i < std::size(files); ++i)
        for (std::size_t k = i + 1; k < std::size(files); ++k)
            if (!files[i].second->empty() && *files[i].second == *files[k].second)
                refuse(std::string(files[i].first) + " and " + files[k].first +
                       " can't both be written to '" + *files[i].second + "': name two files");
    const bool layers = options.suite != "models";
    if (layers && options.batch > 0)
        refuse("--batch is for --suite models: layers have batches of their own");
    if (layers && options.side > 0) refuse("--side is for --suite models: layers have sizes of their own");
    if (layers && !options.models.empty())
        refuse("'" + options.models.front() + "': models are for --suite models; --filter names layers");
    if (options.suite != "ops" && !options.layers.empty()) refuse("--layers is for --suite ops");
    if (layers) return;
    if (options.direction != "fwd") refuse("--direction is for layers: networks run forward");
    if (options.peers) refuse("--peers is for layers: networks run by own algorithms");
    if (options.cold) refuse("--cold is for layers");
    if (options.remember) refuse("--remember is for layers");
    if (!options.algorithms.empty()) refuse("--algo is for layers; convlens run takes it for networks");
}

// A misspelt name would leave nothing to measure.
void check_names(const BenchOptions& options, Backend backend) {
    for (const std::string& name : options.algorithms) {
        bool known = false;
        for (const BenchDirection direction : wanted_directions(options)) {
            const Problem any = problem_of({"", 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1}, direction, DataType::f32);
            known = known || !algorithms_meant(any, backend, name).empty();
        }
        if (!known) refuse("--algo '" + name + "' is no algorithm of the " + to_string(backend) + " backend");
        if (name.starts_with("peer:") && !options.peers) refuse("--algo " + name + " needs --peers");
    }
}

}  // namespace

BenchProgress::BenchProgress(std::vector<double> shares)
    : shares_(std::move(shares)), start_ms_(input::now_ms()) {}

void BenchProgress::begin(const std::string& step) {
    std::string text = "[" + std::to_string(done_ + 1) + "/" + std::to_string(shares_.size()) + "] " + step;
    if (done_ > 0) {
        const auto now = shares_.begin() + static_cast<std::ptrdiff_t>(done_);
        const double before = std::accumulate(shares_.begin(), now, 0.0);
        const double left =
            (input::now_ms() - start_ms_) / 1000 * std::accumulate(now, shares_.end(), 0.0) / before;
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
    const Precision precision = precision_of(options, context.backend());
    check_names(options, context.backend());
    BenchResult result;
    result.backend = to_string(context.backend());
    result.device = context.device_text();
    result.precision = options.precision;
    result.threads = context.threads();
    result.seed = options.seed;
    result.type = type_of(precision);
    result.suite = options.suite;
    const SharedMachine machine;
    if (options.suite == "models")
        bench_models(options, context, result);
    else
        bench_layers(options, context, precision, result);
    result.health = context.health();
    result.shared = machine.share();

    if (options.json != "-" && options.csv != "-" && options.html != "-")
        input::write_file("-", bench_text(result));
    if (!options.json.empty()) input::write_file(options.json, bench_json(result));
    if (!options.csv.empty()) input::write_file(options.csv, bench_csv(result));
    if (!options.html.empty()) input::write_file(options.html, bench_html(result));
    const auto failed = [](const auto& row) { return row.status == BenchStatus::failed; };
    return std::any_of(result.layer_rows.begin(), result.layer_rows.end(), failed) ||
                   std::any_of(result.network_rows.begin(), result.network_rows.end(), failed)
               ? exit_failed
               : exit_done;
}

}  // namespace convlens::cli

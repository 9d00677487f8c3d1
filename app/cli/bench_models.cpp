// `convlens bench --suite models`: passes of whole networks over random numbers, each in both modes.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "app/cli/assets.h"
#include "app/cli/backend.h"
#include "app/cli/bench.h"
#include "app/input/frame.h"
#include "app/input/preprocess.h"
#include "app/measure/timing.h"
#include "app/network/executor.h"

namespace convlens::cli {
namespace {

constexpr std::int64_t usual_side = 224;
constexpr int most_passes_cpu = 100, most_passes_device = 1000, warmup = 3;

std::vector<std::string> wanted_models(const BenchOptions& options) {
    std::vector<std::string> paths;
    for (const std::string& model : options.models) paths.push_back(resolve_model(model));
    if (options.models.empty()) paths = bundled_models();
    if (paths.empty())
        throw Error(
            Status::bad_parameter,
            "the bundled models were not found: name ONNX files, or set CONVLENS_ASSETS to the folder "
            "that holds models/");
    std::string names;
    for (const std::string& path : paths)
        names += (names.empty() ? "" : ", ") + std::filesystem::path(path).stem().string();
    std::erase_if(paths, [&](const std::string& path) {
        return std::filesystem::path(path).stem().string().find(options.filter) == std::string::npos;
    });
    if (paths.empty())
        throw Error(Status::bad_parameter, "--filter '" + options.filter + "' fits no model: " + names);
    return paths;
}

// Symbolic axes: the batch first, then picture sides.
Dims input_dims(const network::Model& model, const network::ValueInfo& input, const BenchOptions& options,
                Backend backend) {
    const int limit = backend == Backend::cpu ? input::default_side_limit(model.metadata()) : 0;
    const std::int64_t side = options.side > 0 ? options.side : limit > 0 ? limit : usual_side;
    Dims dims;
    for (const network::SymbolicDim& dim : input.dims)
        dims.push_back(dim.value > 0 ? dim.value : dims.empty() ? std::max(options.batch, 1) : side);
    if (options.batch > 0 && !dims.empty() && dims[0] != options.batch)
        throw Error(Status::not_supported, "--batch " + std::to_string(options.batch) + ": the batch of '" +
                                               model.name() + "' is fixed at " + std::to_string(dims[0]));
    return dims;
}

void time_passes(const BenchOptions& options, Context& context, network::Executor& executor,
                 NetworkRow& row) {
    const int most = context.backend() == Backend::cpu ? most_passes_cpu : most_passes_device;
    measure::PassTimer timer(context, most);
    timer.set_warmup(warmup);
    const double start = input::now_ms();
    for (int pass = 0; pass < most + warmup; ++pass) {
        timer.run(executor, 0);
        if (pass >= warmup && input::now_ms() - start > 1000 * options.seconds) break;
    }
    const measure::PassTimes times = timer.times();
    row.times = {times.total_ms.median, times.total_ms.p10, times.total_ms.p90, times.total_ms.samples};
    row.sum_layers_ms = times.sum_layers_ms;
    row.contended = times.contended;
}

NetworkRow bench_network(const BenchOptions& options, Context& context, Precision precision,
                         const std::string& path, network::Mode mode) {
    NetworkRow row;
    row.model = std::filesystem::path(path).stem().string();
    row.path = path;
    row.mode = to_string(mode);
    try {
        const auto model = network::Model::load(path);
        network::ExecutorOptions plan;
        plan.mode = mode;
        plan.precision = precision;
        for (const network::ValueInfo& input : model->inputs())
            plan.input_dims[input.name] = input_dims(*model, input, options, context.backend());
        if (!model->inputs().empty()) row.input = plan.input_dims[model->inputs().front().name];
        network::Executor executor(context, model, plan);
        std::mt19937_64 random(options.seed);
        std::normal_distribution<float> normal;
        for (std::size_t i = 0; i < model->inputs().size(); ++i) {
            const Dims& dims = plan.input_dims[model->inputs()[i].name];
            std::vector<float> values(static_cast<std::size_t>(dims.product()));
            for (float& value : values) value = normal(random);
            executor.set_input(static_cast<int>(i), values.data());
        }
        for (const network::Layer& layer : executor.layers()) row.flops += layer.plan.work.flops;
        row.memory = executor.memory();
        time_passes(options, context, executor, row);
    } catch (const Error& error) {
        row.status =
            error.status() == Status::runtime_failure ? BenchStatus::failed : BenchStatus::not_supported;
        row.reason = error.what();
    }
    return row;
}

}  // namespace

void bench_models(const BenchOptions& options, Context& context, BenchResult& result) {
    const Precision precision = parse_precision(options.precision, context.backend());
    const std::vector<std::string> paths = wanted_models(options);
    BenchProgress progress(std::vector<double>(2 * paths.size(), 1.0));
    for (const std::string& path : paths)
        for (const network::Mode mode : {network::Mode::explore, network::Mode::lean}) {
            progress.begin(std::filesystem::path(path).stem().string() + ", " + to_string(mode));
            result.network_rows.push_back(bench_network(options, context, precision, path, mode));
        }
}

}  // namespace convlens::cli

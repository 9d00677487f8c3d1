#include "app/cli/run.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "app/cli/assets.h"
#include "app/cli/backend.h"
#include "app/cli/dump_maps.h"
#include "app/cli/message.h"
#include "app/engine/faces.h"
#include "app/input/file.h"
#include "app/input/write_picture.h"
#include "convlens/convlens.hpp"

namespace convlens::cli {
namespace {

constexpr int traced_passes = 3;

[[noreturn]] void refuse(const std::string& text) { throw Error(Status::bad_parameter, text); }

network::Mode mode_of(const std::string& text) {
    if (text == "explore") return network::Mode::explore;
    if (text == "lean") return network::Mode::lean;
    refuse("--mode '" + text + "' is not known: explore or lean");
}

// NAME for every layer that can do it ("*"), LAYER=NAME for one; layer names may hold '='.
std::map<std::string, std::string> algorithms_of(const std::vector<std::string>& words) {
    std::map<std::string, std::string> out;
    for (const std::string& word : words) {
        const std::size_t equals = word.rfind('=');
        const std::string layer = equals == std::string::npos ? "*" : word.substr(0, equals);
        const std::string name = equals == std::string::npos ? word : word.substr(equals + 1);
        if (layer.empty() || name.empty()) refuse("--algo '" + word + "': NAME or LAYER=NAME is wanted");
        out[layer] = name;
    }
    return out;
}

// What --verbose says of a plan: which algorithms were chosen how often, and the memory they work in.
std::string plan_text(const network::Executor& executor, const Dims& dims, double planning_ms) {
    std::map<std::string, int> counts;
    for (const network::Layer& layer : executor.layers()) ++counts[layer.plan.algorithm];
    std::string chosen;
    for (const auto& [algorithm, count] : counts)
        chosen += (chosen.empty() ? "" : ", ") + std::to_string(count) + " " + algorithm;
    const network::MemoryReport memory = executor.memory();
    return "planned " + std::to_string(executor.layers().size()) + " layers for an input of " + dims.text() +
           " in " + std::to_string(std::lround(planning_ms)) + " ms: " + chosen + "; weights " +
           std::to_string(memory.weights_bytes) + ", activations " +
           std::to_string(memory.activations_bytes) + ", workspace " +
           std::to_string(memory.workspace_bytes) + " bytes";
}

// Everything about the model that stays from picture to picture.
struct Session {
    const RunOptions& options;
    std::shared_ptr<const network::Model> model;
    Context context;
    Precision precision;
    input::Preprocessing preprocessing;
    engine::OutputMeaning meaning;
    std::unique_ptr<engine::FaceFinder> faces;
    Dims wanted;
    int side_limit = 0;
    std::map<std::string, std::string> algorithms;

    explicit Session(const RunOptions& from)
        : options(from),
          model(network::Model::load(resolve_model(from.model))),
          context(context_options(from)),
          precision(parse_precision(from.precision, context.backend())) {
        preprocessing = input::parse_preprocessing(model->metadata());
        meaning = engine::read_output_meaning(*model);
        algorithms = algorithms_of(options.algorithms);
        side_limit = options.side >= 0 ? options.side : input::default_side_limit(model->metadata());
        if (model->inputs().size() != 1)
            refuse("'" + model->path() + "' has " + std::to_string(model->inputs().size()) +
                   " inputs: run feeds models with one, a picture");
        for (const network::SymbolicDim& dim : model->inputs().front().dims) wanted.push_back(dim.value);
        if (!preprocessing.stated)
            note("'" + model->name() +
                 "' states no preprocessing (metadata convlens.input.*): pictures are stretched to its size, "
                 "RGB, "
                 "0 to 1");
        for (const std::string& message : meaning.messages) note(message);
        std::string message;
        faces = engine::FaceFinder::for_model(model, message);
        if (!message.empty()) note(message);
    }

    // The picture as often as the batch says.
    input::NetworkInput fed(const input::Frame& frame) const {
        input::NetworkInput in = input::preprocess(frame, preprocessing, wanted, side_limit);
        const std::int64_t fixed = wanted[0] > 0 ? wanted[0] : options.batch;
        if (options.batch > 1 && fixed != options.batch)
            refuse("--batch " + std::to_string(options.batch) + ": the batch of '" + model->name() +
                   "' is fixed at " + std::to_string(fixed));
        const std::size_t one = in.nchw.size();
        in.dims[0] = fixed;
        in.nchw.reserve(one * static_cast<std::size_t>(fixed));
        for (std::int64_t n = 1; n < fixed; ++n)
            in.nchw.insert(in.nchw.end(), in.nchw.begin(),
                           in.nchw.begin() + static_cast<std::ptrdiff_t>(one));
        return in;
    }

    std::unique_ptr<network::Executor> executor(const Dims& dims) {
        network::ExecutorOptions o;
        o.mode = mode_of(options.mode);
        o.algorithms = algorithms;
        o.precision = precision;
        o.input_dims[model->inputs().front().name] = dims;
        const double start = input::now_ms();
        auto planned = std::make_unique<network::Executor>(context, model, o);
        if (options.verbose) note(plan_text(*planned, dims, input::now_ms() - start));
        return planned;
    }
};

double largest_in_heat_map(const network::Executor& executor, const engine::HeatMap& map) {
    const Dims& dims = executor.tensors()[static_cast<std::size_t>(map.tensor)].desc.dims;
    const std::vector<float> values = executor.copy(map.tensor);
    const auto plane = static_cast<std::size_t>(dims[2] * dims[3]);
    double most = 0;
    for (std::size_t i = 0; i < plane; ++i)
        most = std::max(most, static_cast<double>(values[static_cast<std::size_t>(map.channel) * plane + i]));
    return most;
}

InputResult answer(Session& session, network::Executor& executor, const input::Frame& frame,
                   const input::NetworkInput& fed) {
    InputResult out;
    out.name = frame.name;
    out.width = frame.width;
    out.height = frame.height;
    out.input_dims = fed.dims;
    out.outputs = engine::interpret_outputs(session.meaning, executor, 0, fed, session.options.top);
    if (out.outputs.heat_map) out.heat_most = largest_in_heat_map(executor, *out.outputs.heat_map);
    if (session.faces) out.outputs.boxes = session.faces->find(session.context, frame);
    return out;
}

// Passes with the start and end of each layer, in the time of the backend.
void trace(network::Executor& executor, Context& context, RunResult& result) {
    const int layers = static_cast<int>(executor.layers().size());
    Marks marks(context, 2 * layers * traced_passes + 1);
    network::PassObserver observer;
    int pass = 0;
    const auto mark = [&](int layer) { return 1 + 2 * (pass * layers + layer); };
    observer.before = [&](int layer) { marks.set(mark(layer)); };
    observer.after = [&](int layer) { marks.set(mark(layer) + 1); };
    marks.set(0);
    for (; pass < traced_passes; ++pass) executor.run(0, &observer);
    context.synchronize();
    for (pass = 0; pass < traced_passes; ++pass)
        for (int layer = 0; layer < layers; ++layer)
            result.trace.push_back(
                {pass, layer, marks.milliseconds(0, mark(layer)), marks.milliseconds(0, mark(layer) + 1)});
}

// Timed passes until enough or too long; some more are traced.
void measure(const Session& session, network::Executor& executor, Context& context, RunResult& result) {
    const RunOptions& options = session.options;
    // On a device passes are short, and where they are replayed only every eighth shows its layers.
    const int usual = context.backend() == Backend::cpu ? (options.profile ? 100 : 20) : 400;
    const int passes = options.passes > 0 ? options.passes : usual;
    const double budget_ms = 1000 * (options.seconds > 0 ? options.seconds : options.profile ? 15 : 3);
    constexpr int warmup = 2;
    measure::PassTimer timer(context, passes);
    const double start = input::now_ms();
    timer.set_warmup(warmup);
    for (int pass = 0; pass < passes + warmup; ++pass) {
        timer.run(executor, 0);
        // A slow network must not take longer for its warm-up than for its measurement: then one pass of
        // each.
        const bool late = input::now_ms() - start > budget_ms;
        if (late && pass >= warmup) break;
    }
    result.times = timer.times();
    if (options.verbose)
        note("timed passes for " + std::to_string(std::lround(input::now_ms() - start)) + " ms");
    if (options.trace.empty()) return;
    trace(executor, context, result);
}

void dump(const RunOptions& options, network::Executor& executor, std::size_t number, std::size_t inputs) {
    if (options.dump_maps.empty()) return;
    std::filesystem::path folder = options.dump_maps;
    if (inputs > 1) folder /= "input" + std::to_string(number + 1);
    dump_maps(executor, folder.string());
}

void write_picture(const Session& session, const network::Executor& executor, const InputResult& result) {
    if (session.options.picture.empty()) return;
    if (!result.outputs.picture)
        refuse("--picture: '" + session.model->name() + "' has no output that is a picture");
    const int tensor = result.outputs.picture->tensor;
    const Dims& dims = executor.tensors()[static_cast<std::size_t>(tensor)].desc.dims;
    input::write_png(session.options.picture, static_cast<int>(dims[3]), static_cast<int>(dims[2]),
                     engine::picture_bytes(executor, tensor, 0, session.preprocessing.bgr));
}

// Runs all pictures of all inputs; a picture that can't be read or fed is told and left out.
class Runner {
  public:
    Runner(Session& session, RunResult& result, std::size_t inputs)
        : session_(session), result_(result), inputs_(inputs) {}

    void run_source(const std::string& text) {
        const std::unique_ptr<input::Source> source = input::open_source(text, session_.options.seed);
        const int first = source->position(), count = source->count();
        inputs_ += static_cast<std::size_t>(count - 1);
        do {
            for (const std::string& message : source->take_messages()) note(message);
            run_frame(*source->current());
        } while (count > 1 && source->step(1) && source->position() != first);
        for (const std::string& message : source->take_messages()) note(message);
    }

  private:
    void run_frame(const input::Frame& frame) {
        const input::NetworkInput fed = session_.fed(frame);
        const bool is_first = result_.executor == nullptr;
        if (is_first) result_.executor = session_.executor(fed.dims);
        network::Executor* executor = result_.executor.get();
        if (!is_first && fed.dims != result_.inputs.front().input_dims) {
            if (other_ == nullptr || other_dims_ != fed.dims) {
                other_.reset();
                other_ = session_.executor(fed.dims);
                other_dims_ = fed.dims;
            }
            executor = other_.get();
        }
        executor->set_input(0, fed.nchw.data());
        executor->run();
        InputResult result = answer(session_, *executor, frame, fed);
        if (!session_.options.picture.empty() && !result_.inputs.empty())
            refuse("--picture takes one picture: '" + frame.name +
                   "' would overwrite what the first one made");
        write_picture(session_, *executor, result);
        dump(session_.options, *executor, result_.inputs.size(), inputs_);
        if (is_first) measure(session_, *executor, session_.context, result_);
        result_.inputs.push_back(std::move(result));
    }

    Session& session_;
    RunResult& result_;
    std::size_t inputs_;
    std::unique_ptr<network::Executor> other_;
    Dims other_dims_;
};

void print(const RunOptions& options, const RunResult& result) {
    if (options.json == "-" || options.trace == "-") return;
    std::string text;
    for (const InputResult& input : result.inputs) text += answer_text(result, input);
    text += layer_text(result, options.profile);
    if (options.explain) text += explain_text(result);
    input::write_file("-", text);
}

}  // namespace

int run(const RunOptions& options) {
    mode_of(options.mode);
    if (options.json == "-" && options.trace == "-")
        refuse("--json and --trace can't both be written to standard output: give one of them a file");
    Session session(options);
    RunResult result;
    result.model_name = session.model->name();
    result.model_path = session.model->path();
    result.backend = to_string(session.context.backend());
    result.device = session.context.device_text();
    result.threads = session.context.threads();
    result.precision = options.precision;
    result.mode = options.mode;
    result.shows_classes = session.meaning.shows_classes();

    int status = exit_done;
    Runner runner(session, result, options.inputs.size());
    for (const std::string& input : options.inputs) {
        try {
            runner.run_source(input);
        } catch (const Error& error) {
            // With several pictures the others still count.
            if (error.status() == Status::runtime_failure || options.inputs.size() == 1) throw;
            complain(error.what());
            status = exit_bad_usage;
        }
    }
    if (result.inputs.empty()) return status;
    result.batch = static_cast<int>(result.inputs.front().input_dims[0]);
    print(options, result);
    if (!options.json.empty()) input::write_file(options.json, run_json(result));
    if (!options.trace.empty()) input::write_file(options.trace, trace_json(result));
    return status;
}

}  // namespace convlens::cli

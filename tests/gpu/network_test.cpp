// The bundled networks on a GPU against the processor: every tensor, every algorithm forced, every precision,
// recorded passes, and the fall-back where memory is short.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "app/measure/timing.h"
#include "app/network/executor.h"
#include "tests/support/backend.h"

namespace convlens::test {
namespace {

using network::Executor;
using network::ExecutorOptions;
using network::Mode;
using network::Model;

Context& gpu() {
    static Context context({.backend = Backend::cuda});
    return context;
}
Context& processor() {
    static Context context;
    return context;
}

std::vector<std::string> bundled() {
    std::vector<std::string> paths;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(CONVLENS_SOURCE_DIR) + "/assets/models"))
        if (entry.path().extension() == ".onnx") paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
    return paths;
}

std::vector<float> noise(std::size_t count) {
    std::mt19937 generator(7);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& v : values) v = normal(generator);
    return values;
}

// A pass over seeded noise, every kept tensor by its name.
class Seeded {
  public:
    Seeded(Context& context, const std::shared_ptr<const Model>& model, ExecutorOptions options,
           std::int64_t side = 96) {
        options.default_side = side;
        executor_ = std::make_unique<Executor>(context, model, options);
        const auto inputs = executor_->input_tensors();
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const auto& desc = executor_->tensors()[static_cast<std::size_t>(inputs[i])].desc;
            executor_->set_input(static_cast<int>(i),
                                 noise(static_cast<std::size_t>(desc.elements())).data());
        }
    }
    Executor& executor() { return *executor_; }
    std::map<std::string, std::vector<float>> pass(bool outputs_only) {
        executor_->run();
        std::map<std::string, std::vector<float>> values;
        const auto& tensors = executor_->tensors();
        for (std::size_t i = 0; i < tensors.size(); ++i)
            if (tensors[i].kept && (!outputs_only || tensors[i].is_output))
                values[tensors[i].name] = executor_->copy(static_cast<int>(i));
        return values;
    }

  private:
    std::unique_ptr<Executor> executor_;
};

double difference(const std::vector<float>& a, const std::vector<float>& b) {
    if (a.size() != b.size()) return INFINITY;
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        largest = std::max(largest, std::fabs(static_cast<double>(b[i])));
        const double d = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
        worst = std::isnan(d) ? INFINITY : std::max(worst, d);
    }
    return worst == 0 ? 0 : worst / std::max(largest, 1e-20);
}

// Of a whole network, relative to a tensor's largest magnitude.
double bound(ErrorClass error_class) {
    switch (error_class) {
        case ErrorClass::winograd:
            return 5e-4;
        case ErrorClass::tf32:
        case ErrorClass::fp16:
            return 2e-2;
        case ErrorClass::bf16:
            return 1.5e-1;
        default:
            return 1e-4;
    }
}

TEST(GpuNetwork, EveryTensorIsTheProcessors) {
    for (const std::string& path : bundled()) {
        const auto model = Model::load(path);
        for (const Mode mode : {Mode::explore, Mode::lean}) {
            SCOPED_TRACE(path + " " + to_string(mode));
            ExecutorOptions options;
            options.mode = mode;
            const auto expected = Seeded(processor(), model, options).pass(false);
            Seeded run(gpu(), model, options);
            const auto first = run.pass(false), again = run.pass(false), third = run.pass(false);
            ASSERT_EQ(first.size(), expected.size());
            double worst = 0;
            for (const auto& [name, values] : expected) {
                const double error = difference(first.at(name), values);
                worst = std::max(worst, error);
                EXPECT_LE(error, 1e-4) << name;
            }
            // Recorded passes give the bits of the first one, which was not.
            EXPECT_TRUE(first == again && first == third);
            std::printf("%s %s: worst %.2g\n", model->name().c_str(), to_string(mode), worst);
        }
    }
}

TEST(GpuNetwork, EveryAlgorithmForced) {
    for (const std::string& path : bundled()) {
        const auto model = Model::load(path);
        const auto expected = Seeded(processor(), model, {}).pass(true);
        for (const Mode mode : {Mode::explore, Mode::lean}) {
            ExecutorOptions options;
            options.mode = mode;
            std::map<std::string, ErrorClass> names;
            {
                Seeded probe(gpu(), model, options);
                for (int i = 0; i < static_cast<int>(probe.executor().layers().size()); ++i)
                    for (const Candidate& row : probe.executor().layer_candidates(i))
                        if (row.applicable) names[row.algorithm] = row.error_class;
            }
            EXPECT_GE(names.size(), 8u);
            for (const auto& [name, error_class] : names) {
                SCOPED_TRACE(path + " " + to_string(mode) + " " + name);
                options.algorithms = {{"*", name}};
                // Other layers keep their own choice, which may be Winograd.
                const double limit = std::max(bound(error_class), bound(ErrorClass::winograd));
                const auto got = Seeded(gpu(), model, options).pass(true);
                for (const auto& [tensor, values] : expected)
                    EXPECT_LE(difference(got.at(tensor), values), limit) << tensor;
            }
        }
    }
}

TEST(GpuNetwork, EveryPrecision) {
    for (const std::string& path : bundled()) {
        const auto model = Model::load(path);
        const auto expected = Seeded(processor(), model, {}).pass(true);
        for (const auto& [precision, error_class] :
             {std::pair{Precision::tf32, ErrorClass::tf32}, std::pair{Precision::fp16, ErrorClass::fp16},
              std::pair{Precision::bf16, ErrorClass::bf16}}) {
            SCOPED_TRACE(path + " " + to_string(precision));
            ExecutorOptions options;
            options.mode = Mode::lean;
            options.precision = precision;
            Seeded run(gpu(), model, options);
            const auto got = run.pass(true);
            for (const auto& [tensor, values] : expected)
                EXPECT_LE(difference(got.at(tensor), values), bound(error_class)) << tensor;
            for (const auto& layer : run.executor().layers())
                EXPECT_TRUE(admits(precision, layer.plan.error_class))
                    << layer.name << " " << layer.plan.algorithm;
        }
        // A request for fp32 gets nothing less.
        Seeded run(gpu(), model, {});
        for (const auto& layer : run.executor().layers())
            EXPECT_TRUE(admits(Precision::fp32, layer.plan.error_class)) << layer.name;
    }
}

TEST(GpuNetwork, WorkspaceLimitIsKept) {
    for (const std::string& path : bundled()) {
        const auto model = Model::load(path);
        const auto expected = Seeded(processor(), model, {}).pass(true);
        for (const std::size_t limit : {std::size_t{0}, std::size_t{1} << 20}) {
            ExecutorOptions options;
            options.workspace_limit = limit;
            Seeded run(gpu(), model, options);
            EXPECT_LE(run.executor().memory().workspace_bytes, limit);
            const auto got = run.pass(true);
            for (const auto& [tensor, values] : expected)
                EXPECT_LE(difference(got.at(tensor), values), bound(ErrorClass::winograd)) << tensor;
        }
    }
}

// All of the GPU's memory but some pieces of less than a MiB.
std::vector<Buffer> take_all_memory() {
    std::vector<Buffer> taken;
    for (std::size_t bytes = std::size_t{1} << 36; bytes >= (std::size_t{1} << 20); bytes /= 2) {
        try {
            for (;;) taken.emplace_back(gpu(), bytes);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::runtime_failure);
            EXPECT_NE(std::string(error.what()).find("use a smaller"), std::string::npos) << error.what();
        }
    }
    return taken;
}

// Where there is room for the tensors but not for the workspace, layers take plans that need less of it.
TEST(GpuNetwork, ShortMemoryFallsBackToASmallerWorkspace) {
    const auto model = Model::load(std::string(CONVLENS_SOURCE_DIR) + "/assets/models/upscale2x-photo.onnx");
    ExecutorOptions options;
    options.mode = Mode::lean;
    constexpr std::int64_t side = 512;
    options.algorithms["*"] = "im2col_gemm";  // its workspace is the matrix
    std::size_t room = 0, workspace = 0;
    std::map<std::string, std::vector<float>> expected;
    {
        Seeded run(gpu(), model, options, side);
        const auto memory = run.executor().memory();
        workspace = memory.workspace_bytes;
        ASSERT_GT(workspace, std::size_t{256} << 20);
        room = memory.weights_bytes + memory.activations_bytes + workspace / 2 + (std::size_t{128} << 20);
        expected = run.pass(true);
    }
    Buffer hole(gpu(), room);
    std::vector<Buffer> ballast = take_all_memory();
    hole = Buffer();
    Seeded run(gpu(), model, options, side);
    EXPECT_LT(run.executor().memory().workspace_bytes, workspace);
    const auto got = run.pass(true);
    for (const auto& [tensor, values] : expected)
        EXPECT_LE(difference(got.at(tensor), values), bound(ErrorClass::winograd)) << tensor;
}

// Where the GPU's memory is taken by somebody else, a plan is refused with a sentence, and nothing leaks.
TEST(GpuNetwork, ExhaustedMemoryIsAMessage) {
    std::vector<Buffer> ballast = take_all_memory();
    const auto model = Model::load(bundled().front());
    std::string message;
    try {
        Seeded run(gpu(), model, {});
    } catch (const Error& error) {
        message = error.what();
    }
    EXPECT_NE(message.find("memory"), std::string::npos) << message;
    ballast.clear();
    EXPECT_NO_THROW(Seeded(gpu(), model, {}).pass(true));
}

TEST(GpuNetwork, TimesOfLayersAndPass) {
    const auto model = Model::load(bundled().front());
    for (const Mode mode : {Mode::explore, Mode::lean}) {
        ExecutorOptions options;
        options.mode = mode;
        Seeded run(gpu(), model, options);
        measure::PassTimer timer(gpu());
        for (int i = 0; i < 60; ++i) timer.run(run.executor(), 0);
        const auto times = timer.times();
        ASSERT_EQ(times.layer_ms.size(), run.executor().layers().size());
        for (const auto& layer : times.layer_ms) EXPECT_GT(layer.samples, 0);
        EXPECT_GT(times.total_ms.median, 0);
        EXPECT_GT(times.sum_layers_ms, 0);
        EXPECT_EQ(times.observed_every > 0, run.executor().records());
    }
}

}  // namespace
}  // namespace convlens::test

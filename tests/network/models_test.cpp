// The bundled networks and the light ones: they load, both modes agree, the published outputs come out.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "app/network/executor.h"
#include "app/network/graph.h"

namespace convlens::network {
namespace {

const std::string bundled_folder = CONVLENS_SOURCE_DIR "/assets/models/";
const std::string light_folder = CONVLENS_TEST_DATA "/light/";
const char* const light_names[] = {"bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
                                   "shufflenet",   "squeezenet",  "vgg19",        "zfnet512"};

Context& context() {
    static Context instance;
    return instance;
}

std::vector<std::vector<float>> outputs(const std::shared_ptr<const Model>& model, Mode mode,
                                        const std::vector<float>& x, const Dims& dims,
                                        std::size_t* activations = nullptr) {
    ExecutorOptions options;
    options.mode = mode;
    options.input_dims[model->inputs().at(0).name] = dims;
    Executor executor(context(), model, options);
    executor.set_input(0, x.data());
    executor.run();
    if (activations) *activations = executor.memory().activations_bytes;
    std::vector<std::vector<float>> results;
    for (const int output : executor.output_tensors()) results.push_back(executor.copy(output));
    return results;
}

void expect_modes_agree(const std::shared_ptr<const Model>& model, const Dims& dims) {
    std::mt19937 generator(5);
    std::vector<float> x(static_cast<std::size_t>(dims.product()));
    for (float& value : x) value = static_cast<float>(generator() % 2001) / 1000.0f - 1.0f;
    std::size_t explore_bytes = 0, lean_bytes = 0;
    const auto explore = outputs(model, Mode::explore, x, dims, &explore_bytes);
    const auto lean = outputs(model, Mode::lean, x, dims, &lean_bytes);
    ASSERT_EQ(explore.size(), lean.size());
    for (std::size_t i = 0; i < explore.size(); ++i) {
        ASSERT_EQ(explore[i].size(), lean[i].size());
        float largest = 0, worst = 0;
        bool finite = true, varied = false;
        for (std::size_t k = 0; k < explore[i].size(); ++k) {
            largest = std::max(largest, std::fabs(explore[i][k]));
            worst = std::max(worst, std::fabs(explore[i][k] - lean[i][k]));
            finite = finite && std::isfinite(explore[i][k]) && std::isfinite(lean[i][k]);
            varied = varied || explore[i][k] != explore[i][0];
        }
        EXPECT_TRUE(finite);
        EXPECT_TRUE(varied);
        EXPECT_LE(worst, 1e-4f * largest) << "output " << i;
    }
    EXPECT_LE(lean_bytes * 2, explore_bytes + (1u << 20)) << "activations of lean mode";
}

TEST(Models, BundledNetworksAgreeInBothModes) {
    expect_modes_agree(Model::load(bundled_folder + "efficientnet-lite0.onnx"), {1, 3, 224, 224});
    expect_modes_agree(Model::load(bundled_folder + "face-landmarks.onnx"), {2, 3, 48, 48});
    expect_modes_agree(Model::load(bundled_folder + "face-finder.onnx"), {1, 3, 45, 61});
    expect_modes_agree(Model::load(bundled_folder + "upscale2x-photo.onnx"), {1, 3, 30, 34});
}

TEST(Models, LeanHalvesTheActivationsOfThePhotoNetwork) {
    const auto model = Model::load(bundled_folder + "efficientnet-lite0.onnx");
    ExecutorOptions options;
    const std::size_t explore = Executor(context(), model, options).memory().activations_bytes;
    options.mode = Mode::lean;
    EXPECT_LE(2 * Executor(context(), model, options).memory().activations_bytes, explore);
}

TEST(Models, LightNetworksGiveTheirPublishedOutputs) {
    std::vector<float> ramp(150528);
    for (std::size_t i = 0; i < ramp.size(); ++i)
        ramp[i] = static_cast<float>(static_cast<double>(i) / static_cast<double>(ramp.size()));
    for (const std::string name : light_names) {
        SCOPED_TRACE(name);
        const auto model = Model::load(light_folder + "light_" + name + ".onnx");
        const ConstantPtr expected = read_tensor_file(light_folder + "light_" + name + "_output_0.pb");
        const auto got = outputs(model, Mode::lean, ramp, {1, 3, 224, 224}).at(0);
        ASSERT_EQ(static_cast<std::int64_t>(got.size()), expected->elements());
        for (std::size_t i = 0; i < got.size(); ++i) {
            const float want = expected->as_float(static_cast<std::int64_t>(i));
            ASSERT_NEAR(got[i], want, 1e-7f + 1e-3f * std::fabs(want)) << i;
        }
    }
}

// The other light networks with random weights are compared with onnxruntime (tests/compare); these cover
// every kind of rewrite in little time.
TEST(Models, RandomWeightsAgreeInBothModes) {
    for (const std::string name : {"shufflenet", "squeezenet", "densenet121"}) {
        SCOPED_TRACE(name);
        const auto model = Model::load(light_folder + "light_" + name + ".onnx");
        const auto random = Model::with_random_weights(*model, 7);
        expect_modes_agree(random, {1, 3, 224, 224});
    }
}

TEST(Models, RandomWeightsAreReproducibleAndSurviveWriting) {
    const auto model = Model::load(bundled_folder + "face-landmarks.onnx");
    const std::string path = (std::filesystem::path(::testing::TempDir()) / "convlens_random.onnx").string();
    const auto random = Model::with_random_weights(*model, 3);
    write_onnx(*random, path);
    const auto again = Model::load(path);
    std::filesystem::remove(path);
    std::vector<float> x(3 * 48 * 48, 0.25f);
    const Dims dims{1, 3, 48, 48};
    EXPECT_EQ(outputs(random, Mode::explore, x, dims), outputs(again, Mode::explore, x, dims));
    EXPECT_EQ(outputs(random, Mode::explore, x, dims),
              outputs(Model::with_random_weights(*model, 3), Mode::explore, x, dims));
    EXPECT_NE(outputs(random, Mode::explore, x, dims),
              outputs(Model::with_random_weights(*model, 4), Mode::explore, x, dims));
    EXPECT_EQ(again->metadata(), model->metadata());
}

TEST(Models, MissingAndWrongFilesAreRefused) {
    for (const std::string& path :
         {bundled_folder + "nothing.onnx", bundled_folder, bundled_folder + "imagenet-labels.txt"}) {
        try {
            (void)Model::load(path);
            ADD_FAILURE() << path;
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::bad_parameter);
            EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
        }
    }
}

}  // namespace
}  // namespace convlens::network

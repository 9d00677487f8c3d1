// What outputs mean: metadata, labels, classes, boxes; on made-up values and on the bundled networks.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "app/engine/outputs.h"
#include "app/input/source.h"
#include "convlens/convlens.hpp"
#include "tests/support/scratch_folder.h"

namespace convlens {
namespace {

using namespace engine;
using Kind = OutputEntry::Kind;

const std::string assets = std::string(CONVLENS_SOURCE_DIR) + "/assets/";

bool mentions(const std::vector<std::string>& messages, const std::string& part) {
    return std::any_of(messages.begin(), messages.end(),
                       [&](const std::string& m) { return m.find(part) != std::string::npos; });
}

TEST(OutputMeaning, EntriesOfEachKind) {
    const OutputMeaning m = read_output_meaning(
        {{"convlens.output",
          "heatmap:face:1 boxes:gpu_0/box:x picture:up score:prob:3 points:marks classes:c"},
         {"convlens.output.window", "12x10 stride=2"},
         {"convlens.output.points", "left eye,right eye,nose"}},
        "first", "");
    ASSERT_EQ(m.entries.size(), 6u);
    EXPECT_EQ(m.entries[0].kind, Kind::heat_map);
    EXPECT_EQ(m.entries[0].output, "face");
    EXPECT_EQ(m.entries[0].index, 1);
    EXPECT_EQ(m.entries[1].output, "gpu_0/box:x");
    EXPECT_EQ(m.entries[3].index, 3);
    EXPECT_EQ(m.window_width, 12);
    EXPECT_EQ(m.window_height, 10);
    EXPECT_EQ(m.window_stride, 2);
    EXPECT_EQ(m.point_names, (std::vector<std::string>{"left eye", "right eye", "nose"}));
    EXPECT_TRUE(m.messages.empty());
    EXPECT_TRUE(m.shows_classes());
}

TEST(OutputMeaning, WithoutMetadataTheFirstOutputHasClasses) {
    const OutputMeaning m = read_output_meaning({}, "first", "");
    ASSERT_EQ(m.entries.size(), 1u);
    EXPECT_EQ(m.entries[0].kind, Kind::classes);
    EXPECT_EQ(m.entries[0].output, "first");
    EXPECT_EQ(m.label(17), "class 17");
}

TEST(OutputMeaning, WrongMetadataBecomesAMessage) {
    for (const char* wrong : {"heatmap", "chart:x", "boxes:", ":x", "heatmap:"}) {
        const OutputMeaning m = read_output_meaning({{"convlens.output", wrong}}, "first", "");
        EXPECT_TRUE(mentions(m.messages, wrong)) << wrong;
        ASSERT_EQ(m.entries.size(), 1u);
        EXPECT_EQ(m.entries[0].output, "first");
    }
    for (const char* wrong : {"12", "0x5", "12x12 stride=0", "ax5", "12x12 step=2", "99999999999x2"})
        EXPECT_FALSE(read_output_meaning({{"convlens.output.window", wrong}}, "f", "").messages.empty())
            << wrong;
}

TEST(OutputMeaning, LabelsBesideTheModelOnly) {
    const test::ScratchFolder folder;
    folder.write("l.txt", std::string("cat\r\ndog\n\nbird, small"));
    const auto read = [&](const std::string& name) {
        return read_output_meaning({{"convlens.labels", name}}, "f", folder.folder());
    };
    EXPECT_EQ(read("l.txt").labels, (std::vector<std::string>{"cat", "dog", "", "bird, small"}));
    EXPECT_EQ(read("l.txt").label(4), "class 4");
    EXPECT_TRUE(mentions(read("missing.txt").messages, "does not exist"));
    for (const char* outside : {"/etc/passwd", "../l.txt", "sub/l.txt", "..", ".hidden"}) {
        const OutputMeaning m = read(outside);
        EXPECT_TRUE(m.labels.empty()) << outside;
        EXPECT_FALSE(m.messages.empty()) << outside;
    }
}

TEST(TopClasses, FallingStableNanLast) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    OutputMeaning m;
    m.labels = {"a", "b", "c", "d", "e"};
    const auto top = top_classes({0.25, nan, 0.5, 0.25, 0.25, 0.75}, m, 0);
    std::vector<int> order;
    for (const ClassScore& score : top) order.push_back(score.index);
    EXPECT_EQ(order, (std::vector<int>{5, 2, 0, 3, 4, 1}));
    EXPECT_EQ(top[0].label, "class 5");
    EXPECT_EQ(top[1].label, "c");
    EXPECT_EQ(top_classes({1, 2, 3}, m, 2).size(), 2u);
    EXPECT_EQ(top_classes({1, 2, 3}, m, 9).size(), 3u);
    EXPECT_TRUE(top_classes({}, m, 5).empty());
}

TEST(Softmax, ShiftedSumsToOneKeepsNan) {
    const auto p = softmax({1000, 1001, 999});
    EXPECT_NEAR(p[0] + p[1] + p[2], 1, 1e-12);
    EXPECT_NEAR(p[1] / p[0], std::exp(1.0), 1e-9);
    EXPECT_TRUE(std::isnan(softmax({NAN, 1})[0]));
    EXPECT_TRUE(softmax({}).empty());
    EXPECT_TRUE(are_probabilities({0.25f, 0.75f}));
    EXPECT_FALSE(are_probabilities({0.25f, 0.8f}));
    EXPECT_FALSE(are_probabilities({1.5f, -0.5f}));
    EXPECT_FALSE(are_probabilities({NAN, 1.0f}));
}

struct Passed {
    std::shared_ptr<const network::Model> model;
    OutputMeaning meaning;
    std::unique_ptr<network::Executor> executor;
    Outputs outputs;
};

Passed pass(Context& context, const std::string& path, const input::FramePtr& frame, int side = 0) {
    Passed p;
    p.model = network::Model::load(path);
    p.meaning = read_output_meaning(*p.model);
    Dims wanted;
    for (const network::SymbolicDim& dim : p.model->inputs()[0].dims) wanted.push_back(dim.value);
    const auto fed = input::preprocess(*frame, input::parse_preprocessing(p.model->metadata()), wanted, side);
    network::ExecutorOptions options;
    options.mode = network::Mode::lean;
    options.input_dims[p.model->inputs()[0].name] = fed.dims;
    p.executor = std::make_unique<network::Executor>(context, p.model, options);
    p.executor->set_input(0, fed.nchw.data());
    p.executor->run();
    p.outputs = interpret_outputs(p.meaning, *p.executor, 0, fed);
    return p;
}

double sum_of_all(const Passed& p) {
    double sum = 0;
    input::NetworkInput nothing;
    for (const ClassScore& score : interpret_outputs(p.meaning, *p.executor, 0, nothing, 0).top)
        sum += score.score;
    return sum;
}

TEST(Outputs, PhotosOfTheBundledClassifier) {
    Context context;
    const auto cat = pass(context, assets + "models/efficientnet-lite0.onnx",
                          input::read_picture(assets + "photos/chelsea.jpg"));
    ASSERT_EQ(cat.outputs.top.size(), 5u);
    std::set<std::string> three;  // the first two are as good as equal
    for (std::size_t i = 0; i < 3; ++i) three.insert(cat.outputs.top[i].label);
    EXPECT_EQ(three, (std::set<std::string>{"Egyptian cat", "tabby", "tiger cat"}));
    EXPECT_NEAR(sum_of_all(cat), 1, 1e-3);  // the network's own softmax, not one more
    EXPECT_GT(cat.outputs.top[0].score, 0.1);
    const auto cup = pass(context, assets + "models/efficientnet-lite0.onnx",
                          input::read_picture(assets + "photos/coffee.jpg"));
    EXPECT_EQ(cup.outputs.top[0].label, "espresso");
}

// squeezenet ends in a softmax, densenet121 in plain scores.
TEST(Outputs, SoftmaxOnceWhereverItStands) {
    Context context;
    const auto ramp = input::make_pattern("gradient:64x48");
    for (const char* name : {"light_squeezenet", "light_densenet121"}) {
        const auto p = pass(context, std::string(CONVLENS_TEST_DATA) + "/light/" + name + ".onnx", ramp);
        ASSERT_EQ(p.outputs.top.size(), 5u) << name;
        EXPECT_NEAR(p.outputs.top[0].score, 0.001, 1e-5) << name;
        EXPECT_EQ(p.outputs.top[0].index, 0) << name;
        EXPECT_NEAR(sum_of_all(p), 1, 1e-3) << name;
        EXPECT_EQ(p.outputs.top[0].label, "class 0") << name;
    }
}

TEST(Outputs, PictureHeatMapAndWindowBox) {
    Context context;
    const auto photo = input::read_picture(assets + "photos/astronaut.jpg");
    const auto up = pass(context, assets + "models/upscale2x-photo.onnx", photo, 40);
    ASSERT_TRUE(up.outputs.picture);
    EXPECT_TRUE(up.outputs.top.empty());
    EXPECT_EQ(up.executor->tensors()[up.outputs.picture->tensor].desc.dims, (Dims{1, 3, 80, 80}));
    // The doubled picture looks like the picture: mean colour within a few levels.
    const auto rgb = picture_bytes(*up.executor, up.outputs.picture->tensor, 0, false);
    const input::FloatPicture small = input::resize(*photo, 40, 40);
    for (std::size_t c = 0; c < 3; ++c) {
        double got = 0, want = 0;
        for (std::size_t i = c; i < rgb.size(); i += 3) got += rgb[i];
        for (std::size_t i = c; i < small.rgb.size(); i += 3) want += small.rgb[i];
        EXPECT_NEAR(got / (80 * 80), want / (40 * 40), 4) << c;
    }

    const auto finder = pass(context, assets + "models/face-finder.onnx", photo);
    ASSERT_TRUE(finder.outputs.heat_map);
    EXPECT_EQ(finder.outputs.heat_map->channel, 1);
    EXPECT_EQ(finder.outputs.heat_map->window_width, 12);
    EXPECT_EQ(finder.outputs.heat_map->stride, 2);
    EXPECT_TRUE(finder.outputs.boxes.empty());

    // The face cut out by hand: the landmark network says where eyes, nose and mouth are.
    input::Frame crop;
    crop.width = 130;
    crop.height = 150;
    for (int y = 0; y < crop.height; ++y)
        for (int x = 0; x < 3 * crop.width; ++x)
            crop.rgb.push_back(photo->rgb[static_cast<std::size_t>(((y + 45) * photo->width + 160) * 3 + x)]);
    const auto marks =
        pass(context, assets + "models/face-landmarks.onnx", std::make_shared<input::Frame>(crop));
    ASSERT_EQ(marks.outputs.boxes.size(), 1u);
    const FoundBox& face = marks.outputs.boxes[0];
    EXPECT_GT(face.score, 0.95);
    ASSERT_EQ(face.points.size(), 5u);
    EXPECT_LT(face.points[0].first, face.points[1].first);    // left eye, right eye
    EXPECT_LT(face.points[0].second, face.points[2].second);  // eyes above the nose
    EXPECT_LT(face.points[2].second, face.points[3].second);  // the nose above the mouth
    for (const auto& [x, y] : face.points) {
        EXPECT_GT(x, 0);
        EXPECT_LT(x, crop.width);
        EXPECT_GT(y, 0);
        EXPECT_LT(y, crop.height);
    }
    EXPECT_EQ(marks.meaning.point_names.size(), 5u);
}

}  // namespace
}  // namespace convlens

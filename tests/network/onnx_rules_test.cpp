// Rules of ONNX operators that importers are known to get wrong, by the ids of tests/data/bugcases.jsonl.
#include <filesystem>
#include <fstream>

#include "tests/network/onnx_builder.h"

namespace convlens::network::testing {
namespace {

Result one(const std::string& op, int opset, const Ints& dims, const Floats& x,
           const std::function<void(onnx::NodeProto&)>& change = {}, Mode mode = Mode::explore) {
    Builder b(opset);
    b.input("X", dims);
    auto& node = b.node(op, {"X"}, {"Y"});
    if (change) change(node);
    b.output("Y");
    return run(b.bytes(), {x}, mode).at(0);
}

TEST(OnnxRules, CT_01_TransposedAutoPad) {
    for (const bool upper : {true, false}) {
        Builder b(11);
        b.input("X", {1, 1, 1, 2}).weights("W", {1, 1, 1, 3}, {1, 10, 100}).output("Y");
        auto& n = b.node("ConvTranspose", {"X", "W"}, {"Y"});
        set(set(n, "strides", Ints{1, 2}), "auto_pad", upper ? "SAME_UPPER" : "SAME_LOWER");
        expect_values(run(b.bytes(), {{1, 2}}).at(0), {1, 1, 1, 4},
                      upper ? Floats{1, 10, 102, 20} : Floats{10, 102, 20, 200});
    }
}

TEST(OnnxRules, CT_03_TransposedOutputShape) {
    Builder b(11);
    b.input("X", {1, 1, 2}).weights("W", {1, 1, 3}, {1, 10, 100}).output("Y");
    set(set(b.node("ConvTranspose", {"X", "W"}, {"Y"}), "strides", Ints{2}), "output_shape", Ints{3});
    expect_values(run(b.bytes(), {{1, 2}}).at(0), {1, 1, 3}, {10, 102, 20});
}

TEST(OnnxRules, BN_06_InferenceIsTheDefault) {
    const auto model = [](bool training, bool extra) {
        Builder b(15);
        b.input("X", {2, 1, 1, 1})
            .weights("s", {1}, {1})
            .weights("b", {1}, {0})
            .weights("m", {1}, {1})
            .weights("v", {1}, {4});
        auto& n = b.node("BatchNormalization", {"X", "s", "b", "m", "v"}, {"Y"});
        if (extra) n.add_output("M");
        set(n, "epsilon", 0.0f);
        if (training) set(n, "training_mode", 1);
        b.output("Y");
        return b;
    };
    expect_values(run(model(false, false).bytes(), {{2, 4}}).at(0), {2, 1, 1, 1}, {0.5f, 1.5f});
    EXPECT_NE(refusal(model(true, false)).find("training_mode"), std::string::npos);
    EXPECT_NE(refusal(model(false, true)).find("further outputs"), std::string::npos);
}

TEST(OnnxRules, ONNX_01_SoftmaxBeforeAndSince13) {
    const Floats x{0, std::log(2.0f), std::log(3.0f), std::log(4.0f)};
    expect_values(one("Softmax", 11, {1, 2, 2}, x), {1, 2, 2}, {0.1f, 0.2f, 0.3f, 0.4f});
    expect_values(one("Softmax", 13, {1, 2, 2}, x), {1, 2, 2}, {1.0f / 3, 2.0f / 3, 3.0f / 7, 4.0f / 7});
}

TEST(OnnxRules, ONNX_02_InitializersAndInputs) {
    for (const bool listed : {true, false}) {
        Builder b(listed ? 8 : 13, listed ? 3 : 8);
        b.input("X", {1, 1, 3, 3}).weights("W", {1, 1, 3, 3}, Floats(9, 1)).output("Y");
        if (listed) b.input("W", {1, 1, 3, 3});
        b.node("Conv", {"X", "W"}, {"Y"});
        const auto model = Model::parse(b.bytes(), "");
        ASSERT_EQ(model->inputs().size(), 1u);
        EXPECT_EQ(model->inputs()[0].name, "X");
        expect_values(run(b.bytes(), {Floats(9, 1)}).at(0), {1, 1, 1, 1}, {9});
    }
    // Weights without a value can't be asked from the user.
    Builder b(13);
    b.input("X", {1, 1, 3, 3}).input("W", {1, 1, 3, 3}).output("Y");
    b.node("Conv", {"X", "W"}, {"Y"});
    EXPECT_NE(refusal(b).find("must be constant"), std::string::npos);
}

TEST(OnnxRules, ONNX_04_ReshapeZerosAndMinusOne) {
    const auto reshape = [](const Ints& dims, const Ints& spec, int allow_zero) {
        Builder b(14);
        b.input("X", dims).integers("s", {static_cast<std::int64_t>(spec.size())}, spec).output("Y");
        set(b.node("Reshape", {"X", "s"}, {"Y"}), "allowzero", allow_zero);
        return run(b.bytes(), {}).at(0).dims;
    };
    EXPECT_EQ(reshape({2, 3, 4}, {0, -1, 2}, 0), (Dims{2, 6, 2}));
    EXPECT_EQ(reshape({2, 3, 4}, {0, -1}, 0), (Dims{2, 12}));
    EXPECT_EQ(reshape({3, 2, 5, 2}, {-1, 0, 0}, 0), (Dims{6, 2, 5}));
    EXPECT_EQ(reshape({0, 3}, {3, 0}, 1), (Dims{3, 0}));
    refusal([&] { reshape({2, 3, 4}, {-1, -1}, 0); });
    refusal([&] { reshape({2, 3, 4}, {0, -1}, 1); });
    refusal([&] { reshape({2, 3, 4}, {2, 3, 4, 0}, 0); });
}

TEST(OnnxRules, ONNX_05_FlattenAxis) {
    const auto flatten = [](std::int64_t axis) {
        return one("Flatten", 13, {2, 3, 4}, Floats(24, 1), [&](auto& n) { set(n, "axis", axis); }).dims;
    };
    EXPECT_EQ(flatten(0), (Dims{1, 24}));
    EXPECT_EQ(flatten(1), (Dims{2, 12}));
    EXPECT_EQ(flatten(3), (Dims{24, 1}));
    EXPECT_EQ(flatten(-1), (Dims{6, 4}));
    EXPECT_EQ(flatten(-3), (Dims{1, 24}));
    refusal([&] { flatten(4); });
    refusal([&] { flatten(-4); });
}

ConstantPtr output_constant(const Builder& b) {
    const auto model = Model::parse(b.bytes(), "");
    return model->graph().values[static_cast<std::size_t>(model->graph().outputs.at(0))].constant;
}

TEST(OnnxRules, ONNX_07_ConstantOfShapeDefaults) {
    const auto make = [](const Ints& shape, bool sevens) {
        Builder b(9);
        b.integers("s", {static_cast<std::int64_t>(shape.size())}, shape).output("Y");
        auto& n = b.node("ConstantOfShape", {"s"}, {"Y"});
        if (sevens)
            Builder::fill(*attribute(n, "value", onnx::AttributeProto::TENSOR).mutable_t(), "v", {1},
                          Ints{7});
        return output_constant(b);
    };
    EXPECT_EQ(make({2, 3}, false)->dims, (Dims{2, 3}));
    EXPECT_EQ(make({2, 3}, false)->expanded(), Floats(6, 0.0f));
    EXPECT_EQ(make({}, false)->dims.rank(), 0);
    EXPECT_EQ(make({0, 3}, false)->elements(), 0);
    const auto sevens = make({2, 2}, true);
    EXPECT_FALSE(sevens->is_real());
    EXPECT_EQ(sevens->expanded(), Floats(4, 7.0f));
}

TEST(OnnxRules, ONNX_08_AllFormsOfConstant) {
    Builder b(12);
    b.input("X", {8}).output("Y");
    set(b.node("Constant", {}, {"s"}), "value_ints", Ints{4, 2});
    b.node("Reshape", {"X", "s"}, {"Y"});
    EXPECT_EQ(run(b.bytes(), {Floats(8, 1)}).at(0).dims, (Dims{4, 2}));
    const auto form = [](const std::function<void(onnx::NodeProto&)>& change) {
        Builder c(12);
        change(c.node("Constant", {}, {"Y"}));
        c.output("Y");
        return output_constant(c);
    };
    EXPECT_EQ(form([](auto& n) { set(n, "value_int", 5); })->dims.rank(), 0);
    EXPECT_EQ(form([](auto& n) { set(n, "value_float", 0.5f); })->real(0), 0.5f);
    const auto list = form([](auto& n) {
        auto& a = attribute(n, "value_floats", onnx::AttributeProto::FLOATS);
        a.add_floats(1);
        a.add_floats(2);
    });
    EXPECT_EQ(list->dims, Dims{2});
}

TEST(OnnxRules, ONNX_10_DropoutIsIdentity) {
    expect_values(one("Dropout", 7, {3}, {1, 2, 3}, [](auto& n) { set(n, "ratio", 0.9f); }), {3}, {1, 2, 3});
    Builder b(13);
    b.input("X", {3}).weights("ratio", {}, {0.9f}).output("Y").output("mask");
    b.node("Dropout", {"X", "ratio"}, {"Y", "mask"});
    const auto results = run(b.bytes(), {{1, 2, 3}});
    expect_values(results.at(0), {3}, {1, 2, 3});
    expect_values(results.at(1), {3}, {1, 1, 1});
    Builder training(13);
    training.input("X", {3}).weights("ratio", {}, {0.9f}).integers("on", {}, {1}).output("Y");
    training.node("Dropout", {"X", "ratio", "on"}, {"Y"});
    EXPECT_NE(refusal(training).find("training_mode"), std::string::npos);
}

TEST(OnnxRules, ONNX_12_ResizeNearestTies) {
    const auto resize = [](const Floats& x, float scale, const char* transform, const char* rounding) {
        Builder b(13);
        b.input("X", {1, 1, 1, static_cast<std::int64_t>(x.size())})
            .weights("s", {4}, {1, 1, 1, scale})
            .output("Y");
        auto& n = b.node("Resize", {"X", "", "s"}, {"Y"});
        set(set(n, "coordinate_transformation_mode", transform), "nearest_mode", rounding);
        return run(b.bytes(), {x}).at(0).values;
    };
    const Floats x{10, 20, 30, 40};
    EXPECT_EQ(resize(x, 0.5f, "half_pixel", "round_prefer_floor"), (Floats{10, 30}));
    EXPECT_EQ(resize(x, 0.5f, "half_pixel", "round_prefer_ceil"), (Floats{20, 40}));
    EXPECT_EQ(resize(x, 0.5f, "half_pixel", "floor"), (Floats{10, 30}));
    EXPECT_EQ(resize(x, 0.5f, "half_pixel", "ceil"), (Floats{20, 40}));
    EXPECT_EQ(resize({1, 2}, 3, "asymmetric", "floor"), (Floats{1, 1, 1, 2, 2, 2}));
    // 1 1 2 2 2 2 is neither a repetition nor a slice: refused with the reason, never wrong.
    EXPECT_NE(refusal([&] {
                  resize({1, 2}, 3, "asymmetric", "round_prefer_floor");
              }).find("repeats each element"),
              std::string::npos);
}

TEST(OnnxRules, ONNX_14_PReluSlopeIsBroadcastFromTheLastAxis) {
    const auto prelu = [](const Ints& slope_dims) {
        Builder b(16);
        b.input("X", {1, 2, 1, 2}).weights("S", slope_dims, {0.1f, 10}).output("Y");
        b.node("PRelu", {"X", "S"}, {"Y"});
        return run(b.bytes(), {Floats(4, -1)}).at(0);
    };
    expect_values(prelu({2}), {1, 2, 1, 2}, {-0.1f, -10, -0.1f, -10});
    expect_values(prelu({2, 1, 1}), {1, 2, 1, 2}, {-0.1f, -0.1f, -10, -10});
}

TEST(OnnxRules, ONNX_15_HalfPrecisionData) {
    for (const bool raw : {true, false}) {
        Builder b(13);
        auto& t = *b.model.mutable_graph()->add_initializer();
        t.set_name("H");
        t.set_data_type(onnx::TensorProto::FLOAT16);
        t.add_dims(3);
        if (raw)
            t.set_raw_data(std::string("\x00\x42\x00\xBC\x00\x34", 6));
        else
            for (const int v : {16896, 48128, 13312}) t.add_int32_data(v);
        set(b.node("Cast", {"H"}, {"Y"}), "to", 1);
        b.output("Y");
        EXPECT_EQ(output_constant(b)->expanded(), (Floats{3, -1, 0.25f}));
    }
}

TEST(OnnxRules, ONNX_16_PayloadMustFitItsDims) {
    const auto with = [](const std::function<void(onnx::TensorProto&)>& change) {
        Builder b(13);
        b.input("X", {1}).output("Y");
        auto& t = *b.model.mutable_graph()->add_initializer();
        t.set_name("weights_of_this_case");
        t.set_data_type(onnx::TensorProto::FLOAT);
        change(t);
        b.node("Add", {"X", "weights_of_this_case"}, {"Y"});
        return b;
    };
    const std::string four(4, '\0');
    for (const auto& change : std::vector<std::function<void(onnx::TensorProto&)>>{
             [&](auto& t) { t.add_dims(1000000), t.set_raw_data(four); },
             [&](auto& t) {
                 t.set_data_type(onnx::TensorProto::INT64), t.add_dims(1),
                     t.set_raw_data(std::string(4096, 'x'));
             },
             [&](auto& t) { t.add_dims(2), t.add_float_data(1), t.add_float_data(1), t.add_float_data(1); },
             [&](auto& t) { t.add_dims(1), t.add_float_data(1), t.set_raw_data(four); },
             [&](auto& t) { t.add_dims(-1); }, [&](auto& t) { t.add_dims(INT64_MAX), t.add_dims(4); }})
        EXPECT_NE(refusal(with(change)).find("weights_of_this_case"), std::string::npos);
    expect_values(run(with([&](auto& t) { t.set_raw_data(four); }).bytes(), {{5}}).at(0), {1}, {5});
}

TEST(OnnxRules, ONNX_18_ExternalDataStaysInTheFolder) {
    namespace fs = std::filesystem;
    const fs::path root = fs::path(::testing::TempDir()) / "convlens_external";
    fs::remove_all(root);
    fs::create_directories(root / "model");
    const auto write = [](const fs::path& file, std::size_t bytes) {
        std::ofstream(file, std::ios::binary) << std::string(bytes, '\0');
    };
    write(root / "secret.bin", 16);
    write(root / "model" / "good.bin", 20);
    fs::create_symlink(root / "secret.bin", root / "model" / "link.bin");
    const auto load = [&](const std::string& location, const std::string& offset, const std::string& length,
                          bool as_file) {
        Builder b(13);
        b.input("X", {4}).output("Y");
        auto& t = *b.model.mutable_graph()->add_initializer();
        t.set_name("W");
        t.set_data_type(onnx::TensorProto::FLOAT);
        t.add_dims(4);
        t.set_data_location(onnx::TensorProto::EXTERNAL);
        for (const auto& [key, value] :
             {std::pair("location", location), std::pair("offset", offset), std::pair("length", length)}) {
            if (value.empty()) continue;
            auto& entry = *t.add_external_data();
            entry.set_key(key);
            entry.set_value(value);
        }
        b.node("Add", {"X", "W"}, {"Y"});
        return Model::parse(b.bytes(), as_file ? (root / "model" / "m.onnx").string() : "");
    };
    EXPECT_NO_THROW(load("good.bin", "4", "", true));
    EXPECT_NO_THROW(load("good.bin", "4", "16", true));
    for (const char* place :
         {"../secret.bin", "/etc/hostname", "a/../../secret.bin", "link.bin", "missing.bin", "."})
        EXPECT_NE(refusal([&] { load(place, "", "", true); }).find("'W'"), std::string::npos) << place;
    for (const auto& [offset, length] : {std::pair("8", "16"), std::pair("0", "12"), std::pair("-1", "16"),
                                         std::pair("99999999999999999999", "16"), std::pair("21", "")})
        refusal([&, o = offset, n = length] { load("good.bin", o, n, true); });
    EXPECT_NE(refusal([&] { load("good.bin", "4", "16", false); }).find("without a folder"),
              std::string::npos);
    fs::remove_all(root);
}

TEST(OnnxRules, ONNX_19_ConvolutionAttributesMustFit) {
    const auto convolution = [](const Ints& x, const Ints& w,
                                const std::function<void(onnx::NodeProto&)>& change) {
        Builder b(13);
        std::int64_t count = 1;
        for (const auto d : w) count *= d;
        b.input("X", x).weights("W", w, Floats(static_cast<std::size_t>(count), 1)).output("Y");
        auto& n = b.node("Conv", {"X", "W"}, {"Y"});
        if (change) change(n);
        return b;
    };
    const auto expect = [&](const Builder& b, const char* text) {
        const std::string message = refusal(b);
        EXPECT_NE(message.find(text), std::string::npos) << message;
        EXPECT_NE(message.find("the_node1 (Conv)"), std::string::npos) << message;
    };
    expect(convolution({1, 1, 4, 4}, {1, 1, 3, 3, 3}, {}), "differ in their axes");
    expect(convolution({1, 1, 4, 4}, {1, 1, 3, 3}, [](auto& n) { set(n, "strides", Ints{1}); }), "strides");
    expect(convolution({1, 1, 4, 4}, {1, 1, 3, 3}, [](auto& n) { set(n, "pads", Ints{1, 1, 1}); }), "pads");
    expect(convolution({1, 1, 4, 4}, {1, 1, 3, 3},
                       [](auto& n) {
                           set(n, "strides", Ints{0, 1});
                       }),
           "strides");
    expect(convolution({1, 1, 4, 4}, {1, 1, 3, 3},
                       [](auto& n) {
                           set(n, "dilations", Ints{INT64_MAX, 1});
                       }),
           "dilations");
    expect(convolution({1, 1, 4, 4}, {1, 1, 3, 3}, [](auto& n) { set(n, "group", 0); }), "group 0");
    expect(convolution({1, 4, 4, 4}, {3, 4, 3, 3}, [](auto& n) { set(n, "group", 3); }), "group 3");
    expect(convolution({1, 1, 4, 4}, {1, 1, 3, 3},
                       [](auto& n) {
                           set(n, "kernel_shape", Ints{2, 3});
                       }),
           "kernel_shape");
    expect(convolution({1, 1, 2, 2}, {1, 1, 3, 3}, {}), "larger than its padded data");
}

TEST(OnnxRules, POOL_01_CeilModeDropsWindowsBeyondTheInput) {
    Floats x(42);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
    const Result y = one("MaxPool", 13, {1, 1, 6, 7}, x, [](auto& n) {
        set(set(set(n, "kernel_shape", Ints{1, 1}), "strides", Ints{2, 2}), "ceil_mode", 1);
    });
    expect_values(y, {1, 1, 3, 4}, {1, 3, 5, 7, 15, 17, 19, 21, 29, 31, 33, 35});
}

}  // namespace
}  // namespace convlens::network::testing

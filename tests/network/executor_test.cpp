// The executor: layouts, fusion, memory, sizes, algorithms, refusals that leave everything as it was.
#include <algorithm>
#include <random>
#include <set>

#include "tests/network/onnx_builder.h"

namespace convlens::network::testing {
namespace {

Floats numbers(std::size_t count, unsigned seed, float centre = 0.0f) {
    std::mt19937 generator(seed);
    Floats values(count);
    for (float& x : values) x = centre + static_cast<float>(generator() % 2001) / 1000.0f - 1.0f;
    return values;
}

// Conv -> BN -> Mul -> Add -> Relu -> Conv, + skip, -> Relu; swish by Sigmoid and Mul; pooled, flattened,
// Gemm.
Builder small_network(const Ints& input) {
    Builder b(13);
    b.input("X", input);
    b.weights("w1", {6, 3, 3, 3}, numbers(162, 1)).weights("b1", {6}, numbers(6, 2));
    b.weights("s", {6}, numbers(6, 3, 1.5f))
        .weights("B", {6}, numbers(6, 4))
        .weights("m", {6}, numbers(6, 5))
        .weights("v", {6}, numbers(6, 6, 1.5f));
    b.weights("mul", {6, 1, 1}, numbers(6, 7)).weights("add", {1, 6, 1, 1}, numbers(6, 8));
    b.weights("w2", {6, 1, 3, 3}, numbers(54, 9)).weights("w3", {4, 6, 1, 1}, numbers(24, 10));
    set(b.node("Conv", {"X", "w1", "b1"}, {"c1"}), "pads", Ints{1, 1, 1, 1});
    b.node("BatchNormalization", {"c1", "s", "B", "m", "v"}, {"n1"});
    b.node("Mul", {"n1", "mul"}, {"n2"});
    b.node("Add", {"n2", "add"}, {"n3"});
    b.node("Relu", {"n3"}, {"r1"});
    set(set(b.node("Conv", {"r1", "w2"}, {"c2"}), "group", 6), "pads", Ints{1, 1, 1, 1});
    b.node("Add", {"c2", "r1"}, {"sum"});
    b.node("Relu", {"sum"}, {"r2"});
    b.node("Conv", {"r2", "w3"}, {"c3"});
    b.node("Sigmoid", {"c3"}, {"gate"});
    b.node("Mul", {"c3", "gate"}, {"swish"});
    return b;
}

Builder classifier() {
    Builder b = small_network({1, 3, 5, 7});
    set(set(b.node("MaxPool", {"swish"}, {"p"}), "kernel_shape", Ints{2, 3}), "strides", Ints{2, 2});
    b.node("Flatten", {"p"}, {"f"});
    b.weights("g", {24, 5}, numbers(120, 11)).weights("gb", {5}, numbers(5, 12));
    b.node("Gemm", {"f", "g", "gb"}, {"y"});
    return b.output("y");
}

void expect_close(const Floats& a, const Floats& b) {
    ASSERT_EQ(a.size(), b.size());
    float largest = 0;
    for (const float x : a) largest = std::max(largest, std::fabs(x));
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4f * largest) << "element " << i;
}

TEST(Executor, LeanFusesAndAgreesWithExplore) {
    const std::string bytes = classifier().bytes();
    const Floats x = numbers(105, 20);
    expect_close(run(bytes, {x}, Mode::explore).at(0).values, run(bytes, {x}, Mode::lean).at(0).values);
    ExecutorOptions options;
    options.mode = Mode::lean;
    const auto model = Model::parse(bytes, "");
    Executor lean(context(), model, options);
    options.mode = Mode::explore;
    Executor explore(context(), model, options);
    EXPECT_EQ(explore.layers().size(),
              14u);  // 13 nodes but Flatten, which is a copy into another layout here
    EXPECT_EQ(lean.layers().size(), 6u);
    EXPECT_EQ(lean.layers()[0].fused.size(), 4u);
    EXPECT_EQ(lean.layers()[1].summary, "3×3, 6 groups, + residual, ReLU");
    EXPECT_EQ(lean.layers()[1].category, "depthwise");
    EXPECT_EQ(lean.layers()[2].summary, "1×1, swish");
    EXPECT_LT(lean.memory().activations_bytes, explore.memory().activations_bytes);
}

TEST(Executor, ExploreKeepsEveryTensor) {
    Executor executor(context(), Model::parse(classifier().bytes(), ""), {});
    executor.set_input(0, numbers(105, 20).data());
    std::map<int, Floats> seen;
    PassObserver observer;
    observer.after = [&](int layer) {
        const int output = executor.layers()[static_cast<std::size_t>(layer)].outputs[0];
        seen[output] = executor.copy(output);
    };
    executor.run(0, &observer);
    std::set<std::string> names;
    for (const auto& [tensor, values] : seen) {
        EXPECT_TRUE(executor.tensors()[static_cast<std::size_t>(tensor)].kept);
        EXPECT_EQ(executor.copy(tensor), values);
        names.insert(executor.tensors()[static_cast<std::size_t>(tensor)].name);
    }
    for (const char* name :
         {"c1", "n1", "n2", "n3", "r1", "c2", "sum", "r2", "c3", "gate", "swish", "p", "f", "y"})
        EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Executor, LeanMarksWhatIsOverwrittenAndKeepsPinnedTensors) {
    ExecutorOptions options;
    options.mode = Mode::lean;
    options.pinned = {"r1"};
    Executor executor(context(), Model::parse(classifier().bytes(), ""), options);
    executor.set_input(0, numbers(105, 20).data());
    std::map<int, Floats> seen;
    PassObserver observer;
    observer.after = [&](int layer) {
        const int output = executor.layers()[static_cast<std::size_t>(layer)].outputs[0];
        seen[output] = executor.copy(output);
    };
    executor.run(0, &observer);
    bool pinned = false;
    for (const auto& [tensor, values] : seen) {
        const Tensor& t = executor.tensors()[static_cast<std::size_t>(tensor)];
        if (t.kept) {
            EXPECT_EQ(executor.copy(tensor), values) << t.name;
        }
        pinned = pinned || (t.name == "r1" && t.kept);
    }
    EXPECT_TRUE(pinned);
}

TEST(Executor, LayersAndTensorsHaveNamesOfTheirOwn) {
    // Sum makes layers "s", "s/1", ... and tensors of such names; other nodes and values claim them too.
    Builder b(13);
    b.input("X", {1, 2, 3, 4}).output("y");
    b.node("Sum", {"X", "X", "X", "X"}, {"s/1"}).set_name("s");
    b.node("Relu", {"s/1"}, {"s/2"}).set_name("s/1");
    b.node("Sum", {"s/2", "X", "X"}, {"s/2#2"}).set_name("s");
    b.node("Relu", {"s/2#2"}, {"y"}).set_name("s/2");
    const auto model = Model::parse(b.bytes(), "");
    for (const Mode mode : {Mode::explore, Mode::lean}) {
        ExecutorOptions options;
        options.mode = mode;
        Executor executor(context(), model, options);
        std::set<std::string> layers, tensors;
        for (const Layer& layer : executor.layers())
            EXPECT_TRUE(layers.insert(layer.name).second) << layer.name;
        for (const Tensor& tensor : executor.tensors())
            EXPECT_TRUE(tensors.insert(tensor.name).second) << tensor.name;
        EXPECT_TRUE(tensors.contains("y"));
    }
}

TEST(Executor, ReshapesAndTransposesKeepLogicalOrder) {
    // Channel shuffle of 2 groups of 3 and a slice, after a convolution whose result lies channels-last.
    Builder b(13);
    Floats identity(36, 0);
    for (std::size_t i = 0; i < 6; ++i) identity[i * 7] = 1;
    b.input("X", {1, 6, 2, 3}).weights("w", {6, 6, 1, 1}, identity);
    b.integers("s1", {5}, {1, 2, 3, 2, 3}).integers("s2", {4}, {1, 6, 2, 3});
    b.integers("start", {1}, {-1})
        .integers("end", {1}, {-100})
        .integers("axis", {1}, {1})
        .integers("step", {1}, {-2});
    b.node("Conv", {"X", "w"}, {"c"});
    b.node("Reshape", {"c", "s1"}, {"r"});
    set(b.node("Transpose", {"r"}, {"t"}), "perm", Ints{0, 2, 1, 3, 4});
    b.node("Reshape", {"t", "s2"}, {"shuffled"});
    b.node("Slice", {"shuffled", "start", "end", "axis", "step"}, {"y"});
    b.node("Conv", {"shuffled", "w"}, {"z"});
    b.output("y").output("z").output("t");
    Floats x(36);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    for (const Mode mode : {Mode::explore, Mode::lean}) {
        const auto results = run(b.bytes(), {x}, mode);
        const std::size_t order[] = {0, 3, 1, 4, 2, 5};
        Floats shuffled, sliced;
        for (const std::size_t c : order)
            for (std::size_t i = 0; i < 6; ++i) shuffled.push_back(x[c * 6 + i]);
        for (const std::size_t c : {5, 3, 1})
            for (std::size_t i = 0; i < 6; ++i) sliced.push_back(shuffled[c * 6 + i]);
        expect_values(results.at(0), {1, 3, 2, 3}, sliced);
        expect_values(results.at(1), {1, 6, 2, 3}, shuffled);
        expect_values(results.at(2), {1, 3, 2, 2, 3}, shuffled);
    }
}

TEST(Executor, ShapeComputationsAreFoldedPerSize) {
    // Flatten as exporters write it: Shape, Gather, Unsqueeze, Concat, Reshape.
    Builder b(13);
    b.input("X", {-1, 2, -1, -1})
        .integers("zero", {}, {0})
        .integers("axes", {1}, {0})
        .integers("rest", {1}, {-1});
    b.node("Relu", {"X"}, {"r"});
    b.node("Shape", {"r"}, {"shape"});
    b.node("Gather", {"shape", "zero"}, {"n"});
    b.node("Unsqueeze", {"n", "axes"}, {"n1"});
    set(b.node("Concat", {"n1", "rest"}, {"spec"}), "axis", 0);
    b.node("Reshape", {"r", "spec"}, {"y"});
    b.output("y");
    for (const Dims& dims : {Dims{1, 2, 3, 4}, Dims{3, 2, 2, 5}}) {
        const Floats x = numbers(static_cast<std::size_t>(dims.product()), 3, 2.0f);
        const auto y = run(b.bytes(), {x}, Mode::explore, {{"X", dims}}).at(0);
        expect_values(y, {dims[0], dims.product() / dims[0]}, x);
    }
}

TEST(Executor, SizesAreChecked) {
    Builder b(13);
    b.input("X", {1, 3, -1, -1}).output("y");
    b.node("Relu", {"X"}, {"y"});
    const std::string bytes = b.bytes();
    const auto with = [&](const std::map<std::string, Dims>& dims) {
        return refusal([&] { (void)run(bytes, {}, Mode::explore, dims); });
    };
    EXPECT_NE(with({{"X", {1, 4, 5, 6}}}).find("fixed to 3"), std::string::npos);
    EXPECT_NE(with({{"X", {1, 3, 5}}}).find("4 axes"), std::string::npos);
    EXPECT_NE(with({{"Z", {1, 3, 5, 6}}}).find("no input of the name Z"), std::string::npos);
    EXPECT_NE(with({{"X", {1, 3, 1 << 20, 1 << 20}}}).find("smaller size"), std::string::npos);
    const auto y = run(bytes, {}, Mode::explore, {}).at(0);
    EXPECT_EQ(y.dims, (Dims{1, 3, 224, 224}));
}

TEST(Executor, AlgorithmsCanBeNamedAndSwitched) {
    const auto model = Model::parse(classifier().bytes(), "");
    ExecutorOptions options;
    options.algorithms["the_node1"] = "direct";
    Executor executor(context(), model, options);
    const Floats x = numbers(105, 21);
    executor.set_input(0, x.data());
    executor.run();
    EXPECT_EQ(executor.layers()[0].plan.algorithm, "direct");
    const Floats before = executor.copy(executor.output_tensors()[0]);
    int switched = 0;
    for (const Candidate& row : executor.layer_candidates(0)) {
        if (!row.applicable) {
            EXPECT_FALSE(row.reason.empty());
            EXPECT_THROW(executor.set_algorithm(0, row.algorithm), Error);
            continue;
        }
        executor.set_algorithm(0, row.algorithm);
        EXPECT_EQ(executor.layers()[0].plan.algorithm, row.algorithm);
        executor.run();
        expect_close(before, executor.copy(executor.output_tensors()[0]));
        const auto error = executor.layer_error(0, 0);
        ASSERT_TRUE(error.has_value());
        EXPECT_LT(*error, 1e-3);
        ++switched;
    }
    EXPECT_GT(switched, 1);
    const std::string last = executor.layers()[0].plan.algorithm;
    EXPECT_THROW(executor.set_algorithm(0, "nonsense"), Error);
    EXPECT_EQ(executor.layers()[0].plan.algorithm, last);
    FindOptions find;
    find.samples = 1;
    find.budget_ms = 50;
    const auto rows = executor.measure_layer(0, 0, find);
    EXPECT_EQ(rows.size(), executor.layer_candidates(0).size());
    for (const auto& [layer, name, text] :
         {std::tuple("nobody", "direct", "no layer of the name nobody"),
          std::tuple("*", "nonsense", "nonsense"), std::tuple("the_node1", "depthwise", "depthwise")}) {
        ExecutorOptions wrong;
        wrong.algorithms[layer] = name;
        const std::string message = refusal([&] { Executor(context(), model, wrong); });
        EXPECT_NE(message.find(text), std::string::npos) << message;
    }
    ExecutorOptions everywhere;
    everywhere.algorithms["*"] = "im2col_gemm";
    EXPECT_EQ(Executor(context(), model, everywhere).layers()[0].plan.algorithm, "im2col_gemm");
}

// An allocator of small blocks that counts what it hands out.
class SmallBlocks : public Allocator {
  public:
    Block allocate(std::size_t bytes, const char* label) override {
        EXPECT_LE(bytes, largest_block());
        ++blocks;
        return host_allocator()->allocate(bytes, label);
    }
    void release(const Block& block) noexcept override {
        --blocks;
        host_allocator()->release(block);
    }
    std::size_t largest_block() const override { return 4096; }
    const char* name() const override { return "small blocks"; }
    int blocks = 0;
};

TEST(Executor, ArenasOfSeveralBlocks) {
    const auto model = Model::parse(classifier().bytes(), "");
    const Floats x = numbers(105, 22);
    const Floats expected = run(classifier().bytes(), {x}).at(0).values;
    for (const Mode mode : {Mode::explore, Mode::lean}) {
        const auto allocator = std::make_shared<SmallBlocks>();
        {
            ExecutorOptions options;
            options.mode = mode;
            options.arenas = 2;
            options.allocator = allocator;
            Executor executor(context(), model, options);
            EXPECT_EQ(allocator->blocks % 2, 0);
            executor.set_input(0, x.data(), 1);
            executor.run(1);
            expect_close(expected, executor.copy(executor.output_tensors()[0], 1));
            for (const Tensor& t : executor.tensors()) EXPECT_LE(t.offset + t.bytes, 4096u);
        }
        EXPECT_EQ(allocator->blocks, 0);
    }
}

TEST(Executor, UnsupportedOperatorsAreNamedWithTheRemedy) {
    Builder b(13);
    b.input("X", {1, 3}).output("y");
    b.node("TopK", {"X"}, {"y"}, "top");
    const std::string message = refusal([&] { (void)Model::parse(b.bytes(), "folder/odd.onnx"); });
    EXPECT_NE(message.find("folder/odd.onnx"), std::string::npos) << message;
    EXPECT_NE(message.find("top1 (TopK)"), std::string::npos) << message;
    Builder integer(13);
    integer.input("X", {1, 3}, onnx::TensorProto::INT64).output("y");
    integer.node("Relu", {"X"}, {"y"});
    EXPECT_NE(refusal(integer).find("i64"), std::string::npos);
}

}  // namespace
}  // namespace convlens::network::testing

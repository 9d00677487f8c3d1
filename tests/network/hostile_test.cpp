// Hostile files: whatever the bytes, the answer is a model or an Error, in bounded time and memory (ONNX-21).
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/network/onnx_builder.h"

namespace convlens::network::testing {
namespace {

Builder tiny() {
    Builder b(13);
    b.input("X", {1, 2, -1, 5})
        .weights("W", {3, 2, 2, 2}, Floats(24, 0.5f))
        .integers("s", {2}, {1, -1})
        .output("y");
    set(set(b.node("Conv", {"X", "W"}, {"c"}), "strides", Ints{1, 2}), "pads", Ints{0, 1, 1, 0});
    b.node("Relu", {"c"}, {"r"});
    set(b.node("AveragePool", {"r"}, {"p"}), "kernel_shape", Ints{2, 2});
    b.node("Reshape", {"p", "s"}, {"f"});
    b.node("Softmax", {"f"}, {"y"});
    return b;
}

// Loads, plans and, where the network is small, runs; only Error may come out.
bool survives(const std::string& bytes, double most_work = 1e7) {
    try {
        const auto model = Model::parse(bytes, "");
        for (const Mode mode : {Mode::explore, Mode::lean}) {
            ExecutorOptions options;
            options.mode = mode;
            options.default_side = 12;
            Executor executor(context(), model, options);
            double work = 0;
            for (const Layer& layer : executor.layers())
                work += layer.plan.work.flops + layer.plan.work.bytes;
            if (work > most_work) continue;
            std::vector<std::vector<float>> inputs;
            for (std::size_t i = 0; i < model->inputs().size(); ++i) {
                const auto tensor = static_cast<std::size_t>(executor.input_tensors()[i]);
                const std::vector<float> x(
                    static_cast<std::size_t>(executor.tensors()[tensor].desc.elements()), 0.5f);
                if (!x.empty()) executor.set_input(static_cast<int>(i), x.data());
            }
            executor.run();
        }
        return true;
    } catch (const Error&) {
        return false;
    }
}

// A node may read, in any way, an output that its maker does not compute here.
TEST(HostileModels, ReadersOfOutputsThatAreNotComputed) {
    for (const char* reader :
         {"Shape", "Size", "Relu", "Identity", "Flatten", "Cast", "Softmax", "Dropout"}) {
        Builder b(13);
        b.input("X", {1, 2, 4, 5}).output("y").output("p");
        set(b.node("MaxPool", {"X"}, {"p", "indices"}), "kernel_shape", Ints{2, 2});
        auto& node = b.node(reader, {"indices"}, {"y"});
        if (std::string(reader) == "Cast") set(node, "to", std::int64_t{onnx::TensorProto::FLOAT});
        EXPECT_FALSE(survives(b.bytes())) << reader;
    }
    Builder b(13);
    b.input("X", {1, 2, 4, 5}).output("indices").output("p");
    set(b.node("MaxPool", {"X"}, {"p", "indices"}), "kernel_shape", Ints{2, 2});
    EXPECT_FALSE(survives(b.bytes()));
}

TEST(HostileModels, ONNX_21_EveryPrefix) {
    const std::string bytes = tiny().bytes();
    ASSERT_TRUE(survives(bytes));
    EXPECT_FALSE(survives(""));
    for (std::size_t length = 0; length < bytes.size(); ++length) survives(bytes.substr(0, length));
}

TEST(HostileModels, ONNX_21_FlippedBytesAtEachOffset) {
    const std::string bytes = tiny().bytes();
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
            std::string changed = bytes;
            changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ flip);
            survives(changed);
        }
    }
}

TEST(HostileModels, ONNX_21_WireFormat) {
    EXPECT_FALSE(
        survives(std::string("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10)));      // a length of 2^63 - 1
    EXPECT_FALSE(survives(std::string("\x08") + std::string(10, '\xff') + "\x01"));  // a varint of 11 bytes
    for (const char tag : {'\x3b', '\x3c', '\x3e', '\x3f'})
        EXPECT_FALSE(survives(std::string(3, tag)));  // groups, unknown types
    // Deep nesting: a graph attribute in a node in a graph attribute ...
    std::string nested;
    for (int i = 0; i < 10000 && nested.size() < 1 << 20; ++i) {
        const auto wrap = [&](char tag) {
            std::string length;
            for (std::size_t n = nested.size();; n >>= 7) {
                length.push_back(static_cast<char>((n & 127) | (n > 127 ? 128 : 0)));
                if (n <= 127) break;
            }
            nested = tag + length + nested;
        };
        wrap('\x32');  // AttributeProto.g
        wrap('\x2a');  // NodeProto.attribute
        wrap('\x0a');  // GraphProto.node
    }
    EXPECT_FALSE(survives(nested));
}

TEST(HostileModels, CyclesMissingInputsAndDuplicates) {
    const auto with = [](const std::function<void(Builder&)>& change) {
        Builder b(13);
        b.input("X", {1, 2}).output("y");
        change(b);
        return refusal(b);
    };
    EXPECT_NE(with([](Builder& b) {
                  b.node("Add", {"X", "y"}, {"z"}), b.node("Relu", {"z"}, {"y"});
              }).find("cycle"),
              std::string::npos);
    EXPECT_NE(with([](Builder& b) { b.node("Relu", {"y"}, {"y"}); }).find("cycle"), std::string::npos);
    EXPECT_NE(with([](Builder& b) { b.node("Relu", {"nowhere"}, {"y"}); }).find("'nowhere'"),
              std::string::npos);
    EXPECT_NE(
        with([](Builder& b) { b.node("Relu", {"X"}, {"y"}), b.node("Relu", {"X"}, {"y"}); }).find("twice"),
        std::string::npos);
    EXPECT_NE(with([](Builder& b) { b.node("Relu", {"X"}, {"X"}); }).find("twice"), std::string::npos);
    EXPECT_NE(with([](Builder&) {}).find("'y'"), std::string::npos);
    EXPECT_NE(with([](Builder& b) { b.node("Relu", {""}, {"y"}); }).find("missing"), std::string::npos);
    EXPECT_NE(with([](Builder& b) { b.node("Relu", {}, {"y"}); }).find("0 inputs"), std::string::npos);
    EXPECT_NE(with([](Builder& b) { b.node("Relu", {"X", "X"}, {"y"}); }).find("inputs"), std::string::npos);
}

TEST(HostileModels, SmallFilesCannotAskForHugeConstants) {
    Builder b(13);
    b.input("X", {1})
        .integers("s", {2}, {32768, 32768})
        .integers("more", {3}, {1024, 32768, 32768})
        .output("y");
    b.node("ConstantOfShape", {"s"}, {"c"});
    b.node("Expand", {"c", "more"}, {"e"});
    b.node("Add", {"X", "e"}, {"y"});
    refusal(b);
    // Doubling by Concat again and again.
    Builder doubled(13);
    doubled.input("X", {1}).weights("c0", {1}, {1}).output("y");
    for (int i = 0; i < 60; ++i)
        set(doubled.node("Concat", {"c" + std::to_string(i), "c" + std::to_string(i)},
                         {"c" + std::to_string(i + 1)}),
            "axis", 0);
    doubled.node("Add", {"X", "c60"}, {"y"});
    refusal(doubled);
}

TEST(HostileModels, LongChainsDoNotRecurse) {
    Builder b(13);
    b.input("X", {1, 2}).output("t3000");
    std::string last = "X";
    for (int i = 1; i <= 3000; ++i) {
        b.node("Neg", {last}, {"t" + std::to_string(i)});
        last = "t" + std::to_string(i);
    }
    expect_values(run(b.bytes(), {{1, -2}}, Mode::lean).at(0), {1, 2}, {1, -2});
}

TEST(HostileModels, MutatedBundledModels) {
    const auto start = std::chrono::steady_clock::now();
    std::mt19937_64 generator(20260101);
    int read = 0, tried = 0;
    for (const char* name : {"face-finder", "face-landmarks", "efficientnet-lite0"}) {
        std::ifstream stream(std::string(CONVLENS_SOURCE_DIR "/assets/models/") + name + ".onnx",
                             std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
        ASSERT_FALSE(bytes.empty());
        // The bytes of large weights are dull: aim at the places around them.
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i + 1 < bytes.size(); ++i)
            if (bytes[i] >= 0x08 && bytes[i] < 0x7b &&
                (i < 4096 || i + 65536 > bytes.size() || generator() % 64 == 0))
                places.push_back(i);
        const int count = bytes.size() > 1 << 20 ? 20 : 150;
        for (int i = 0; i < count; ++i) {
            if (std::chrono::steady_clock::now() - start > std::chrono::seconds(60)) break;
            std::string changed = bytes;
            const std::size_t changes = 1 + generator() % 4;
            for (std::size_t k = 0; k < changes; ++k) {
                const std::size_t at = places[generator() % places.size()];
                switch (generator() % 4) {
                    case 0:
                        changed[at] = static_cast<char>(generator());
                        break;
                    case 1:
                        changed[at] = static_cast<char>(changed[at] ^ (1 << generator() % 8));
                        break;
                    case 2:
                        changed.erase(at, 1 + generator() % 8);
                        break;
                    default:
                        changed.insert(at, std::string(1 + generator() % 8, static_cast<char>(generator())));
                }
                if (changed.size() < bytes.size() / 2) break;
                for (std::size_t& place : places) place = std::min(place, changed.size() - 1);
            }
            read += survives(changed) ? 1 : 0;
            ++tried;
        }
    }
    EXPECT_GT(tried, 20);
    RecordProperty("still_models", read);
}

}  // namespace
}  // namespace convlens::network::testing

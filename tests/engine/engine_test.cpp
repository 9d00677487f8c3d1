#include "app/engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <thread>

#include "app/engine/clock.h"

namespace convlens::engine {
namespace {

using std::chrono::milliseconds;

const std::string root = CONVLENS_SOURCE_DIR;
const std::string finder = root + "/assets/models/face-finder.onnx";
const std::string landmarks = root + "/assets/models/face-landmarks.onnx";
const std::string classifier = root + "/assets/models/efficientnet-lite0.onnx";
const std::string upscaler = root + "/assets/models/upscale2x-photo.onnx";
const std::string cat = root + "/assets/photos/chelsea.jpg";

// Plain memory that knows what is still out, and poisons what comes back.
class CountingAllocator : public network::Allocator {
  public:
    network::Block allocate(std::size_t bytes, const char* label) override {
        if (refuse_above > 0 && bytes > refuse_above)
            throw Error(Status::runtime_failure, "no memory for the test");
        auto block = plain_->allocate(bytes, label);
        live_ += 1;
        return block;
    }
    void release(const network::Block& block) noexcept override {
        live_ -= 1;
        plain_->release(block);
    }
    std::size_t largest_block() const override { return std::size_t{1} << 30; }
    const char* name() const override { return "counted memory"; }
    int live() const { return live_; }
    std::atomic<std::size_t> refuse_above{0};

  private:
    std::shared_ptr<network::Allocator> plain_ = network::host_allocator();
    std::atomic<int> live_{0};
};

std::string all(const std::vector<Message>& messages) {
    std::string text;
    for (const auto& message : messages) text += message.text + "\n";
    return text;
}

struct Running {
    explicit Running(const std::string& model, const std::string& input, EngineOptions options = {})
        : engine((options.threads = 2, options)) {
        engine.open_model(model);
        engine.open_input(input);
        if (!engine.run_passes(1)) ADD_FAILURE() << all(engine.take_messages());
    }
    SnapshotPtr now() const { return engine.newest(); }
    // Waits until the snapshot shows it; passes may be few or none.
    template <class Condition>
    bool wait_for(Condition condition, double timeout_ms = 20000) const {
        for (const double end = now_ms() + timeout_ms; now_ms() < end;) {
            if (condition(*now())) return true;
            std::this_thread::sleep_for(milliseconds(2));
        }
        return false;
    }
    Engine engine;
};

int layer_named(const NetworkInfo& network, const std::string& category) {
    for (std::size_t i = 0; i < network.layers.size(); ++i)
        if (network.layers[i].category == category) return static_cast<int>(i);
    return -1;
}

TEST(Engine, BeforeTheFirstModelThereIsAnEmptySnapshot) {
    Engine engine({.threads = 1});
    const auto s = engine.begin_read();
    ASSERT_NE(s, nullptr);
    EXPECT_EQ(s->pass, 0u);
    EXPECT_EQ(s->network, nullptr);
    engine.end_read();
    EXPECT_FALSE(engine.run_passes(1, 5000)) << "nothing can run";
    EXPECT_TRUE(engine.idle());
}

TEST(Engine, ClassifiesAPhotoAndSaysWhatItDid) {
    Running r(classifier, cat);
    const auto s = r.now();
    ASSERT_NE(s->network, nullptr);
    EXPECT_EQ(s->network->model_name, "efficientnet-lite0");
    ASSERT_GE(s->outputs.top.size(), 3u);
    std::vector<std::string> top;
    for (std::size_t i = 0; i < 3; ++i) top.push_back(s->outputs.top[i].label);
    std::sort(top.begin(), top.end());
    EXPECT_EQ(top, (std::vector<std::string>{"Egyptian cat", "tabby", "tiger cat"}));
    EXPECT_EQ(s->input_text, "chelsea.jpg");
    EXPECT_EQ(s->input_source, cat);
    EXPECT_EQ(s->host.size(), s->network->tensors.size());
    EXPECT_GT(s->input_to_result_ms, 0);
    ASSERT_FALSE(s->maps.empty());
    std::int64_t counted = 0;
    for (const auto count : s->histogram.counts) counted += count;
    const auto& layer = s->network->layers[static_cast<std::size_t>(s->statistics_layer)];
    EXPECT_EQ(counted, s->network->tensors[static_cast<std::size_t>(layer.outputs[0])].desc.elements());
    EXPECT_FALSE(layer.rows.empty());
    EXPECT_EQ(std::count_if(layer.rows.begin(), layer.rows.end(), [](const auto& row) { return row.active; }),
              1);
    for (const auto& row : layer.rows) EXPECT_TRUE(row.applicable || !row.reason.empty()) << row.name;
}

TEST(Engine, SumOfLayersAndWholePassAgree) {
    Running r(classifier, cat);
    // A shared machine disturbs single windows: the best of a few counts.
    double least = 1;
    for (int attempt = 0; attempt < 5 && least > 0.15; ++attempt) {
        r.engine.reset_times();
        ASSERT_TRUE(r.engine.run_passes(20));
        const auto times = r.now()->times;
        ASSERT_GT(times->total_ms.samples, 8);
        EXPECT_NEAR(times->total_ms.median - times->sum_layers_ms, times->unexplained_ms, 1e-9);
        least = std::min(least, std::abs(times->unexplained_ms) / times->total_ms.median);
    }
    EXPECT_LE(least, 0.15);
}

TEST(Engine, ARefusedModelOrPictureLeavesEverythingAsItWas) {
    const std::string folder = ::testing::TempDir();
    std::ofstream(folder + "broken.onnx") << "this is no model";
    std::ofstream(folder + "broken.png") << "\x89PNG\r\n\x1a\nno more";
    Running r(finder, "pattern:checker:80x60");
    const auto before = r.now()->network->generation;
    for (const std::string& bad : {folder + "broken.onnx", folder + "missing.onnx", cat, folder}) {
        r.engine.open_model(bad);
        ASSERT_TRUE(r.engine.run_passes(1)) << bad;
        const auto messages = r.engine.take_messages();
        ASSERT_EQ(messages.size(), 1u) << bad << all(messages);
        EXPECT_EQ(messages[0].kind, Message::Kind::error);
    }
    for (const std::string& bad : {folder + "broken.png", folder + "missing.png", finder,
                                   std::string("pattern:nothing"), std::string("camera")}) {
        r.engine.open_input(bad);
        ASSERT_TRUE(r.engine.run_passes(1)) << bad;
        EXPECT_EQ(r.engine.take_messages().size(), 1u) << bad;
    }
    EXPECT_EQ(r.now()->network->generation, before);
    EXPECT_EQ(r.now()->input_source, "pattern:checker:80x60");
}

TEST(Engine, AGoodPictureIsTakenAlthoughTheModelBesideItIsBad) {
    Running r(finder, "pattern:checker:80x60");
    r.engine.open_model(root + "/missing.onnx");
    r.engine.open_input("pattern:noise:64x52");
    ASSERT_TRUE(r.engine.run_passes(1));
    EXPECT_EQ(r.now()->input_source, "pattern:noise:64x52");
    EXPECT_EQ(r.engine.take_messages().size(), 1u);
}

TEST(Engine, OutOfMemoryForANewNetworkKeepsTheOldOne) {
    const auto memory = std::make_shared<CountingAllocator>();
    Running r(finder, "pattern:checker:80x60", {.allocator = memory});
    memory->refuse_above = 1;
    r.engine.open_model(classifier);
    ASSERT_TRUE(r.engine.run_passes(1));
    EXPECT_EQ(r.now()->network->model_name, "face-finder");
    EXPECT_FALSE(r.engine.take_messages().empty());
}

// Memory with an order of its own, as a GPU's.
class OrderedAllocator final : public CountingAllocator {
  public:
    class Order final : public network::Timeline {
      public:
        std::uint64_t written() const override { return ends; }
        std::atomic<std::uint64_t> begins{0}, ends{0};

      private:
        void begin_write() override { ++begins; }
        void end_write() noexcept override { ++ends; }
    };
    network::Timeline* timeline() override { return &order; }
    Order order;
};

TEST(Engine, MemoryIsSwitchedWhileItRuns) {
    const auto plain = std::make_shared<CountingAllocator>();
    const auto ordered = std::make_shared<OrderedAllocator>();
    Running r(finder, "pattern:checker:80x60", {.allocator = plain});
    const auto before = r.now();
    EXPECT_EQ(before->memory, plain);
    EXPECT_EQ(before->written, 0u);
    r.engine.set_allocator(ordered);
    ASSERT_TRUE(r.engine.run_passes(3));
    const auto after = r.now();
    EXPECT_EQ(after->memory, ordered);
    EXPECT_EQ(after->network->model_name, before->network->model_name);
    EXPECT_GE(after->written, 3u) << "each pass is written in the order of its memory";
    EXPECT_LE(after->written, ordered->order.ends);
    EXPECT_EQ(plain->live(), 0) << "what is no longer shown is given back";
    EXPECT_GT(ordered->live(), 0);
    // Memory that can't be had leaves everything as it is.
    plain->refuse_above = 1;
    r.engine.set_allocator(plain);
    ASSERT_TRUE(r.engine.run_passes(1));
    EXPECT_EQ(r.now()->memory, ordered);
    EXPECT_FALSE(r.engine.take_messages().empty());
    // A model opened later stays in the present memory.
    r.engine.open_model(landmarks);
    ASSERT_TRUE(r.engine.run_passes(1));
    EXPECT_EQ(r.now()->memory, ordered);
    r.engine.set_paused(true);
    ASSERT_TRUE(r.wait_for([](const Snapshot& s) { return s.paused; }));
    EXPECT_EQ(ordered->order.begins, ordered->order.ends);
}

TEST(Engine, OfAStormOfRequestsTheNewestWins) {
    Running r(finder, "pattern:checker:80x60");
    const auto before = r.now()->pass;
    for (int i = 0; i < 300; ++i) {
        r.engine.open_input("pattern:noise:" + std::to_string(48 + i % 30) + "x40:seed=" + std::to_string(i));
        r.engine.select(i % 5, i % 3);
        r.engine.set_algorithm("*", i % 2 == 0 ? "direct" : "auto");
        r.engine.set_mode(i % 2 == 0 ? network::Mode::lean : network::Mode::explore);
    }
    r.engine.open_input("pattern:gradient:70x50");
    r.engine.set_mode(network::Mode::explore);
    ASSERT_TRUE(r.engine.run_passes(1));
    const auto s = r.now();
    EXPECT_EQ(s->input_source, "pattern:gradient:70x50");
    EXPECT_EQ(s->network->mode, network::Mode::explore);
    EXPECT_LT(s->pass - before, 150u) << "overtaken requests must be dropped";
}

TEST(Engine, AChosenAlgorithmRunsFromTheNextPassAndItsErrorFollows) {
    Running r(finder, "pattern:noise:60x44");
    const auto network = r.now()->network;
    const int layer = layer_named(*network, "convolution");
    ASSERT_GE(layer, 0);
    const std::string name = network->layers[static_cast<std::size_t>(layer)].name;
    r.engine.select(layer, 0);
    for (const auto& row : network->layers[static_cast<std::size_t>(layer)].rows) {
        if (!row.applicable) continue;
        r.engine.set_algorithm(name, row.name);
        ASSERT_TRUE(r.engine.run_passes(1));
        EXPECT_TRUE(r.wait_for([&](const Snapshot& s) {
            const auto& info = s.network->layers[static_cast<std::size_t>(layer)];
            for (const auto& now : info.rows)
                if (now.active && now.name == row.name) return now.max_error && *now.max_error < 1e-2;
            return false;
        })) << row.name
            << all(r.engine.take_messages());
    }
    const auto generation = r.now()->network->generation;
    r.engine.set_algorithm(name, "no_such_algorithm");
    r.engine.set_algorithm("no_such_layer", "direct");
    ASSERT_TRUE(r.engine.run_passes(1));
    EXPECT_EQ(r.engine.take_messages().size(), 2u);
    EXPECT_EQ(r.now()->network->generation, generation);
}

TEST(Engine, LeanModeShowsTheSelectedLayerAndGivesTheSameAnswer) {
    Running r(classifier, cat, {.stepped = true});
    const auto explored = r.now();
    r.engine.set_mode(network::Mode::lean);
    ASSERT_TRUE(r.engine.run_passes(1)) << all(r.engine.take_messages());
    ASSERT_EQ(r.now()->network->mode, network::Mode::lean);
    EXPECT_LE(r.now()->network->memory.activations_bytes * 2, explored->network->memory.activations_bytes);
    for (const std::size_t layer : {std::size_t{7}, std::size_t{20}, std::size_t{3}}) {
        r.engine.select(static_cast<int>(layer), -1);
        ASSERT_TRUE(r.engine.run_passes(2));
        const auto s = r.now();
        ASSERT_EQ(s->statistics_layer, static_cast<int>(layer));
        const int tensor = s->network->layers[layer].outputs[0];
        EXPECT_NE(s->host[static_cast<std::size_t>(tensor)], nullptr) << layer;
        EXPECT_FALSE(s->maps.empty()) << layer;
        ASSERT_EQ(s->outputs.top.size(), explored->outputs.top.size());
        for (std::size_t i = 0; i < s->outputs.top.size(); ++i) {
            EXPECT_EQ(s->outputs.top[i].index, explored->outputs.top[i].index);
            EXPECT_NEAR(s->outputs.top[i].score, explored->outputs.top[i].score, 1e-4);
        }
    }
}

TEST(Engine, PausedItComputesNothingButFollowsTheSelection) {
    Running r(finder, "pattern:noise:60x44");
    r.engine.set_paused(true);
    ASSERT_TRUE(r.wait_for([](const Snapshot& s) { return s.paused; }));
    ASSERT_TRUE(r.wait_for([&](const Snapshot&) { return r.engine.idle(); }));
    const auto pass = r.now()->pass;
    for (int layer = 0; layer < 4; ++layer) {
        r.engine.select(layer, 1);
        EXPECT_TRUE(r.wait_for([&](const Snapshot& s) { return s.statistics_layer == layer; }));
    }
    EXPECT_EQ(r.now()->pass, pass);
    r.engine.step();
    EXPECT_TRUE(r.wait_for([&](const Snapshot& s) { return s.pass == pass + 1; }));
    std::this_thread::sleep_for(milliseconds(50));
    EXPECT_EQ(r.now()->pass, pass + 1);
    // A new picture is shown although the network is paused.
    r.engine.open_input("pattern:gradient:60x44");
    EXPECT_TRUE(r.wait_for([](const Snapshot& s) { return s.input_source == "pattern:gradient:60x44"; }));
    ASSERT_TRUE(r.wait_for([&](const Snapshot&) { return r.engine.idle(); }));
    const std::clock_t before = std::clock();
    std::this_thread::sleep_for(milliseconds(400));
    EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.02) << "5 % of a core";
    r.engine.set_paused(false);
    EXPECT_TRUE(r.wait_for([&](const Snapshot& s) { return s.pass > pass + 5; }));
}

TEST(Engine, SteppedItRunsOnlyWhatIsAskedFor) {
    Running r(finder, "pattern:noise:60x44", {.stepped = true});
    EXPECT_EQ(r.now()->pass, 1u);
    ASSERT_TRUE(r.engine.run_passes(7));
    r.engine.select(2, 0);
    ASSERT_TRUE(r.engine.run_passes(0));
    EXPECT_EQ(r.now()->pass, 8u);
    EXPECT_EQ(r.now()->statistics_layer, 2);
    const auto s = r.now();
    for (const auto& statistics : s->layer_statistics) EXPECT_GT(statistics.count, 0);
    for (const auto& layer : s->network->layers) EXPECT_FALSE(layer.rows.empty()) << layer.name;
}

TEST(Engine, SnapshotsDescribeTheArenaThatTheyName) {
    Running r(finder, "pattern:noise:60x44");
    r.engine.select(0, -1);
    ASSERT_TRUE(r.engine.run_passes(1));
    for (int i = 0; i < 60; ++i) {
        // Alternating inputs: an arena that is written while it is read would show the other's values.
        r.engine.open_input(i % 2 == 0 ? "pattern:gradient:60x44" : "pattern:noise:60x44");
        const auto s = r.engine.begin_read();
        if (!s->maps.empty() && s->statistics_layer >= 0) {
            const auto& layer = s->network->layers[static_cast<std::size_t>(s->statistics_layer)];
            const auto tensor = static_cast<std::size_t>(layer.outputs[0]);
            const TensorDesc& desc = s->network->tensors[tensor].desc;
            for (std::size_t c = 0; c < s->maps.size(); ++c) {
                double sum = 0;
                for (std::int64_t y = 0; y < desc.dims[2]; ++y)
                    for (std::int64_t x = 0; x < desc.dims[3]; ++x)
                        sum += s->host[tensor][static_cast<std::int64_t>(c) * desc.strides[1] +
                                               y * desc.strides[2] + x * desc.strides[3]];
                const double mean = sum / static_cast<double>(desc.dims[2] * desc.dims[3]);
                ASSERT_NEAR(mean, s->maps[c].mean, 1e-3 + 1e-3 * std::abs(mean)) << "map " << c;
            }
        }
        r.engine.end_read([] {});
        std::this_thread::sleep_for(milliseconds(1));
    }
}

TEST(Engine, MeasuresALayerAndKeepsTheFigures) {
    Running r(finder, "pattern:noise:60x44");
    const auto network = r.now()->network;
    const int layer = layer_named(*network, "convolution");
    const auto& info = network->layers[static_cast<std::size_t>(layer)];
    r.engine.measure_layer(info.name);
    ASSERT_TRUE(r.engine.run_passes(0));
    ASSERT_TRUE(r.wait_for([](const Snapshot& s) { return !s.measuring; }));
    int measured = 0;
    for (const auto& row : r.now()->network->layers[static_cast<std::size_t>(layer)].rows) {
        EXPECT_EQ(row.applicable, row.median_ms.has_value()) << row.name;
        if (!row.applicable) continue;
        ++measured;
        EXPECT_GT(*row.median_ms, 0);
        ASSERT_TRUE(row.max_error) << row.name;
        EXPECT_LT(*row.max_error, 1e-2) << row.name;
    }
    EXPECT_GE(measured, 1);
    // They stay when an algorithm is chosen.
    r.engine.set_algorithm(info.name, "direct");
    ASSERT_TRUE(r.engine.run_passes(1));
    for (const auto& row : r.now()->network->layers[static_cast<std::size_t>(layer)].rows)
        EXPECT_EQ(row.applicable, row.median_ms.has_value()) << row.name;
    r.engine.measure_layer("no_such_layer");
    ASSERT_TRUE(r.engine.run_passes(0));
    EXPECT_EQ(r.engine.take_messages().size(), 1u);
}

TEST(Engine, AMeasurementIsCancelledAndTheEngineCloses) {
    Running r(upscaler, "pattern:noise:90x70");
    const auto network = r.now()->network;
    int layer = 0;
    for (std::size_t i = 0; i < network->layers.size(); ++i)
        if (network->layers[i].flops > network->layers[static_cast<std::size_t>(layer)].flops)
            layer = static_cast<int>(i);
    const std::string name = network->layers[static_cast<std::size_t>(layer)].name;
    r.engine.measure_layer(name);
    ASSERT_TRUE(r.wait_for([](const Snapshot& s) { return s.measuring; }));
    r.engine.cancel_measure();
    EXPECT_TRUE(r.wait_for([](const Snapshot& s) { return !s.measuring; }));
    r.engine.measure_layer(name);
    r.wait_for([](const Snapshot& s) { return s.measuring; });
}

TEST(Engine, PicturesOfNetworksOfAnySizeAreLimited) {
    Running r(upscaler, cat);
    auto input = [&] {
        const auto s = r.now();
        return s->network->tensors[static_cast<std::size_t>(s->network->inputs[0])].desc.dims;
    };
    const auto longer = [&] { return std::max(input()[2], input()[3]); };
    EXPECT_EQ(longer(), 96 + 14) << "the default, with the model's border of 7";
    r.engine.set_side_limit(40);
    ASSERT_TRUE(r.engine.run_passes(1));
    EXPECT_EQ(longer(), 40 + 14);
    EXPECT_TRUE(r.now()->outputs.picture.has_value());
}

TEST(Engine, FindsTheFaceOncePerPicture) {
    Running r(finder, root + "/assets/photos/astronaut.jpg");
    EXPECT_TRUE(r.wait_for([](const Snapshot& s) { return s.outputs.boxes.size() == 1; }));
    r.engine.open_input(cat);
    EXPECT_TRUE(r.wait_for(
        [](const Snapshot& s) { return s.input_text == "chelsea.jpg" && s.outputs.boxes.empty(); }));
}

// Models, sizes and modes change a hundred times under a reader that looks at the maps all the time.
TEST(Engine, SwitchingModelsFreesWhatIsNoLongerShown) {
    const auto memory = std::make_shared<CountingAllocator>();
    {
        Running r(finder, "pattern:checker:48x40", {.allocator = memory});
        ASSERT_TRUE(r.engine.run_passes(2));
        const int live = memory->live();
        std::atomic<bool> ended{false};
        double seen = 0;
        std::thread reader([&] {
            while (!ended) {
                const auto s = r.engine.begin_read();
                for (std::size_t i = 0; i < s->host.size(); ++i)
                    if (s->host[i] != nullptr) seen += s->host[i][0];
                std::this_thread::sleep_for(milliseconds(1));
                r.engine.end_read([] { std::this_thread::sleep_for(std::chrono::microseconds(200)); });
            }
        });
        for (int i = 0; i < 100; ++i) {
            r.engine.open_model(i % 2 == 0 ? landmarks : finder);
            if (i % 5 == 0) r.engine.open_input("pattern:noise:" + std::to_string(44 + i % 7) + "x40");
            if (i % 3 == 0) r.engine.set_mode(i % 2 == 0 ? network::Mode::lean : network::Mode::explore);
            ASSERT_TRUE(r.engine.run_passes(1)) << all(r.engine.take_messages());
        }
        r.engine.set_mode(network::Mode::explore);
        ASSERT_TRUE(r.engine.run_passes(2));
        ended = true;
        reader.join();
        EXPECT_LE(memory->live(), live);
        EXPECT_EQ(seen, seen) << "only what was computed is read";
    }
    EXPECT_EQ(memory->live(), 0);
}

TEST(Engine, EndsAtAnyMoment) {
    for (int i = 0; i < 12; ++i) {
        Engine engine({.threads = 2});
        engine.open_model(finder);
        engine.open_input("pattern:noise:60x44");
        if (i % 3 > 0) engine.run_passes(1);
        engine.set_mode(network::Mode::lean);
        engine.measure_layer("*");
        if (i % 2 == 0) engine.begin_read();
        std::this_thread::sleep_for(milliseconds(i));
    }
}

}  // namespace
}  // namespace convlens::engine

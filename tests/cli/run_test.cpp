// `convlens run`: answers, report, dumped maps and trace agree with each other and with what the design page
// says.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/scratch_folder.h"

namespace convlens {
namespace {

using Json = nlohmann::json;
using test::ProgramRun;
using test::run_program;
using test::ScratchFolder;

const std::string assets = std::string(CONVLENS_SOURCE_DIR) + "/assets/";
const std::string photos = assets + "photos/";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Json report(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "run");
    arguments.insert(arguments.end(), {"--json", "-"});
    const ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    return Json::parse(run.out);
}

bool is_number_or_null(const Json& json) { return json.is_number() || json.is_null(); }

TEST(Run, ReportHasEveryFieldOfTheDesign) {
    for (const char* mode : {"explore", "lean"}) {
        const Json json = report({"efficientnet-lite0", photos + "chelsea.jpg", photos + "coffee.jpg",
                                  "--mode", mode, "--passes", "4"});
        EXPECT_EQ(json["schema"], "convlens.run/1");
        EXPECT_EQ(json["model"], "efficientnet-lite0");
        EXPECT_EQ(json["backend"], "cpu");
        EXPECT_EQ(json["precision"], "fp32");
        EXPECT_EQ(json["mode"], mode);
        EXPECT_TRUE(json["device"].is_string());
        ASSERT_EQ(json["inputs"].size(), 2u);
        const Json& top = json["inputs"][0]["top"];
        ASSERT_EQ(top.size(), 5u);
        std::map<std::string, int> three;  // the first two are as good as equal
        for (std::size_t i = 0; i < 3; ++i) three[top[i]["label"]] = top[i]["index"];
        EXPECT_EQ(three,
                  (std::map<std::string, int>{{"tabby", 281}, {"tiger cat", 282}, {"Egyptian cat", 285}}));
        EXPECT_GT(top[0]["score"], top[1]["score"]);
        EXPECT_EQ(json["inputs"][1]["name"], "coffee.jpg");
        EXPECT_EQ(json["inputs"][1]["top"][0]["label"], "espresso");
        ASSERT_GT(json["layers"].size(), 40u);
        double sum = 0;
        for (const Json& layer : json["layers"]) {
            for (const char* key : {"name", "op", "algorithm"})
                EXPECT_TRUE(layer[key].is_string()) << key << layer;
            EXPECT_TRUE(layer["shape"].is_array());
            for (const char* key :
                 {"median_ms", "p10_ms", "p90_ms", "flops", "executed_flops", "bytes", "workspace_bytes"})
                EXPECT_TRUE(layer[key].is_number()) << key << layer;
            ASSERT_TRUE(layer.contains("cpu_ms"));
            EXPECT_TRUE(is_number_or_null(layer["cpu_ms"]));
            EXPECT_NE(layer["cpu_ms"], 0);
            EXPECT_LE(layer["p10_ms"], layer["median_ms"]);
            EXPECT_LE(layer["median_ms"], layer["p90_ms"]);
            sum += layer["median_ms"].get<double>();
        }
        const Json& total = json["total"];
        EXPECT_GT(total["median_ms"], 0);
        // The layers of one pass lie within that pass; their medians by themselves need not add up to it.
        EXPECT_GT(sum, 0);
        EXPECT_GT(total["sum_layers_ms"], 0);
        EXPECT_LE(total["sum_layers_ms"].get<double>(), total["median_ms"].get<double>() * 1.0001);
        EXPECT_NEAR(total["unexplained_ms"].get<double>(),
                    total["median_ms"].get<double>() - total["sum_layers_ms"].get<double>(), 1e-9);
        const Json& memory = json["memory"];
        for (const char* key : {"weights_bytes", "activations_bytes", "workspace_bytes", "peak_bytes"})
            EXPECT_TRUE(memory[key].is_number_unsigned()) << key;
        EXPECT_GT(memory["weights_bytes"], 1000000u);
        EXPECT_GE(
            memory["peak_bytes"].get<std::size_t>(),
            memory["weights_bytes"].get<std::size_t>() + memory["activations_bytes"].get<std::size_t>());
    }
}

TEST(Run, TablesForPeople) {
    const ProgramRun run = run_program({"run", "efficientnet-lite0", photos + "chelsea.jpg", "--passes", "2",
                                        "--top", "3", "--profile", "--explain"});
    EXPECT_EQ(run.status, 0) << run.err;
    for (const char* word : {"chelsea.jpg", "Egyptian cat", "tiger cat", "tabby", "stem.conv", "1×32×112×112",
                             "GFLOP/s", "workspace", "weights", "direct", "sum within a pass"})
        EXPECT_TRUE(has(run.out, word)) << word;
    EXPECT_FALSE(has(run.out, "lynx"));  // only three were asked for
}

// A NumPy file of float32: shape and values.
struct Npy {
    std::string shape;
    std::vector<float> values;
};
Npy read_npy(const ScratchFolder& folder, const std::string& file) {
    const std::string bytes = folder.read(file);
    EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\1\0", 8));
    const std::size_t head =
        static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
    EXPECT_EQ((10 + head) % 64, 0u);
    EXPECT_EQ(bytes[9 + head], '\n');
    const std::string text = bytes.substr(10, head);
    EXPECT_TRUE(has(text, "'descr': '<f4', 'fortran_order': False")) << text;
    Npy npy;
    const std::size_t open = text.find('(');
    npy.shape = text.substr(open, text.find(')') - open + 1);
    npy.values.resize((bytes.size() - 10 - head) / 4);
    std::memcpy(npy.values.data(), bytes.data() + 10 + head, npy.values.size() * 4);
    return npy;
}

TEST(Run, DumpedMapsAgreeBetweenModes) {
    const ScratchFolder explore, lean;
    for (const auto& [mode, folder] :
         {std::pair<const char*, const ScratchFolder*>{"explore", &explore}, {"lean", &lean}})
        report({"face-landmarks", photos + "astronaut.jpg", "--mode", mode, "--passes", "1", "--dump-maps",
                folder->folder()});
    const Json kept = Json::parse(explore.read("index.json")), reused = Json::parse(lean.read("index.json"));
    ASSERT_TRUE(kept.contains("image"));
    EXPECT_TRUE(kept["image"]["layer"].is_null());
    EXPECT_EQ(kept["image"]["shape"], (Json{1, 3, 48, 48}));
    for (const char* output : {"prob", "box", "landmarks"}) {
        EXPECT_TRUE(kept.contains(output));
        EXPECT_TRUE(reused.contains(output));
    }
    EXPECT_GE(kept.size(), reused.size());
    int compared = 0;
    for (const auto& [name, entry] : reused.items()) {
        if (!kept.contains(name)) continue;
        const Npy a = read_npy(explore, kept[name]["file"]), b = read_npy(lean, entry["file"]);
        ASSERT_EQ(a.shape, b.shape) << name;
        std::size_t elements = 1;
        for (const std::size_t dim : entry["shape"].get<std::vector<std::size_t>>()) elements *= dim;
        ASSERT_EQ(a.values.size(), elements) << name;
        double most = 0, error = 0;
        for (std::size_t i = 0; i < elements; ++i) {
            most = std::max<double>(most, std::abs(a.values[i]));
            error = std::max<double>(error, std::abs(a.values[i] - b.values[i]));
        }
        EXPECT_LE(error, 1e-4 * most) << name;
        ++compared;
    }
    EXPECT_GE(compared, 4);
}

TEST(Run, AlgorithmsByNameAndByLayer) {
    const std::string picture = photos + "rocket.jpg";
    const auto algorithm = [](const Json& json, const std::string& layer) {
        for (const Json& l : json["layers"])
            if (l["name"] == layer) return l["algorithm"].get<std::string>();
        return std::string("no such layer");
    };
    const Json all = report({"face-landmarks", picture, "--algo", "direct", "--passes", "1"});
    int direct = 0;
    for (const Json& layer : all["layers"]) direct += layer["op"] == "Conv" && layer["algorithm"] == "direct";
    EXPECT_EQ(direct, 4);
    std::string first;
    for (const Json& layer : all["layers"])
        if (layer["op"] == "Conv" && first.empty()) first = layer["name"];
    const Json one = report(
        {"face-landmarks", picture, "--algo", "im2col_gemm", "--algo", first + "=direct", "--passes", "1"});
    EXPECT_EQ(algorithm(one, first), "direct");
    int gemm = 0;
    for (const Json& layer : one["layers"]) gemm += layer["algorithm"] == "im2col_gemm";
    EXPECT_EQ(gemm, 3);
    // The same answer whatever computes it.
    EXPECT_NEAR(all["inputs"][0]["boxes"][0]["score"].get<double>(),
                one["inputs"][0]["boxes"][0]["score"].get<double>(), 1e-4);
}

TEST(Run, BatchGivesTheSameAnswer) {
    const Json one = report({"face-landmarks", photos + "astronaut.jpg", "--passes", "1"});
    const Json three = report({"face-landmarks", photos + "astronaut.jpg", "--passes", "1", "--batch", "3"});
    EXPECT_EQ(three["batch"], 3);
    EXPECT_EQ(three["input_shape"], (Json{3, 3, 48, 48}));
    EXPECT_NEAR(one["inputs"][0]["boxes"][0]["x0"].get<double>(),
                three["inputs"][0]["boxes"][0]["x0"].get<double>(), 0.05);
    EXPECT_EQ(three["layers"][0]["shape"][0], 3);
}

TEST(Run, TraceHoldsEveryLayerInOrder) {
    const ScratchFolder folder;
    const Json json = report(
        {"face-landmarks", photos + "astronaut.jpg", "--passes", "1", "--trace", folder.path("t.json")});
    const Json trace = Json::parse(folder.read("t.json"));
    std::map<std::string, int> seen;
    double last = 0;
    for (const Json& event : trace["traceEvents"]) {
        if (event["ph"] != "X" || event["tid"] != 2) continue;
        ++seen[event["name"]];
        EXPECT_GE(event["ts"].get<double>(), last - 1e-3);
        EXPECT_GE(event["dur"].get<double>(), 0);
        last = event["ts"].get<double>() + event["dur"].get<double>();
    }
    for (const Json& layer : json["layers"]) EXPECT_EQ(seen[layer["name"]], 3) << layer["name"];
}

TEST(Run, SeedOfNoiseAndWordsOfVerbose) {
    const auto score = [](const std::string& source, const std::string& seed) {
        return report({"efficientnet-lite0", source, "--passes", "1", "--seed",
                       seed})["inputs"][0]["top"][0]["score"]
            .get<double>();
    };
    EXPECT_EQ(score("pattern:noise", "3"), score("pattern:noise:seed=3", "4"));
    EXPECT_NE(score("pattern:noise", "3"), score("pattern:noise", "4"));
    const ProgramRun run =
        run_program({"run", "efficientnet-lite0", "pattern:noise", "--passes", "1", "--verbose"});
    EXPECT_EQ(run.status, 0);
    EXPECT_TRUE(has(run.err, "planned 143 layers for an input of 1x3x224x224")) << run.err;
}

TEST(Run, StandardOutputHoldsOneReport) {
    const ProgramRun run =
        run_program({"run", "efficientnet-lite0", "pattern:noise", "--json", "-", "--trace", "-"});
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_TRUE(has(run.err, "--trace")) << run.err;
}

TEST(Run, FoldersAndBrokenPicturesAmongGoodOnes) {
    const ScratchFolder folder;
    std::filesystem::copy(photos + "chelsea.jpg", folder.path("b.jpg"));
    std::filesystem::copy(photos + "coffee.jpg", folder.path("a.jpg"));
    folder.write("c.jpg", std::string("no picture"));
    const ProgramRun whole =
        run_program({"run", "face-landmarks", folder.folder(), "--passes", "1", "--json", "-"});
    EXPECT_EQ(whole.status, 0) << whole.err;
    EXPECT_TRUE(has(whole.err, "c.jpg")) << whole.err;
    const Json json = Json::parse(whole.out);
    ASSERT_EQ(json["inputs"].size(), 2u);
    EXPECT_EQ(json["inputs"][0]["name"], "a.jpg");
    EXPECT_EQ(json["inputs"][1]["name"], "b.jpg");
    const ProgramRun mixed = run_program({"run", "face-landmarks", folder.path("c.jpg"), folder.path("b.jpg"),
                                          "--passes", "1", "--json", "-"});
    EXPECT_EQ(mixed.status, 2);
    EXPECT_TRUE(has(mixed.err, "c.jpg")) << mixed.err;
    EXPECT_EQ(Json::parse(mixed.out)["inputs"].size(), 1u);
}

TEST(Run, NetworksOfAnySize) {
    const ScratchFolder folder;
    const Json faces =
        report({"face-finder", photos + "astronaut.jpg", photos + "rocket.jpg", "--passes", "1"});
    ASSERT_EQ(faces["inputs"][0]["boxes"].size(), 1u);
    EXPECT_EQ(faces["inputs"][0]["boxes"][0]["points"].size(), 5u);
    EXPECT_EQ(faces["inputs"][1]["boxes"].size(), 0u);
    EXPECT_EQ(faces["inputs"][0]["top"].size(), 0u);
    const Json up = report(
        {"upscale2x-photo", photos + "chelsea.jpg", "--passes", "1", "--picture", folder.path("up.png")});
    EXPECT_EQ(up["input_shape"],
              (Json{1, 3, 64 + 14, 96 + 14}));  // the longer side is 96 by default; edge pad of 7
    EXPECT_TRUE(std::filesystem::exists(folder.path("up.png")));
    const Json small = report({"upscale2x-photo", "pattern:checker:30x20", "--passes", "1", "--side", "0"});
    EXPECT_EQ(small["input_shape"], (Json{1, 3, 34, 44}));
}

TEST(Run, AssetsFoundFromAnyFolder) {
    const ProgramRun run = run_program({"run", "no-such-model", "pattern:noise"});
    EXPECT_EQ(run.status, 2);
    EXPECT_TRUE(has(run.err, "upscale2x-photo")) << run.err;
}

}  // namespace
}  // namespace convlens

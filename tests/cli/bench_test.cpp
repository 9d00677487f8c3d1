// `convlens bench`: rows of every algorithm, JSON and CSV of the same figures, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/program.h"
#include "tests/support/scratch_folder.h"

namespace convlens {
namespace {

using Json = nlohmann::json;
using test::ProgramRun;
using test::run_program;
using test::ScratchFolder;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> arguments(std::vector<std::string> more) {
    more.insert(more.begin(), {"bench", "--backend", "cpu", "--seconds", "0.05"});
    return more;
}

void expect_row_fields(const Json& row) {
    for (const char* key : {"op", "direction", "problem", "backend", "precision", "status"})
        EXPECT_TRUE(row[key].is_string()) << key << row;
    for (const char* key :
         {"layout", "algorithm", "reason", "median_ms", "p10_ms", "p90_ms", "samples", "gflops",
          "workspace_bytes", "max_error", "error_class", "deterministic", "threads"})
        EXPECT_TRUE(row.contains(key)) << key << row;
    EXPECT_EQ(row["backend"], "cpu");
    EXPECT_EQ(row["precision"], "fp32");
    if (row["status"] == "ok") {
        EXPECT_TRUE(row["reason"].is_null()) << row;
        EXPECT_GT(row["median_ms"], 0);
        EXPECT_LE(row["p10_ms"], row["median_ms"]);
        EXPECT_LE(row["median_ms"], row["p90_ms"]);
        EXPECT_GE(row["samples"], 1);
        EXPECT_GT(row["gflops"], 0);
    } else {
        EXPECT_TRUE(row["status"] == "not_supported" || row["status"] == "skipped") << row;
        EXPECT_TRUE(row["reason"].is_string()) << row;
        for (const char* key : {"median_ms", "p10_ms", "p90_ms", "gflops", "max_error"})
            EXPECT_TRUE(row[key].is_null()) << key << row;
        EXPECT_EQ(row["samples"], 0);
    }
}

TEST(Bench, LayersByEveryAlgorithm) {
    const ProgramRun run = run_program(arguments({"--filter", "cifar", "--json", "-"}));
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = Json::parse(run.out);
    EXPECT_EQ(json["schema"], "convlens.bench/1");
    EXPECT_TRUE(json["machine"]["device"].is_string());
    EXPECT_EQ(json["problems"].size(), 3u);
    EXPECT_EQ(json["problems"]["cifar2"]["k"], 64);
    std::map<std::string, std::set<std::string>> algorithms;
    std::map<std::string, int> chosen;
    for (const Json& row : json["rows"]) {
        expect_row_fields(row);
        EXPECT_EQ(row["op"], "convolution");
        EXPECT_EQ(row["layout"], "channels-last");
        EXPECT_TRUE(algorithms[row["problem"]].insert(row["algorithm"]).second) << row;
        if (row["chosen"]) ++chosen[row["problem"]];
        if (row["status"] != "ok") continue;
        EXPECT_LT(row["max_error"], row["error_class"] == "winograd" ? 1e-4 : 1e-5) << row;
        if (row["algorithm"] == "im2col_gemm") {
            EXPECT_GT(row["workspace_bytes"], 0);
        }
    }
    EXPECT_EQ(chosen, (std::map<std::string, int>{{"cifar1", 1}, {"cifar2", 1}, {"cifar3", 1}}));
    for (const auto& [problem, names] : algorithms) {
        EXPECT_TRUE(names.contains("direct")) << problem;
        EXPECT_EQ(names, algorithms.begin()->second) << problem;
    }
    // Progress goes to standard error, with the time left from the second layer on.
    EXPECT_TRUE(has(run.err, "[1/3] cifar1")) << run.err;
    EXPECT_TRUE(has(run.err, "[3/3] cifar3, about")) << run.err;
    EXPECT_TRUE(has(run.err, "s left")) << run.err;
}

std::vector<std::string> split_lines(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

// Cells outside quotes.
std::size_t cells(const std::string& line) {
    bool quoted = false;
    std::size_t count = 1;
    for (const char c : line) {
        if (c == '"') quoted = !quoted;
        if (c == ',' && !quoted) ++count;
    }
    return count;
}

TEST(Bench, TableAndCsvHoldTheSameRows) {
    const ScratchFolder folder;
    const std::string csv = folder.path("rows.csv"), list = folder.path("layers.csv");
    std::ofstream(list) << "name,n,c,h,w,k,r,s,stride,pad,dilation,groups\n"
                           "wide,2,8,9,11,12,3,3,1,1,1,1\n"
                           "strided,1,6,10,8,9,5,3,2,2,1,3\n";
    const ProgramRun run = run_program(arguments({"--layers", list, "--csv", csv}));
    ASSERT_EQ(run.status, 0) << run.err;
    for (const char* part : {"wide", "2×8×9×11 → 2×12×9×11", "strided", "3 groups", "direct", "exact-order",
                             "winograd_4x4: Winograd", "GFLOP/s"})
        EXPECT_TRUE(has(run.out, part)) << part << "\n" << run.out;
    std::stringstream content;
    content << std::ifstream(csv).rdbuf();
    const auto lines = split_lines(content.str());
    ASSERT_GT(lines.size(), 2u);
    EXPECT_EQ(
        lines[0].rfind("op,direction,problem,backend,precision,layout,threads,algorithm,status,reason,", 0),
        0u)
        << lines[0];
    std::size_t direct = 0;
    for (const std::string& line : lines) {
        EXPECT_EQ(cells(line), cells(lines[0])) << line;
        direct += has(line, ",direct,ok,") ? 1 : 0;
    }
    EXPECT_EQ(direct, 2u);
}

// Names of the algorithms with a status, by direction.
std::map<std::string, std::set<std::string>> names_of(const Json& json, const std::string& status) {
    std::map<std::string, std::set<std::string>> names;
    for (const Json& row : json["rows"])
        if (row["status"] == status) names[row["direction"]].insert(row["algorithm"]);
    return names;
}

TEST(Bench, EveryDirectionWithColdCachesAndPeers) {
    const ProgramRun run = run_program(
        arguments({"--filter", "lenet2", "--direction", "all", "--peers", "--cold", "--json", "-"}));
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = Json::parse(run.out);
    const auto ran = names_of(json, "ok");
    for (const char* direction : {"fwd", "bwd_data", "bwd_filter"}) {
        ASSERT_TRUE(ran.contains(direction)) << direction;
        EXPECT_TRUE(ran.at(direction).contains("direct")) << direction;
    }
    bool found = false;
    for (const Json& peer : json["machine"]["peers"])
        if (peer["name"] == "peer:onednn") found = peer["found"];
    for (const Json& row : json["rows"]) {
        expect_row_fields(row);
        const bool ok = row["status"] == "ok",
                   peer = row["algorithm"].get<std::string>().starts_with("peer:");
        EXPECT_EQ(row["cold_ms"].is_null(), !ok) << row;
        if (peer) {
            EXPECT_FALSE(row["chosen"]) << row;
        }
        if (row["algorithm"] == "peer:onednn") {
            EXPECT_EQ(ok, found) << row;
        }
        if (ok && !peer) {
            EXPECT_TRUE(row["max_error"].is_number()) << row;
            EXPECT_LT(row["max_error"], 1e-4) << row;
        }
    }
    EXPECT_EQ(json["summary"].size(), 3u);
    for (const Json& summary : json["summary"]) {
        EXPECT_EQ(summary["layers_with_choice"], 1);
        EXPECT_EQ(summary["layers_with_peer"], found ? 1 : 0);
        EXPECT_GE(summary["choice_over_best_most"], 1);
    }
}

TEST(Bench, OnlyNamedRowsAndWhatWouldTakeTooLongIsLeftOut) {
    const ScratchFolder folder;
    const std::string list = folder.path("layers.csv");
    std::ofstream(list) << "name,n,c,h,w,k,r,s,stride,pad,dilation,groups\n"
                           "large,12,32,80,90,64,5,5,1,2,1,1\n";
    const ProgramRun some = run_program(arguments(
        {"--layers", list, "--threads", "1", "--algo", "implicit_gemm", "--algo", "direct", "--json", "-"}));
    ASSERT_EQ(some.status, 0) << some.err;
    const Json json = Json::parse(some.out);
    EXPECT_EQ(names_of(json, "ok"),
              (std::map<std::string, std::set<std::string>>{{"fwd", {"implicit_gemm"}}}));
    EXPECT_EQ(names_of(json, "skipped"), (std::map<std::string, std::set<std::string>>{{"fwd", {"direct"}}}));
    for (const Json& row : json["rows"]) {
        expect_row_fields(row);
        if (row["status"] == "skipped") {
            EXPECT_TRUE(has(row["reason"], "--seconds")) << row;
        }
        // The error comes from fewer images.
        if (row["status"] == "ok") {
            EXPECT_LT(row["max_error"], 1e-5) << row;
        }
    }
}

TEST(Bench, PaperLayersAtEveryBatch) {
    const ProgramRun run = run_program(
        arguments({"--suite", "paper", "--filter", "L5_n16", "--algo", "implicit_gemm", "--json", "-"}));
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = Json::parse(run.out);
    EXPECT_EQ(json["suite"], "paper");
    EXPECT_EQ(json["problems"]["paper_L5_n16"]["n"], 16);
    EXPECT_GT(json["machine"]["matrix_product_gflops"], 0);
    EXPECT_GT(json["machine"]["copy_gb_per_s"], 0);
}

TEST(Bench, RemembersWhatWasQuickest) {
    const ScratchFolder folder;
    const std::string file = folder.path("plans.txt");
    setenv("CONVLENS_CACHE", file.c_str(), 1);
    const ProgramRun run = run_program(arguments({"--filter", "lenet1", "--remember"}));
    unsetenv("CONVLENS_CACHE");
    ASSERT_EQ(run.status, 0) << run.err;
    const std::string text = folder.read("plans.txt");
    EXPECT_TRUE(has(text, "convolution src f32 1x1x28x28")) << text;
    EXPECT_TRUE(has(text, "direct=")) << text;
}

// Every element that was opened is closed, and nothing is fetched from elsewhere.
void expect_whole_page(const std::string& page) {
    EXPECT_EQ(page.rfind("<!doctype html>", 0), 0u);
    for (const char* outside :
         {"http:", "https:", "<script", "<link", "<img", "@import", "url(", " nan", "\"nan", "\"inf"})
        EXPECT_FALSE(has(page, outside)) << outside;
    std::vector<std::string> open;
    for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
        const std::size_t end = page.find('>', at);
        ASSERT_NE(end, std::string::npos);
        const bool closes = page[at + 1] == '/';
        const std::size_t begin = at + (closes ? 2 : 1);
        const std::string name = page.substr(begin, page.find_first_of(" >/", begin) - begin);
        if (name == "!doctype" || name == "meta" || page[end - 1] == '/') continue;
        if (!closes) {
            open.push_back(name);
            continue;
        }
        ASSERT_FALSE(open.empty()) << name;
        ASSERT_EQ(open.back(), name) << page.substr(at, 80);
        open.pop_back();
    }
    EXPECT_TRUE(open.empty());
}

TEST(Bench, OnePageWithPlots) {
    const ScratchFolder folder;
    const std::string page = folder.path("page.html"), list = folder.path("layers.csv");
    std::ofstream(list) << "name,n,c,h,w,k,r,s,stride,pad,dilation,groups\n"
                           "<wide> & \"odd\",2,8,9,11,12,3,3,1,1,1,1\n"
                           "strided,1,6,10,8,9,5,3,2,2,1,3\n";
    const ProgramRun run =
        run_program(arguments({"--layers", list, "--direction", "all", "--peers", "--html", page}));
    ASSERT_EQ(run.status, 0) << run.err;
    const std::string text = folder.read("page.html");
    expect_whole_page(text);
    EXPECT_FALSE(has(text, "<wide>"));
    for (const char* part :
         {"&lt;wide&gt; &amp; &quot;odd&quot;", "strided", "Forward", "Data gradient", "Filter gradient",
          "roofline", "workspace of each algorithm", "error of each algorithm", "time of each algorithm",
          "prefers-color-scheme", "GFLOP/s", "im2col_gemm", "3 groups"})
        EXPECT_TRUE(has(text, part)) << part;
    const ProgramRun networks = run_program(arguments({"face-landmarks", "--html", "-"}));
    ASSERT_EQ(networks.status, 0) << networks.err;
    expect_whole_page(networks.out);
    EXPECT_TRUE(has(networks.out, "face-landmarks"));
}

TEST(Bench, NetworksInBothModes) {
    const ProgramRun run = run_program(arguments({"face-landmarks", "--batch", "3", "--json", "-"}));
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = Json::parse(run.out);
    ASSERT_EQ(json["rows"].size(), 2u);
    std::set<std::string> modes;
    for (const Json& row : json["rows"]) {
        expect_row_fields(row);
        EXPECT_EQ(row["op"], "network");
        EXPECT_EQ(row["problem"], "face-landmarks");
        EXPECT_EQ(row["input"], "3x3x48x48");
        EXPECT_GT(row["weights_bytes"], 0);
        EXPECT_GT(row["activations_bytes"], 0);
        EXPECT_GE(row["peak_bytes"].get<double>(), row["activations_bytes"].get<double>());
        modes.insert(row["mode"]);
    }
    EXPECT_EQ(modes, (std::set<std::string>{"explore", "lean"}));
    const ProgramRun table =
        run_program(arguments({"--suite", "models", "--filter", "face-finder", "--side", "40"}));
    EXPECT_EQ(table.status, 0) << table.err;
    for (const char* part : {"face-finder", "explore", "lean", "1×3×40×40", "passes"})
        EXPECT_TRUE(has(table.out, part)) << part << "\n" << table.out;
}

void expect_refusal(const std::vector<std::string>& words, const std::vector<std::string>& parts) {
    const ProgramRun run = run_program(arguments(words));
    EXPECT_EQ(run.status, 2) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(run.err.rfind("convlens: error: ", 0), 0u) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    for (const std::string& part : parts) EXPECT_TRUE(has(run.err, part)) << part << ": " << run.err;
}

TEST(Bench, RefusesInOneSentence) {
    expect_refusal({"--suite", "everything"}, {"everything", "ops, paper or models"});
    expect_refusal({"--direction", "up"}, {"'up'", "bwd_filter"});
    expect_refusal({"--json", "-", "--csv", "-"}, {"--json and --csv"});
    expect_refusal({"--html", "a.html", "--json", "a.html"}, {"--html", "--json", "a.html"});
    expect_refusal({"--algo", "windogrand"}, {"windogrand", "cpu"});
    expect_refusal({"--algo", "peer:onednn"}, {"peer:onednn", "--peers"});
    expect_refusal({"--suite", "models", "--direction", "bwd_data"}, {"--direction", "layers"});
    expect_refusal({"--suite", "models", "--peers"}, {"--peers", "layers"});
    expect_refusal({"--suite", "models", "--cold"}, {"--cold", "layers"});
    expect_refusal({"--suite", "models", "--remember"}, {"--remember", "layers"});
    expect_refusal({"--suite", "models", "--algo", "direct"}, {"--algo", "convlens run"});
    expect_refusal({"--suite", "paper", "--layers", "x.csv"}, {"--layers", "--suite ops"});
    expect_refusal({"--suite", "paper", "--filter", "L9"}, {"L9", "paper_L1_n16"});
    expect_refusal({"--filter", "no such layer"}, {"no such layer", "lenet1", "resnet18_7"});
    expect_refusal({"--suite", "models", "--filter", "nothing"}, {"nothing", "efficientnet-lite0"});
    expect_refusal({"--suite", "models", "no-such-model"}, {"no-such-model"});
    expect_refusal({"--suite", "ops", "face-finder"}, {"face-finder", "--filter"});
    expect_refusal({"--batch", "2"}, {"--batch", "models"});
    expect_refusal({"--precision", "tf32"}, {"tf32", "cpu"});
    expect_refusal({"--suite", "models", "--precision", "fp16"}, {"fp16", "cpu"});
    expect_refusal({"--precision", "fp8"}, {"fp8"});
    expect_refusal({"--layers", "/no/such/file.csv"}, {"/no/such/file.csv"});
}

TEST(Bench, RefusesBrokenLists) {
    const ScratchFolder folder;
    const std::string list = folder.path("layers.csv");
    const std::string head = "name,n,c,h,w,k,r,s,stride,pad,dilation,groups\n";
    const auto expect = [&](const std::string& text, const std::vector<std::string>& parts) {
        std::ofstream(list) << text;
        expect_refusal({"--layers", list}, parts);
    };
    expect("n,c,h,w\n", {"line 1", "name,n,c,h,w"});
    expect(head + "a,1,1,28,28,6,5,5,1,2,1\n", {"line 2", "11 whole numbers"});
    expect(head + "a,1,1,28,28,6,5,5,1,2,1,1,7\n", {"line 2", "11 whole numbers"});
    expect(head + "a,1,1,28,x,6,5,5,1,2,1,1\n", {"line 2", "11 whole numbers"});
    expect(head + "a,1,4,9,9,6,3,3,1,1,1,1\nb,1,4,9,9,6,3,3,0,1,1,1\n", {"line 3"});
    expect(head + "a,1,4,9,9,6,3,3,1,1,1,0\n", {"line 2"});
    expect(head + "a,1,4,9,9,6,3,3,1,1,1,3\n", {"line 2", "groups"});
    expect(head + "a,-1,4,9,9,6,3,3,1,1,1,1\n", {"line 2"});
}

}  // namespace
}  // namespace convlens

// The command line as a whole: help, exit statuses, one sentence for each mistake.
#include <gtest/gtest.h>
#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/scratch_folder.h"

namespace convlens {
namespace {

using test::ProgramRun;
using test::run_program;
using test::ScratchFolder;

const std::string assets = std::string(CONVLENS_SOURCE_DIR) + "/assets/";
const std::string cat = assets + "photos/chelsea.jpg";
const std::string landmarks = assets + "models/face-landmarks.onnx";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Exit status as said, nothing on standard output, one line on standard error with every part in it.
void expect_refusal(const std::vector<std::string>& arguments, int status,
                    const std::vector<std::string>& parts) {
    const ProgramRun run = run_program(arguments);
    std::string shown;
    for (const std::string& word : arguments) shown += word + " ";
    EXPECT_EQ(run.status, status) << shown << run.err;
    EXPECT_EQ(run.out, "") << shown;
    for (const std::string& part : parts)
        EXPECT_TRUE(has(run.err, part)) << shown << "\nlacks '" << part << "': " << run.err;
    const std::string last = run.err.substr(0, run.err.size() - (run.err.empty() ? 0 : 1));
    const std::string sentence = last.substr(last.rfind('\n') + 1);
    EXPECT_EQ(sentence.rfind("convlens: error: ", 0), 0u) << shown << run.err;
    EXPECT_FALSE(has(run.err, "terminate")) << run.err;
}

TEST(Cli, HelpAndVersion) {
    const ProgramRun help = run_program({"--help"});
    EXPECT_EQ(help.status, 0);
    for (const char* word : {"view", "run", "bench", "info", "commands", "conformance", "--backend", "--threads",
                             "--seed", "--validation"})
        EXPECT_TRUE(has(help.out, word)) << word;
    const ProgramRun run_help = run_program({"run", "--help"});
    EXPECT_EQ(run_help.status, 0);
    for (const char* word : {"--json", "--dump-maps", "--top", "--mode", "--algo", "--batch", "--explain",
                             "--profile", "--trace", "--precision"})
        EXPECT_TRUE(has(run_help.out, word)) << word;
    const ProgramRun version = run_program({"--version"});
    EXPECT_EQ(version.status, 0);
    EXPECT_EQ(version.out, "convlens 0.1.0\n");
}

TEST(Cli, CommandsAreListed) {
    const ProgramRun run = run_program({"commands"});
    EXPECT_EQ(run.status, 0);
    for (const char* word : {"layer", "algorithm", "wait", "screenshot", "measure", "fixed-figures"})
        EXPECT_TRUE(has(run.out, word)) << word;
}

TEST(Cli, InfoSaysWhatIsOnAndOff) {
    const ProgramRun text = run_program({"info"});
    EXPECT_EQ(text.status, 0);
    for (const char* word : {"cpu", "vulkan", "display", "assets", "cuda"})
        EXPECT_TRUE(has(text.out, word)) << word;
    const ProgramRun run = run_program({"info", "--json", "-"});
    EXPECT_EQ(run.status, 0);
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["schema"], "convlens.info/1");
    bool cpu = false;
    for (const auto& feature : json["features"]) {
        if (feature["name"] == "cpu") cpu = feature["available"];
        EXPECT_TRUE(feature["available"] ? feature["reason"].is_null() : feature["reason"].is_string());
    }
    EXPECT_TRUE(cpu);
}

TEST(CliErrors, UnknownWordsAndOptions) {
    expect_refusal({"frobnicate"}, 2, {"frobnicate", "view, run, bench, info"});
    expect_refusal({"run", landmarks, cat, "--frobnicate"}, 2, {"--frobnicate", "convlens run --help"});
    expect_refusal({"run"}, 2, {"MODEL"});
    expect_refusal({"run", landmarks}, 2, {"INPUT"});
    expect_refusal({"run", landmarks, cat, "--top", "many"}, 2, {"--top"});
    expect_refusal({"run", landmarks, cat, "--batch", "0"}, 2, {"--batch"});
    expect_refusal({"run", landmarks, cat, "--backend", "tpu"}, 2, {"--backend"});
    expect_refusal({"run", landmarks, cat, "--backend", "cuda"}, 2, {"cuda", "cpu"});
    expect_refusal({"run", landmarks, cat, "--threads", "-1"}, 2, {"--threads"});
    expect_refusal({"view", "--size", "12"}, 2, {"--size '12'"});
    expect_refusal({"view", "--size", "0x5"}, 2, {"--size '0x5'"});
    expect_refusal({"info", "--json"}, 2, {"--json"});
    expect_refusal({"train", "x"}, 2, {"train", "not in this version"});
    expect_refusal({"conformance", "/no/such/folder"}, 2, {"/no/such/folder"});
}

TEST(CliErrors, RequestsThatRunCannotMeet) {
    expect_refusal({"run", landmarks, cat, "--mode", "quick"}, 2, {"quick", "explore or lean"});
    for (const char* precision : {"tf32", "fp16", "bf16"})
        expect_refusal({"run", landmarks, cat, "--precision", precision}, 2, {precision, "fp32"});
    expect_refusal({"run", landmarks, cat, "--precision", "int3"}, 2, {"int3"});
    expect_refusal({"run", landmarks, cat, "--algo", "=direct"}, 2, {"--algo"});
    expect_refusal({"run", landmarks, cat, "--algo", "no_such_layer=direct"}, 2, {"no_such_layer"});
    expect_refusal({"run", landmarks, cat, "--algo", "no_such_algorithm"}, 2, {"no_such_algorithm"});
    expect_refusal({"run", assets + "models/face-finder.onnx", cat, "--batch", "3"}, 2,
                   {"batch", "fixed at 1"});
    expect_refusal({"run", landmarks, cat, "--picture", "/dev/null"}, 2, {"--picture"});
}

TEST(CliErrors, Pictures) {
    const ScratchFolder folder;
    const std::string png_start("\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\1\x86\xA0\0\1\x86\xA0\x08\2\0\0\0", 29);
    expect_refusal({"run", landmarks, folder.path("none.jpg")}, 2, {"none.jpg", "does not exist"});
    expect_refusal({"run", landmarks, folder.write("empty.jpg", std::string())}, 2, {"empty.jpg", "empty"});
    expect_refusal({"run", landmarks, folder.write("text.jpg", std::string(400, 'x'))}, 2,
                   {"text.jpg", "not a picture"});
    expect_refusal({"run", landmarks, folder.write("huge.png", png_start)}, 2, {"huge.png", "100000x100000"});
    expect_refusal({"run", landmarks, folder.write("cut.jpg", std::string("\xFF\xD8\xFF\xE0", 4))}, 2,
                   {"cut.jpg", "broken"});
    expect_refusal({"run", landmarks, landmarks}, 2, {landmarks, "not a picture"});
    expect_refusal({"run", landmarks, folder.folder()}, 2, {folder.folder()});
    expect_refusal({"run", landmarks, "pattern:chess"}, 2, {"pattern:chess", "checker"});
    expect_refusal({"run", landmarks, "camera"}, 2, {"camera"});
}

TEST(CliErrors, Models) {
    const ScratchFolder folder;
    expect_refusal({"run", folder.path("none.onnx"), cat}, 2,
                   {"none.onnx", "does not exist", "efficientnet-lite0"});
    expect_refusal({"run", folder.write("empty.onnx", std::string()), cat}, 2, {"empty.onnx"});
    expect_refusal({"run", folder.write("text.onnx", std::string("hello hello hello")), cat}, 2,
                   {"text.onnx"});
    expect_refusal({"run", cat, cat}, 2, {cat});
    expect_refusal({"run", folder.folder(), cat}, 2, {folder.folder()});
    const ScratchFolder model_folder;
    std::string bytes;
    {
        std::ifstream file(landmarks, std::ios::binary);
        bytes.assign(std::istreambuf_iterator<char>(file), {});
    }
    expect_refusal({"run", folder.write("cut.onnx", bytes.substr(0, bytes.size() / 2)), cat}, 2,
                   {"cut.onnx"});
}

TEST(CliErrors, FullDiskAndPathsThatCannotBeWritten) {
    const ScratchFolder folder;
    const std::vector<std::string> quick = {"run", landmarks, cat, "--passes", "1"};
    const auto with = [&](std::initializer_list<std::string> more) {
        std::vector<std::string> words = quick;
        words.insert(words.end(), more);
        return run_program(words);
    };
    for (const std::string& bad :
         {std::string("/dev/full"), folder.path("no/such/report.json"), folder.folder()})
        for (const char* option : {"--json", "--trace"}) {
            const ProgramRun run = with({option, bad});
            EXPECT_EQ(run.status, 1) << option << " " << bad;
            EXPECT_TRUE(has(run.err, "'" + bad + "' can't be written")) << run.err;
        }
    const ProgramRun dump = with({"--dump-maps", "/dev/null/maps"});
    EXPECT_EQ(dump.status, 1);
    EXPECT_TRUE(has(dump.err, "/dev/null/maps")) << dump.err;
    EXPECT_EQ(run_program(quick, "/dev/full").status, 1);
    EXPECT_EQ(run_program({"commands"}, "/dev/full").status, 1);
    EXPECT_EQ(run_program({"info", "--json", "-"}, "/dev/full").status, 1);
    EXPECT_EQ(run_program({"--help"}, "/dev/full").status, 1);
}

}  // namespace
}  // namespace convlens

#include "app/commands/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "app/commands/script.h"
#include "app/engine/clock.h"

namespace convlens::commands {
namespace {

const std::string root = CONVLENS_SOURCE_DIR;
const std::string finder = root + "/assets/models/face-finder.onnx";

class TestHost : public Host {
  public:
    void screenshot(const std::string& path) override { shots.push_back(path); }
    void report(const std::string& path) override { reports.push_back(path); }
    void resize(int w, int h) override { width = w, height = h; }
    void set_interop(const std::string& way) override { interop = way; }
    void quit() override { ended = true; }
    std::vector<std::string> models() const override {
        return {finder, root + "/assets/models/upscale2x-photo.onnx"};
    }
    std::vector<std::string> pictures() const override { return {root + "/assets/photos/chelsea.jpg"}; }
    std::vector<std::string> messages() const override { return texts; }
    bool busy() const override { return is_busy; }

    std::vector<std::string> shots, reports, texts;
    std::string interop;
    int width = 0, height = 0;
    bool ended = false, is_busy = false;
};

std::string failure_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::bad_parameter);
        return error.what();
    }
    return {};
}

class Commands : public ::testing::Test {
  protected:
    void SetUp() override {
        engine_.open_model(finder);
        engine_.open_input("pattern:noise:60x44");
        ASSERT_TRUE(engine_.run_passes(1));
        context_.snapshot = engine_.newest();
    }
    void run(const std::string& line) {
        context_.snapshot = engine_.newest();
        run_line(context_, line);
    }
    std::string failure(const std::string& line) {
        return failure_of([&] { run(line); });
    }
    void run_script(const std::string& text) {
        Script script = Script::parse(text, "test.script");
        script.set_patience(10000);
        while (!script.done()) {
            engine_.run_passes(1);
            for (const auto& message : engine_.take_messages()) host_.texts.push_back(message.text);
            context_.snapshot = engine_.newest();
            script.advance(context_, engine::now_ms());
        }
    }
    const engine::NetworkInfo& network() { return *context_.snapshot->network; }

    engine::Engine engine_{{.threads = 2, .stepped = true}};
    TestHost host_;
    ViewState view_;
    CommandContext context_{engine_, view_, host_, nullptr};
};

TEST(SplitLine, WordsQuotesAndComments) {
    using Words = std::vector<std::string>;
    EXPECT_EQ(split_line(""), Words{});
    EXPECT_EQ(split_line("  \t # only a comment"), Words{});
    EXPECT_EQ(split_line("layer block2/conv#1  # the second"), (Words{"layer", "block2/conv#1"}));
    EXPECT_EQ(split_line("input \"my photos/a cat.jpg\""), (Words{"input", "my photos/a cat.jpg"}));
    EXPECT_EQ(split_line("input \"# no comment\" \"\""), (Words{"input", "# no comment", ""}));
    EXPECT_EQ(split_line(R"(input "a \"b\" \\ c:\d")"), (Words{"input", R"(a "b" \ c:\d)"}));
    EXPECT_NE(failure_of([] { split_line("input \"open"); }), "");
}

TEST(Registry, EveryCommandHasHelpAndAUniqueName) {
    std::set<std::string> names;
    for (const auto& command : all_commands()) {
        EXPECT_TRUE(names.insert(command.name).second) << command.name;
        EXPECT_EQ(find_command(command.name), &command);
        EXPECT_GT(std::string(command.help).size(), 10u) << command.name;
        EXPECT_EQ(std::string(command.help).back(), '.') << command.name;
    }
    for (const char* name :
         {"model",      "input",  "next",   "previous", "layer",         "map",    "algorithm", "mode",
          "measure",    "pause",  "resume", "step",     "range",         "tab",    "foot",      "sort",
          "zoom",       "pan",    "fit",    "help",     "times",         "probe",  "side",      "quit",
          "screenshot", "report", "size",   "wait",     "fixed-figures", "expect", "interop"})
        EXPECT_NE(find_command(name), nullptr) << name;
}

TEST(Registry, NamesTheNearest) {
    const std::vector<std::string> names = {"layer", "algorithm", "measure"};
    EXPECT_EQ(nearest_name("laier", names), "layer");
    EXPECT_EQ(nearest_name("alogrithm", names), "algorithm");
    EXPECT_EQ(nearest_name("mesure", names), "measure");
    EXPECT_EQ(nearest_name("xyzzy", names), "");
    EXPECT_EQ(nearest_name("", names), "");
}

TEST_F(Commands, EveryCommandTakesWhatItsHelpSaysAndRefusesTheRest) {
    const std::string layer = network().layers[0].name;
    const std::pair<const char*, std::vector<std::string>> good[] = {
        {"model", {"model face-finder", "model face-finder.onnx", "model \"" + finder + "\""}},
        {"drop", {"drop \"" + finder + "\""}},
        {"input", {"input chelsea", "input chelsea.jpg", "input pattern:checker"}},
        {"next", {"next"}},
        {"previous", {"previous"}},
        {"side", {"side 96", "side auto"}},
        {"mode", {"mode lean", "mode explore"}},
        {"algorithm", {"algorithm " + layer + " direct", "algorithm 0 auto", "algorithm * auto"}},
        {"measure", {"measure cancel"}},
        {"pause", {"pause"}},
        {"resume", {"resume"}},
        {"step", {"step"}},
        {"times", {"times reset"}},
        {"layer", {"layer " + layer, "layer 1", "layer next", "layer previous"}},
        {"map", {"map 0", "map next", "map previous", "map none"}},
        {"probe", {"probe 0 0 0", "probe none"}},
        {"range", {"range map", "range layer", "range network", "range manual -1.5 2e3"}},
        {"tab", {"tab statistics", "tab algorithms"}},
        {"foot", {"foot table", "foot charts"}},
        {"sort", {"sort 3", "sort 3 descending"}},
        {"zoom", {"zoom 2.5"}},
        {"pan", {"pan -3 4.5"}},
        {"fit", {"fit"}},
        {"sides", {"sides off", "sides on"}},
        {"help", {"help on", "help off"}},
        {"fixed-figures", {"fixed-figures", "fixed-figures off"}},
        {"screenshot", {"screenshot a.png"}},
        {"report", {"report -"}},
        {"size", {"size 640 480"}},
        {"interop", {"interop staged", "interop shared", "interop auto"}},
        {"quit", {"quit"}},
        {"expect", {"expect model face-finder", "expect paused no"}},
    };
    std::set<std::string> tried = {"wait"};
    for (const auto& [name, lines] : good) {
        tried.insert(name);
        for (const auto& line : lines) EXPECT_EQ(failure(line), "") << line;
        const std::string many = failure(std::string(name) + " a b c d e f");
        EXPECT_NE(many.find(name), std::string::npos) << many;
    }
    for (const auto& command : all_commands()) EXPECT_TRUE(tried.count(command.name)) << command.name;
    for (const char* bad : {"model",
                            "model nowhere.onnx",
                            "input",
                            "side 3",
                            "side -1",
                            "side 1e3",
                            "mode fast",
                            "interop",
                            "interop host",
                            "algorithm",
                            "algorithm 0",
                            "algorithm nowhere direct",
                            "algorithm 9999 direct",
                            "measure",
                            "measure nowhere",
                            "times",
                            "times now",
                            "layer",
                            "layer nowhere",
                            "layer 9999",
                            "layer -1",
                            "layer 1.5",
                            "layer 99999999999999999999",
                            "map 9999",
                            "map -2",
                            "map x",
                            "probe 0 0",
                            "probe 0 9999 0",
                            "probe 9999 0 0",
                            "probe 0 0 -1",
                            "range",
                            "range all",
                            "range manual",
                            "range manual 2 1",
                            "range manual nan 1",
                            "range manual 0 1 2",
                            "range map 1",
                            "tab x",
                            "foot",
                            "sort x",
                            "sort 0 up",
                            "zoom 0",
                            "zoom -1",
                            "zoom inf",
                            "zoom 1x",
                            "pan 1",
                            "help",
                            "help maybe",
                            "fixed-figures maybe",
                            "screenshot",
                            "size 1 1",
                            "size 640",
                            "size 640 x",
                            "quit now",
                            "wait passes 1",
                            "expect",
                            "expect model",
                            "expect nothing 1",
                            "expect model other",
                            "laier 3",
                            "input \"open"}) {
        const std::string text = failure(bad);
        EXPECT_GT(text.size(), 15u) << bad;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    }
    EXPECT_NE(failure("laier 3").find("did you mean layer"), std::string::npos);
    EXPECT_EQ(host_.shots, std::vector<std::string>{"a.png"});
    EXPECT_EQ(host_.width, 640);
    EXPECT_EQ(host_.height, 480);
    EXPECT_TRUE(host_.ended);
}

TEST_F(Commands, ARefusedCommandChangesNothing) {
    run("layer 2");
    run("map 1");
    run("range manual -3 4");
    run("zoom 3");
    for (const char* bad : {"layer 999", "map 9999", "range manual 5 x", "zoom x", "pan 1 x", "sort 99"})
        EXPECT_NE(failure(bad), "");
    EXPECT_EQ(view_.layer, 2);
    EXPECT_EQ(view_.map, 1);
    EXPECT_EQ(view_.range, RangePolicy::manual);
    EXPECT_FLOAT_EQ(view_.range_lo, -3);
    EXPECT_DOUBLE_EQ(view_.wall_zoom, 3);
    EXPECT_DOUBLE_EQ(view_.wall_x, 0);
}

TEST_F(Commands, SelectionMovesWithinItsBounds) {
    const int last = static_cast<int>(network().layers.size()) - 1;
    run("layer previous");
    EXPECT_EQ(view_.layer, 0);
    for (int i = 0; i < last + 5; ++i) run("layer next");
    EXPECT_EQ(view_.layer, last);
    run("layer 0");
    run("map previous");
    EXPECT_EQ(view_.map, 0);
    for (int i = 0; i < 200; ++i) run("map next");
    const auto& desc = network().tensors[static_cast<std::size_t>(network().layers[0].outputs[0])].desc;
    EXPECT_EQ(view_.map, desc.dims[1] - 1);
    // A map that the next layer lacks is let go.
    for (int layer = 0; layer <= last; ++layer) {
        run("layer " + std::to_string(layer));
        const auto& out = network().layers[static_cast<std::size_t>(layer)].outputs;
        EXPECT_LT(view_.map, network().tensors[static_cast<std::size_t>(out[0])].desc.dims[1]);
    }
}

TEST(Scripts, EachErrorNamesFileAndLine) {
    for (const auto& [text, line] : std::initializer_list<std::pair<const char*, const char*>>{
             {"laier 3", "s:1: "}, {"\n# x\n\nlayer \"open", "s:4: "}, {"fit\r\nfitt\r\n", "s:2: "}}) {
        const std::string failure = failure_of([&, t = text] { Script::parse(t, "s"); });
        EXPECT_EQ(failure.rfind(line, 0), 0u) << failure;
    }
    for (const std::string& path : {root + "/missing.script", root})
        EXPECT_NE(failure_of([&] { Script::load(path); }).find(path), std::string::npos);
    EXPECT_TRUE(Script::parse("", "s").done());
    EXPECT_TRUE(Script::parse("# nothing\n\n", "s").done());
}

TEST_F(Commands, AScriptDrivesTheProgramAndAsserts) {
    const std::string name = network().layers[0].name;
    run_script(
        "model upscale2x-photo\n"
        "expect model upscale2x-photo\n"
        "model face-finder   # back\n"
        "input pattern:gradient:52x40\n"
        "expect input pattern:gradient:52x40\n"
        "layer 0\nmap 2\n"
        "algorithm 0 direct\n"
        "expect algorithm " +
        name +
        " direct\n"
        "expect layer " +
        name +
        "\nexpect map 2\n"
        "wait passes 3\n"
        "measure 0\nwait measured\nexpect measured " +
        name +
        "\n"
        "mode lean\nexpect mode lean\n"
        "pause\nwait passes 2\nexpect paused yes\nresume\nexpect paused no\n"
        "input /missing.png\nexpect message /missing.png\n"
        "screenshot a.png\nreport b.json\nsize 300 200\n");
    EXPECT_EQ(host_.shots, std::vector<std::string>{"a.png"});
    EXPECT_EQ(host_.reports, std::vector<std::string>{"b.json"});
    EXPECT_EQ(host_.width, 300);
}

TEST_F(Commands, AFailedLineOfAScriptIsNamed) {
    for (const auto& [text, start] : std::initializer_list<std::pair<const char*, const char*>>{
             {"fit\nlayer nowhere\n", "test.script:2: "},
             {"expect model other\n", "test.script:1: expect model"},
             {"\n\nwait passes x\n", "test.script:3: "},
             {"wait for ever\n", "test.script:1: "}}) {
        const std::string failure = failure_of([&, t = text] { run_script(t); });
        EXPECT_EQ(failure.rfind(start, 0), 0u) << failure;
    }
}

TEST_F(Commands, WaitingForPassesThatNeverComeEnds) {
    Script script = Script::parse("wait passes 5\n", "slow");
    script.set_patience(100);
    script.advance(context_, 0);
    EXPECT_FALSE(script.done());
    const std::string failure = failure_of([&] { script.advance(context_, 200); });
    EXPECT_EQ(failure.rfind("slow:1: ", 0), 0u) << failure;
}

TEST_F(Commands, AScriptWaitsForFiles) {
    Script script = Script::parse("screenshot a.png\nquit\n", "s");
    host_.is_busy = true;
    script.advance(context_, 0);
    script.advance(context_, 1);
    EXPECT_TRUE(host_.shots.empty());
    host_.is_busy = false;
    script.advance(context_, 2);
    EXPECT_EQ(host_.shots.size(), 1u);
    EXPECT_TRUE(host_.ended);
}

}  // namespace
}  // namespace convlens::commands

// Scripts that drive the window off-screen: models, layers, algorithms, modes, ranges and inputs are
// switched, and the reports say what came of it.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/cli/window_state.h"
#include "tests/cli/program.h"
#include "tests/support/scratch_folder.h"

namespace convlens {
namespace {

using Json = nlohmann::json;
using test::ProgramRun;
using test::run_program;
using test::ScratchFolder;

const std::string models = std::string(CONVLENS_SOURCE_DIR) + "/assets/models/";
const std::string photos = std::string(CONVLENS_SOURCE_DIR) + "/assets/photos/";

class Window : public ::testing::Test {
  protected:
    ProgramRun drive(const std::string& script, const std::string& model = "face-finder",
                     const std::string& input = photos + "astronaut.jpg") {
        return run_program({"view", models + model + ".onnx", "--input", input, "--headless", "--sync",
                            "--frames", "2", "--size", "640x400", "--script",
                            folder.write("script", script)});
    }
    Json report(const std::string& name) const {
        const std::string text = folder.read(name);
        return text.empty() ? Json() : Json::parse(text);
    }
    std::string report_line(const std::string& name) const { return "report " + folder.path(name) + "\n"; }
    static Json active_row(const Json& report) {
        Json active;
        for (const Json& row : report["state"]["layer"]["rows"])
            if (row["active"] == true) {
                EXPECT_TRUE(active.is_null()) << "two active rows";
                active = row;
            }
        return active;
    }
    ScratchFolder folder;
};

TEST_F(Window, EveryForcedAlgorithmRunsAndIsReportedWithItsError) {
    const ProgramRun first = drive("layer conv3\n" + report_line("start"), "upscale2x-photo");
    ASSERT_EQ(first.status, 0) << first.err;
    const Json start = report("start");
    ASSERT_EQ(start["state"]["layer"]["name"], "conv3");
    std::string script = "layer conv3\n";
    std::vector<std::string> forced;
    for (const Json& row : start["state"]["layer"]["rows"]) {
        if (row["applicable"] == false) {
            EXPECT_TRUE(row["reason"].is_string());
            continue;
        }
        const std::string name = row["algorithm"];
        forced.push_back(name);
        script += "algorithm conv3 " + name + "\nexpect algorithm conv3 " + name + "\nwait passes 8\n" +
                  report_line(name);
    }
    ASSERT_GE(forced.size(), 5u);
    const ProgramRun run = drive(script, "upscale2x-photo");
    ASSERT_EQ(run.status, 0) << run.err;
    for (const std::string& name : forced) {
        const Json seen = report(name);
        ASSERT_FALSE(seen.is_null()) << name;
        EXPECT_EQ(seen["state"]["layer"]["algorithm"], name);
        const Json row = active_row(seen);
        ASSERT_FALSE(row.is_null()) << name;
        EXPECT_EQ(row["algorithm"], name);
        ASSERT_TRUE(row["max_error"].is_number()) << name;
        EXPECT_LT(row["max_error"].get<double>(), 1e-4) << name;
        if (name == "direct") {
            EXPECT_EQ(row["max_error"], 0);
        } else {
            EXPECT_GT(row["max_error"].get<double>(), 0) << name << " is not the reference bit for bit";
        }
    }
}

TEST_F(Window, AnAlgorithmThatCantIsRefusedAndNothingChanges) {
    const ProgramRun run =
        drive("layer conv1\nexpect paused no\n" + report_line("before") +
              "algorithm conv1 depthwise\nexpect message depthwise\n" + report_line("after"));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(report("before")["state"]["layer"]["algorithm"],
              report("after")["state"]["layer"]["algorithm"]);
    EXPECT_FALSE(report("after")["messages"].empty());
}

TEST_F(Window, MeasuringFillsTheTableOfTheLayer) {
    const ProgramRun run =
        drive("layer conv2\nmeasure conv2\nwait measured\nexpect measured conv2\n" + report_line("measured"));
    ASSERT_EQ(run.status, 0) << run.err;
    int measured = 0;
    const Json seen = report("measured");
    for (const Json& row : seen["state"]["layer"]["rows"]) {
        EXPECT_EQ(row["median_ms"].is_number(), row["applicable"] == true) << row;
        measured += row["median_ms"].is_number();
    }
    EXPECT_GE(measured, 4);
}

TEST_F(Window, ModesGiveTheSameAnswerAndLeanTakesHalfTheMemory) {
    const ProgramRun run = drive(
        "expect mode explore\nlayer block2.dw.conv\nmap 3\n" + report_line("explore") +
            "mode lean\nexpect mode lean\nexpect layer block2.dw.conv\nexpect map 3\n" + "wait passes 2\n" +
            report_line("lean") + "mode explore\nexpect mode explore\nexpect layer block2.dw.conv\n",
        "efficientnet-lite0", photos + "coffee.jpg");
    ASSERT_EQ(run.status, 0) << run.err;
    const Json explore = report("explore"), lean = report("lean");
    EXPECT_EQ(explore["state"]["top"][0]["label"], "espresso");
    EXPECT_EQ(lean["state"]["top"][0]["label"], "espresso");
    EXPECT_NEAR(explore["state"]["top"][0]["score"].get<double>(),
                lean["state"]["top"][0]["score"].get<double>(), 1e-4);
    EXPECT_LT(lean["state"]["layers"].get<int>(), explore["state"]["layers"].get<int>());
    EXPECT_LE(2 * lean["memory"]["activations_bytes"].get<double>(),
              explore["memory"]["activations_bytes"].get<double>());
    for (const char* label :
         {"weights_bytes", "activations_bytes", "workspace_bytes", "staging_bytes", "viewer_bytes"})
        EXPECT_TRUE(lean["memory"][label].is_number()) << label;
    EXPECT_EQ(lean["memory"]["staging_bytes"], 0);
    EXPECT_GT(lean["memory"]["viewer_bytes"], 0);
}

TEST_F(Window, ModelsSwitchAndAFailedOneLeavesTheOld) {
    const std::string broken = folder.write("broken.onnx", "this is no model");
    const std::string empty = folder.write("empty.onnx", std::string());
    const ProgramRun run =
        drive("expect model face-finder\nexpect boxes 1\nmodel " + broken +
              "\nexpect message broken.onnx\nexpect model face-finder\nwait passes 1\nexpect boxes "
              "1\nmodel " +
              empty + "\nexpect message empty.onnx\nexpect model face-finder\n" +
              "model upscale2x-photo\nexpect model upscale2x-photo\nexpect layers 13\nlayer conv6\n" +
              "model face-finder\nexpect model face-finder\nexpect boxes 1\n" + report_line("end"));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(report("end")["state"]["model"], "face-finder");
    EXPECT_EQ(report("end")["messages"].size(), 2u) << report("end")["messages"];
    EXPECT_EQ(report("end")["validation_messages"], 0);
}

TEST_F(Window, InputsSwitchAndAFailedOneLeavesTheOld) {
    const ProgramRun run =
        drive("expect boxes 1\ninput " + folder.write("broken.jpg", "no picture") +
              "\nexpect message broken.jpg\nexpect input astronaut.jpg\nexpect boxes 1\ninput " +
              folder.path("none.png") +
              "\nexpect message none.png\nexpect input astronaut.jpg\ninput pattern:checker\n"
              "expect input pattern:checker\nexpect boxes 0\ninput astronaut.jpg\n"
              "expect input astronaut.jpg\nexpect boxes 1\n");
    EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(Window, AFolderIsWalkedBothWays) {
    const ScratchFolder pictures;
    for (const char* name : {"chelsea.jpg", "astronaut.jpg", "coffee.jpg"})
        std::filesystem::copy_file(photos + name, pictures.path(name));
    const std::string name = std::filesystem::path(pictures.folder()).filename().string();
    const auto at = [&](int n) { return "expect input \"" + name + "/ " + std::to_string(n) + " of 3\"\n"; };
    const ProgramRun run =
        drive(at(1) + "expect boxes 1\nnext\n" + at(2) + "expect boxes 0\nnext\n" + at(3) + "next\n" + at(1) +
                  "previous\n" + at(3) + "previous\nprevious\n" + at(1) + "expect boxes 1\n",
              "face-finder", pictures.folder());
    EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(Window, DroppedFilesOpenAsWhatTheyAre) {
    const ScratchFolder place;
    const std::string model = place.path("Some Model.ONNX"), picture = place.path("a picture.jpg");
    std::filesystem::copy_file(models + "face-landmarks.onnx", model);
    std::filesystem::copy_file(photos + "coffee.jpg", picture);
    const ProgramRun run =
        drive("drop \"" + picture + "\"\nexpect input \"a picture.jpg\"\nexpect boxes 0\ndrop \"" + model +
              "\"\nexpect model \"Some Model\"\nexpect input \"a picture.jpg\"\ndrop \"" +
              place.path("gone.jpg") + "\"\nexpect message gone.jpg\nexpect model \"Some Model\"\n");
    EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(Window, ViewCommandsLeaveTheNetworkAsItIs) {
    const ProgramRun run = drive(
        "layer pool1\nmap 3\nexpect layer pool1\nexpect map 3\nrange map\nrange network\nrange manual -2 "
        "3.5\nrange "
        "layer\ntab statistics\nfoot table\nsort 5 descending\nsides off\nzoom 4\npan 10 -5\nprobe 3 4 "
        "5\nwait passes "
        "1\nfit\nhelp on\nwait passes 1\nhelp off\nsides on\nlayer next\nexpect layer conv2\nlayer "
        "previous\nlayer "
        "previous\nexpect layer prelu1\nmap none\nexpect map none\nsize 200 100\nwait passes 1\nsize 800 "
        "600\n"
        "pause\nexpect paused yes\nstep\nresume\nexpect paused no\nexpect boxes 1\n" +
        report_line("end"));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(report("end")["width"], 800);
    EXPECT_EQ(report("end")["height"], 600);
    EXPECT_TRUE(report("end")["messages"].empty());
}

TEST_F(Window, AScriptThatGoesWrongSaysWhereAndWhatIsThere) {
    struct Case {
        const char* script;
        const char* said;
    };
    const Case cases[] = {
        {"layer conv1\nexpect layer conv2\n", ":2: expect layer: it is \"conv1\", not \"conv2\""},
        {"# a comment\n\nlayers 3\n", ":3: unknown command \"layers\"; did you mean layer?"},
        {"layer nothing\n", ":1: "},
        {"map 99\n", ":1: map: \"99\" is not a whole number from 0 to"},
        {"range manual 3 2\n", ":1: range: the low end 3 is not below the high end 2"},
        {"expect nothing 1\n", "one of model, mode"},
    };
    for (const Case& c : cases) {
        const ProgramRun run = drive(c.script);
        EXPECT_EQ(run.status, 2) << c.script << run.err;
        EXPECT_NE(run.err.find(c.said), std::string::npos) << c.script << run.err;
    }
}

TEST(WindowState, ComesBackAsItWas) {
    const ScratchFolder folder;
    cli::WindowState state;
    state.width = 1234;
    state.height = 777;
    state.view.left_width = 211.5f;
    state.view.foot_split = 0.375f;
    state.view.font_scale = 1.25f;
    state.view.right_tab = commands::RightTab::statistics;
    state.view.foot_view = commands::FootView::table;
    state.model = "/a path/with=signs.onnx";
    state.input = "pattern:checker";
    const std::string path = folder.path("deeper/still/state");
    ASSERT_TRUE(cli::save_window_state(path, state));
    const cli::WindowState back = cli::load_window_state(path);
    EXPECT_EQ(back.width, 1234);
    EXPECT_EQ(back.height, 777);
    EXPECT_EQ(back.view.left_width, 211.5f);
    EXPECT_EQ(back.view.foot_split, 0.375f);
    EXPECT_EQ(back.view.font_scale, 1.25f);
    EXPECT_EQ(back.view.right_tab, commands::RightTab::statistics);
    EXPECT_EQ(back.view.foot_view, commands::FootView::table);
    EXPECT_EQ(back.model, state.model);
    EXPECT_EQ(back.input, state.input);
}

TEST(WindowState, SpoiltFilesGiveTheDefaults) {
    const ScratchFolder folder;
    const cli::WindowState fresh;
    const std::string noise =
        "width=1e300\nheight=-5\nleft_width=nan\nfont_scale=0\nright_tab=7\nfoot_split\n=\n\xff\xfe\n";
    for (const std::string& text : {noise, std::string(), std::string(100000, '=')}) {
        const cli::WindowState state = cli::load_window_state(folder.write("state", text));
        EXPECT_EQ(state.width, fresh.width);
        EXPECT_EQ(state.height, fresh.height);
        EXPECT_EQ(state.view.left_width, fresh.view.left_width);
        EXPECT_EQ(state.view.font_scale, fresh.view.font_scale);
        EXPECT_EQ(state.view.right_tab, fresh.view.right_tab);
    }
    EXPECT_EQ(cli::load_window_state(folder.path("none")).width, fresh.width);
    EXPECT_EQ(cli::load_window_state(folder.folder()).width, fresh.width);
    EXPECT_FALSE(cli::save_window_state("", fresh));
    EXPECT_FALSE(cli::save_window_state("/dev/null/state", fresh));
}

}  // namespace
}  // namespace convlens

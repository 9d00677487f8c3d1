// What find() remembers and make_plan() takes up again: the text file, its revalidation, and what breaks it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness.h"
#include "tests/support/scratch_folder.h"

namespace convlens::test {
namespace {

// The user's file of this process, in a folder of its own.
class PlanCache : public ::testing::Test {
  protected:
    void SetUp() override { setenv("CONVLENS_CACHE", path.c_str(), 1); }
    void TearDown() override { unsetenv("CONVLENS_CACHE"); }
    std::string text() const {
        std::stringstream all;
        all << std::ifstream(path).rdbuf();
        return all.str();
    }
    void write(const std::string& content) const { std::ofstream(path) << content; }
    ScratchFolder folder;
    const std::string path = folder.path("plans.txt");
};

ConvolutionProblem problem(std::int64_t channels = 32) {
    ConvolutionProblem p;
    p.src = TensorDesc::channels_last({2, channels, 13, 11});
    p.weights = {24, channels, 3, 3};
    p.window = {{1, 1}, {1, 1}, {1, 1}, {1, 1}};
    p.dst = TensorDesc::channels_last({2, 24, 13, 11});
    return p;
}

std::string chosen(const Problem& p, PlanOptions options = {}) {
    options.cached = true;
    return make_plan(context(), p, options)->info().algorithm;
}

void remember(const Problem& p, int samples = 1) {
    FindOptions options;
    options.samples = samples;
    options.measure_error = false;
    options.remember = true;
    find(context(), p, options);
}

// The record with other rows: what stands before the last bar stays.
std::string with_rows(const std::string& text, const std::string& rows) {
    std::istringstream lines(text);
    std::string out;
    for (std::string line; std::getline(lines, line);)
        out += line.empty() || line[0] == '#' ? line + "\n"
                                              : line.substr(0, line.rfind('|') + 1) + " " + rows + "\n";
    return out;
}

TEST_F(PlanCache, TheQuickestRowIsTakenAgain) {
    const Problem p = problem();
    const std::string by_list = make_plan(context(), p)->info().algorithm;
    EXPECT_EQ(chosen(p), by_list) << "without a file";
    remember(p);
    const std::string file = text();
    EXPECT_EQ(file.rfind("# convlens plans", 0), 0u) << file;
    EXPECT_NE(file.find(std::string(version()) + " | " + context().device_text() +
                        " | convolution src f32 2x32x13x11"),
              std::string::npos)
        << file;
    // Every row that was measured stands there, in the order of its time.
    std::istringstream rows(file.substr(file.rfind('|') + 1));
    double before = 0;
    int count = 0;
    for (std::string row; rows >> row; ++count) {
        const double ms = std::stod(row.substr(row.find('=') + 1));
        EXPECT_GE(ms, before) << file;
        before = ms;
    }
    EXPECT_GE(count, 4);
    for (const char* name : {"direct", "im2col_gemm"}) {
        write(with_rows(file, std::string(name) + "=0.1000/0"));
        EXPECT_EQ(chosen(p), name);
        EXPECT_EQ(make_plan(context(), p)->info().algorithm, by_list) << "not asked for the cache";
        EXPECT_EQ(chosen(p, {.algorithm = "implicit_gemm"}), "implicit_gemm") << "a name goes first";
    }
}

TEST_F(PlanCache, RecordsAreOfOneProblemVersionAndDevice) {
    const ConvolutionProblem p = problem();
    remember(p);
    const std::string file = with_rows(text(), "direct=0.1/0");
    write(file);
    ASSERT_EQ(chosen(p), "direct");
    std::vector<ConvolutionProblem> others(9, p);
    others[0].has_bias = true;
    others[1].activation = {ActivationKind::relu, 0, 0};
    others[2].mode = ConvolutionMode::convolution;
    others[3].src.offset = 4;
    others[4].src = TensorDesc::packed(p.src.dims);
    others[5].dst = TensorDesc::packed(p.dst.dims);
    others[6].window.pads_begin = {0, 1}, others[6].window.pads_end = {2, 1};
    others[7].window.dilations = {2, 1}, others[7].window.pads_begin = {2, 1},
    others[7].window.pads_end = {2, 1};
    others[8].groups = 2, others[8].weights = {24, 16, 3, 3};
    for (std::size_t i = 0; i < others.size(); ++i) EXPECT_NE(chosen(others[i]), "direct") << i;
    const auto replaced = [&](const std::string& from, const std::string& to) {
        std::string changed = file;
        const std::size_t at = changed.find('\n' + from);
        EXPECT_NE(at, std::string::npos);
        write(changed.replace(at + 1, from.size(), to));
        return chosen(p);
    };
    EXPECT_NE(replaced(version(), "0.0.1"), "direct");
    EXPECT_NE(replaced(std::string(version()) + " | ", std::string(version()) + " | other "), "direct");
}

TEST_F(PlanCache, RecordsAreValidatedAgain) {
    const Problem p = problem();
    const std::string by_list = make_plan(context(), p)->info().algorithm;
    remember(p);
    const std::string file = text();
    // A row that is no more, one that can't do it, then one that can.
    write(with_rows(file, "gone_row=0.1/0 depthwise=0.2/0 direct=0.3/0 im2col_gemm=0.4/0"));
    EXPECT_EQ(chosen(p), "direct");
    write(with_rows(file, "gone_row=0.1/0"));
    EXPECT_EQ(chosen(p), by_list);
    // The plan's own workspace counts, not what the file says of it.
    write(with_rows(file, "im2col_gemm=0.1/0 direct=0.2/0"));
    EXPECT_EQ(chosen(p, {.workspace_limit = 16}), "direct");
    // Peers are never taken from a file.
    write(with_rows(file, "peer:onednn=0.1/0 direct=0.2/0"));
    EXPECT_EQ(chosen(p), by_list);
}

TEST_F(PlanCache, BrokenLinesAreLeftOutWithOneMessage) {
    const Problem p = problem();
    remember(p);
    const std::string record = with_rows(text(), "direct=0.1/0");
    const std::string broken[] = {"x",
                                  "||||",
                                  " | | | ",
                                  "0.1.0 | d | p | direct",
                                  "0.1.0 | d | p | direct=x/0",
                                  "0.1.0 | d | p | direct=1/-2",
                                  "0.1.0 | d | p | =1/2",
                                  "0.1.0 | d | p |",
                                  std::string(100000, '='),
                                  std::string("\0\1\2", 3)};
    std::string all;
    for (const std::string& line : broken) all += line + "\n";
    write(all + record);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(chosen(p), "direct");
    EXPECT_EQ(chosen(p), "direct");
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_NE(said.find("10 lines"), std::string::npos) << said;
    EXPECT_NE(said.find("line 1\n"), std::string::npos) << said;
    // What is right in it outlives the next record.
    ::testing::internal::CaptureStderr();
    remember(problem(20));
    ::testing::internal::GetCapturedStderr();
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(chosen(p), "direct");
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    for (const char* useless : {"", "\n\n", "#"}) {
        write(useless);
        EXPECT_EQ(chosen(p), make_plan(context(), p)->info().algorithm);
    }
}

TEST_F(PlanCache, WhereItCanNotBeWrittenFindStillAnswers) {
    std::ofstream(folder.path("file")) << "x";
    setenv("CONVLENS_CACHE", folder.path("file/below/plans.txt").c_str(), 1);
    FindOptions options;
    options.samples = 1;
    options.remember = true;
    ::testing::internal::CaptureStderr();
    EXPECT_TRUE(find(context(), problem(), options).back().measured);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_NE(said.find("not remembered"), std::string::npos) << said;
    EXPECT_NE(chosen(problem()), "");
}

// On CUDA a device does not outlive a fork.
TEST_F(PlanCache, ProcessesWriteAtTheSameTime) {
    if (context().backend() != Backend::cpu) GTEST_SKIP() << "processes are forked on the processor only";
    constexpr int processes = 4, each = 6;
    std::vector<pid_t> children;
    for (int child = 0; child < processes; ++child) {
        children.push_back(fork());
        if (children.back() != 0) continue;
        try {
            Context own({.backend = Backend::cpu, .threads = 1});
            for (int i = 0; i < each; ++i) {
                FindOptions options;
                options.samples = 1;
                options.measure_error = false;
                options.remember = true;
                find(own, problem(1 + child * each + i), options);
            }
        } catch (...) {
            _exit(1);
        }
        _exit(0);
    }
    for (const pid_t child : children) {
        int status = 1;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    std::istringstream lines(text());
    int records = 0;
    for (std::string line; std::getline(lines, line);) records += line.empty() || line[0] == '#' ? 0 : 1;
    EXPECT_EQ(records, processes * each);
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
        EXPECT_EQ(entry.path().extension() == ".new", false) << entry.path();
}

}  // namespace
}  // namespace convlens::test

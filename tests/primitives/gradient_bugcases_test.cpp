// Faults of the field in the gradients of convolution, with their right values, by every row of every list
// (tests/data/bugcases.jsonl has their sources).
#include <functional>

#include "tests/primitives/convolution_directions.h"

namespace convlens::test {
namespace {

Context& context() {
    static Context two_threads(test_options(2));
    return two_threads;
}

std::vector<double> filled(Index count, double value) {
    return std::vector<double>(static_cast<std::size_t>(count), value);
}

// Every applicable row of the direction on the given dense data; returns how many there were.
int each_row(const Case& c, Direction direction, const DirectionData& data,
             const std::function<void(const Candidate&, const std::vector<double>&)>& look) {
    const TensorDesc filter = TensorDesc::packed(c.forward.weights);
    int count = 0;
    for (const Candidate& row : candidates(context(), problem_of(c, direction, filter))) {
        if (!row.applicable) continue;
        look(row, run_direction(context(), c, direction, filter, row.algorithm, data));
        ++count;
    }
    return count;
}

void expect_values(const Candidate& row, const std::vector<double>& got, const std::vector<double>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    // Reduced precision is exact for the small integers here; transforms are not.
    const bool transform = row.error_class == ErrorClass::winograd || row.error_class == ErrorClass::fft;
    for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], wanted[i], transform ? 1e-4 : 0) << row.algorithm << ", element " << i;
}

TEST(GradientBugCase, CONV_08_PixelsThatNoWindowTouchesAreZero) {
    const Case c{make_problem({1, 1, 1, 1, {2, 2}, {1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}})};
    const int rows =
        each_row(c, Direction::bwd_data, {{}, {3}, {7}, {}}, [](const auto& row, const auto& dx) {
            expect_values(row, dx, {21, 0, 0, 0});
        });
    EXPECT_GE(rows, 4);
}

TEST(GradientBugCase, CONV_10_StridedDataGradientOfNarrowMaps) {
    const Case c{make_problem({1, 18, 1, 1, {1, 8}, {1, 3}, {1, 2}, {1, 1}, {0, 1}, {0, 1}})};
    const DirectionData data{{}, filled(54, 1), {1, 2, 3, 4}, {}};
    const int rows = each_row(c, Direction::bwd_data, data, [](const auto& row, const auto& dx) {
        std::vector<double> wanted;
        for (int channel = 0; channel < 18; ++channel)
            for (const double x : {1, 3, 2, 5, 3, 7, 4, 4}) wanted.push_back(x);
        expect_values(row, dx, wanted);
    });
    EXPECT_GE(rows, 4);
}

TEST(GradientBugCase, CONV_12_DepthwiseFilterGradientOfStrideTwo) {
    const Case c{make_problem({1, 24, 24, 24, {6, 6}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {0, 0}})};
    const DirectionData data{filled(24 * 36, 1), {}, filled(24 * 9, 1), {}};
    const int rows = each_row(c, Direction::bwd_filter, data, [](const auto& row, const auto& dw) {
        std::vector<double> wanted;
        for (int channel = 0; channel < 24; ++channel)
            for (const double x : {4, 6, 6, 6, 9, 9, 6, 9, 9}) wanted.push_back(x);
        expect_values(row, dw, wanted);
    });
    EXPECT_GE(rows, 1);
}

TEST(GradientBugCase, CONV_15_EmptyBatch) {
    for (const float beta : {0.0f, 1.0f}) {
        Case c{make_problem({0, 3, 2, 1, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}})};
        c.beta = beta;
        DirectionData data;
        if (beta != 0) data.old = filled(2 * 3 * 9, 1.5);
        const double wanted = beta * 1.5;
        EXPECT_GE(each_row(c, Direction::bwd_filter, data,
                           [&](const auto& row, const auto& dw) {
                               for (const double x : dw) EXPECT_EQ(x, wanted) << row.algorithm;
                           }),
                  1);
        data.old.clear();
        EXPECT_GE(each_row(c, Direction::bwd_data, data,
                           [](const auto&, const auto& dx) { EXPECT_TRUE(dx.empty()); }),
                  1);
    }
}

TEST(GradientBugCase, CONV_25_NothingBesideALargeValue) {
    const Case c{make_problem({1, 16, 16, 1, {16, 16}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}})};
    DirectionData data{{}, filled(16 * 16 * 9, 0), filled(16 * 256, 0), {}};
    for (std::size_t k = 0; k < 16; ++k) data.filter[(k * 16 + k) * 9 + 4] = 1;
    data.dst[8 * 16 + 8] = 1000;
    const int rows = each_row(c, Direction::bwd_data, data, [&](const auto& row, const auto& dx) {
        for (std::size_t i = 0; i < dx.size(); ++i)
            ASSERT_NEAR(dx[i], data.dst[i], 1e-3) << row.algorithm << ", element " << i;
    });
    EXPECT_GE(rows, 5);
}

// Exactly the bytes that a plan asks for are enough, and one less is refused with nothing written, whatever
// the precision of the row.
TEST(GradientBugCase, CONV_20_WorkspaceOfOneByteLess) {
    Case c{make_problem({2, 20, 24, 1, {12, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}})};
    const TensorDesc filter = TensorDesc::packed(c.forward.weights);
    int with_workspace = 0;
    for (const Direction direction : {Direction::bwd_data, Direction::bwd_filter}) {
        const Problem problem = problem_of(c, direction, filter);
        for (const Candidate& row : candidates(context(), problem)) {
            if (!row.applicable || row.workspace_bytes == 0) continue;
            ++with_workspace;
            const auto plan = make_plan(context(), problem, {.algorithm = row.algorithm});
            ASSERT_EQ(plan->info().workspace_bytes, row.workspace_bytes) << row.algorithm;
            const TensorDesc dst = std::visit([](const auto& p) { return p.dst; }, problem);
            TypedTensor src(c.forward.src, nullptr), diff(c.forward.dst, nullptr), result(dst, nullptr);
            GuardedBuffer workspace(row.workspace_bytes, 0xFF), packed(row.packed_bytes, 0);
            const void* data_sources[] = {diff.data()};
            const void* filter_sources[] = {src.data(), diff.data()};
            ExecuteArgs args{.weights = packed.data(),
                             .dst = result.data(),
                             .workspace = workspace.data(),
                             .workspace_bytes = row.workspace_bytes - 1};
            if (direction == Direction::bwd_data)
                args.sources = data_sources;
            else
                args.sources = filter_sources;
            try {
                execute(*plan, context(), args);
                ADD_FAILURE() << row.algorithm << " took a workspace that is too small";
            } catch (const Error& error) {
                EXPECT_EQ(error.status(), Status::bad_parameter);
                EXPECT_NE(std::string(error.what()).find("workspace"), std::string::npos) << error.what();
            }
            for (const double x : result.dense()) ASSERT_TRUE(std::isnan(x)) << row.algorithm << " wrote";
        }
    }
    EXPECT_GE(with_workspace, 1);
}

// Sizes are counted in 64 bits, in every direction (forward: CONV-21).
TEST(GradientBugCase, CONV_21_WorkspaceIsCountedIn64Bits) {
    const Case c{make_problem({64, 512, 512, 1, {224, 224}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}})};
    const TensorDesc filter = TensorDesc::packed(c.forward.weights);
    for (const Direction direction : {Direction::bwd_data, Direction::bwd_filter})
        for (const Candidate& row : candidates(context(), problem_of(c, direction, filter))) {
            if (!row.applicable) continue;
            EXPECT_LT(row.workspace_bytes, std::size_t{1} << 37) << row.algorithm;
            EXPECT_NE(row.workspace_bytes, std::size_t{3355443200}) << row.algorithm;
        }
}

// dst holds NaN in every test here; a workspace of other bytes must not change a bit either.
TEST(GradientBugCase, CONV_17_DirtyWorkspace) {
    const Case c{make_problem({1, 3, 5, 1, {7, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}})};
    const TensorDesc filter = TensorDesc::packed(c.forward.weights);
    for (const Direction direction : {Direction::bwd_data, Direction::bwd_filter}) {
        const DirectionData data = random_direction_data(c, direction, DataType::f32, 3);
        for (const Candidate& row : candidates(context(), problem_of(c, direction, filter))) {
            if (!row.applicable || !row.deterministic) continue;
            EXPECT_EQ(run_direction(context(), c, direction, filter, row.algorithm, data, 0xFF),
                      run_direction(context(), c, direction, filter, row.algorithm, data, 0x00))
                << row.algorithm;
        }
    }
}

}  // namespace
}  // namespace convlens::test

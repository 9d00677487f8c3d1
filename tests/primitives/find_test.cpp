#include "harness.h"

namespace convlens::test {
namespace {

PoolingProblem pooling() {
    PoolingProblem p;
    p.src = TensorDesc::channels_last({1, 24, 30, 26});
    p.size = {3, 2};
    p.window = {{1, 0}, {1, 0}, {2, 2}, {1, 1}};
    p.dst = TensorDesc::channels_last({1, 24, 15, 13});
    return p;
}

ConvolutionProblem dense_3x3(std::int64_t stride) {
    ConvolutionProblem p;
    p.src = TensorDesc::channels_last({1, 32, 40, 36});
    p.weights = {48, 32, 3, 3};
    p.window = {{1, 1}, {1, 1}, {stride, stride}, {1, 1}};
    p.dst = TensorDesc::channels_last({1, 48, (40 - 1) / stride + 1, (36 - 1) / stride + 1});
    return p;
}

TEST(Names, AFamilyMeansItsRows) {
    const Problem p = dense_3x3(1);
    EXPECT_EQ(algorithms_meant(p, Backend::cpu, "winograd"),
              (std::vector<std::string>{"winograd_4x4", "winograd_2x2", "winograd_2x2_5x5"}));
    EXPECT_EQ(algorithms_meant(p, Backend::cpu, "winograd_2x2"), std::vector<std::string>{"winograd_2x2"});
    for (const char* unknown : {"", "wino", "winograd_", "winograd_2", "gemm", "WINOGRAD"})
        EXPECT_TRUE(algorithms_meant(p, Backend::cpu, unknown).empty()) << unknown;
    EXPECT_EQ(make_plan(context(), p, {.algorithm = "winograd"})->info().algorithm.substr(0, 9), "winograd_");
}

TEST(Names, AFamilyThatCanNotSaysWhy) {
    try {
        (void)make_plan(context(), dense_3x3(2), {.algorithm = "winograd"});
        FAIL() << "stride 2 by Winograd";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::not_supported);
        EXPECT_NE(std::string(error.what()).find("stride"), std::string::npos) << error.what();
    }
    EXPECT_THROW((void)make_plan(context(), dense_3x3(1), {.algorithm = "winograd", .workspace_limit = 16}),
                 Error);
}

TEST(Find, ReturnsEveryRowInListOrder) {
    const auto p = pooling();
    const auto rows = find(context(), p);
    const auto names = algorithm_names(p, Backend::cpu);
    ASSERT_EQ(rows.size(), names.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Finding& row = rows[i];
        EXPECT_EQ(row.candidate.algorithm, names[i]);
        EXPECT_EQ(row.measured, row.candidate.applicable) << names[i];
        EXPECT_EQ(row.failure, "");
        if (!row.measured) continue;
        EXPECT_GE(row.samples, 1);
        EXPECT_LE(row.samples, 10);
        EXPECT_GT(row.median_ms, 0);
        EXPECT_LE(row.p10_ms, row.median_ms);
        EXPECT_LE(row.median_ms, row.p90_ms);
        ASSERT_TRUE(row.max_error);
        EXPECT_LT(*row.max_error, 1e-6);
    }
    EXPECT_EQ(rows.back().max_error, 0.0);
}

TEST(Find, EveryOperationAndType) {
    const TensorDesc x = TensorDesc::packed({2, 5, 6});
    std::vector<Problem> problems{
        ActivationProblem{x, x, {ActivationKind::tanh}},
        BatchNormalizationProblem{x, x, 1e-3f, {}},
        ElementwiseProblem{ElementwiseKind::pow, x, TensorDesc::packed({1, 5, 1}), x, {}},
        ElementwiseProblem{ElementwiseKind::log, x, {}, x, {}},
        SoftmaxProblem{x, x, 1, true},
        LrnProblem{x, x, 3, 1, 0.75f, 1},
        ConcatProblem{{x, x}, TensorDesc::packed({2, 5, 12}), 2}};
    for (const DataType type : {DataType::f64, DataType::f16, DataType::bf16, DataType::i8, DataType::u8,
                                DataType::i32, DataType::i64, DataType::boolean})
        problems.push_back(TransformProblem{x, TensorDesc::packed({2, 5, 6}, type), {}, {}});
    for (const DataType type :
         {DataType::f64, DataType::f16, DataType::bf16, DataType::i32, DataType::boolean})
        problems.push_back(TransformProblem{TensorDesc::packed({2, 5, 6}, type), x, {}, {}});
    FullyConnectedProblem dense{TensorDesc::packed({2, 33}), 7, TensorDesc::packed({2, 7}), true, false, {}};
    problems.emplace_back(dense);
    for (const Problem& p : problems)
        for (const Finding& row : find(context(), p, {.samples = 2})) {
            EXPECT_EQ(row.failure, "") << operation_name(p);
            EXPECT_EQ(row.measured, row.candidate.applicable);
            if (!row.measured) continue;
            EXPECT_LT(row.max_error.value_or(1), 1e-5) << operation_name(p) << row.candidate.algorithm;
        }
}

TEST(Find, WorkspaceLimitIsAReasonNotAnError) {
    const TensorDesc x = TensorDesc::packed({2, 5, 6});
    ConvolutionProblem convolution;
    convolution.src = TensorDesc::channels_last({1, 8, 20, 21});
    convolution.weights = {8, 8, 3, 3};
    convolution.dst = TensorDesc::channels_last({1, 8, 18, 19});
    convolution.window = WindowDesc::unit(2);
    for (const Problem& problem :
         {Problem(BatchNormalizationProblem{x, x, 1e-3f, {}}), Problem(convolution)}) {
        const auto rows = find(context(), problem, {.workspace_limit = 3});
        int refused = 0;
        for (const Finding& row : rows) {
            if (!row.candidate.applicable || row.candidate.workspace_bytes <= 3) continue;
            EXPECT_FALSE(row.measured) << row.candidate.algorithm;
            EXPECT_NE(row.failure.find("workspace"), std::string::npos);
            ++refused;
        }
        EXPECT_GE(refused, std::holds_alternative<ConvolutionProblem>(problem) ? 1 : 0);
        EXPECT_TRUE(rows.back().measured);
    }
}

TEST(Find, CancellationKeepsWhatWasMeasured) {
    int asked = 0;
    FindOptions options;
    options.samples = 1000;
    options.user = &asked;
    options.cancelled = [](void* user) { return ++*static_cast<int*>(user) > 12; };
    const auto rows = find(context(), pooling(), options);
    EXPECT_LE(asked, 14);
    EXPECT_TRUE(rows.back().measured);
    options.cancelled = [](void*) { return true; };
    for (const auto& row : find(context(), pooling(), options)) EXPECT_FALSE(row.measured);
}

TEST(Find, BudgetEndsTheSearchButEveryRowIsTried) {
    FindOptions options;
    options.samples = 1000000;
    options.budget_ms = 20;
    for (const auto& row : find(context(), pooling(), options)) {
        EXPECT_EQ(row.measured, row.candidate.applicable);
        EXPECT_LT(row.samples, 1000000);
    }
}

TEST(Find, RealDataIsUsed) {
    const TensorDesc x = TensorDesc::packed({1, 4});
    const float zeros[4] = {};
    const float small[4] = {1e-3f, 0, -1e-3f, 2e-3f};
    // Sources are in the backend's memory.
    const Buffer there(context(), small, sizeof small), zeros_there(context(), zeros, sizeof zeros);
    const void* sources[] = {there.data()};
    FindOptions options;
    options.sources = sources;
    for (const auto& row : find(context(), ActivationProblem{x, x, {ActivationKind::relu}}, options))
        EXPECT_EQ(row.max_error, 0.0);
    const void* two[] = {there.data(), zeros_there.data()};
    options.sources = two;
    EXPECT_NE(message_of(Status::bad_parameter,
                         [&] {
                             find(context(), ActivationProblem{x, x, {}}, options);
                         }),
              "");
}

TEST(Find, EmptyProblemsHaveRowsWithoutTimes) {
    const TensorDesc x = TensorDesc::packed({0, 4});
    const auto rows = find(context(), ActivationProblem{x, x, {}});
    EXPECT_EQ(rows.size(), 2u);
    for (const auto& row : rows) EXPECT_FALSE(row.measured);
}

}  // namespace
}  // namespace convlens::test

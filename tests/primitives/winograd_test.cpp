#include <gtest/gtest.h>

#include "tests/primitives/reference_convolution.h"
#include "tests/primitives/vector_targets.h"

namespace convlens::test {
namespace {

// The rows that take the window of p.
std::vector<const char*> rows_of(const ConvolutionProblem& p) {
    if (p.weights[2] == 5) return {"winograd_2x2_5x5"};
    return {"winograd_4x4", "winograd_2x2"};
}

Context& context() {
    static Context three_threads(test_options(3));
    return three_threads;
}

// The class' bound: 16 * 2^-24 of the largest sum of |x||w| in the image (plus 1 for bias and residual). A
// tile's sums are larger than those of one of its outputs, so the scale can't be the output's own.
void check(Context& where, const ConvolutionProblem& p, unsigned seed) {
    const ConvolutionData data = random_convolution_data(p, seed);
    const ConvolutionReference reference = reference_convolution(p, data);
    const double largest = *std::max_element(reference.scale.begin(), reference.scale.end());
    for (const char* name : rows_of(p)) {
        const auto result = run_convolution(where, p, name, data);
        for (std::size_t i = 0; i < result.size(); ++i) {
            if (std::fabs(result[i] - reference.value[i]) <= 16 * 0x1p-24 * (largest + 1)) continue;
            ADD_FAILURE() << name << ": " << p.src.text() << " to " << p.dst.text() << " element " << i
                          << " is " << result[i] << ", should be " << reference.value[i];
            return;
        }
    }
}

TEST(Winograd, EveryChannelCountOnEveryVectorTarget) {
    for_each_vector_target([](const std::string& target) {
        SCOPED_TRACE(target);
        for (Index c = 1; c <= 33; ++c) {
            const Index k = (c * 7) % 34 == 0 ? 34 : (c * 7) % 34;
            for (const Index window : {3, 5}) {
                auto p = make_problem({1, c, k, 1, {9, 6}, {window, window}, {1, 1}, {1, 1}, {1, 0}, {0, 2}});
                p.has_bias = true;
                p.has_residual = c % 2;
                check(context(), p, static_cast<unsigned>(c));
            }
        }
    });
}

// Every rest of a tile, every pad, on each axis another.
TEST(Winograd, EverySizeAndPad) {
    for (Index h = 1; h <= 13; ++h)
        for (Index w = 1; w <= 13; ++w) {
            const Index pads[] = {h % 4, w % 3, (h + w) % 5, (h * w) % 4};
            for (const Index window : {3, 5}) {
                if (h + pads[0] + pads[1] < window || w + pads[2] + pads[3] < window) continue;
                const auto p = make_problem({1,
                                             5,
                                             3,
                                             1,
                                             {h, w},
                                             {window, window},
                                             {1, 1},
                                             {1, 1},
                                             {pads[0], pads[2]},
                                             {pads[1], pads[3]}});
                check(context(), p, static_cast<unsigned>(h * 20 + w));
            }
        }
}

TEST(Winograd, LayoutsModesAndEpilogues) {
    unsigned seed = 0;
    for (int src = 0; src < 4; ++src)
        for (int dst = 0; dst < 4; ++dst)
            for (const bool flipped : {false, true}) {
                const Index window = (src + dst) % 2 ? 5 : 3;
                auto p =
                    make_problem({2, 18, 21, 1, {7, 10}, {window, window}, {1, 1}, {1, 1}, {2, 1}, {0, 1}},
                                 static_cast<Layout>(src), static_cast<Layout>(dst));
                p.mode = flipped ? ConvolutionMode::convolution : ConvolutionMode::cross_correlation;
                p.has_bias = dst % 2;
                p.has_residual = src % 2;
                p.activation = flipped ? ActivationDesc{ActivationKind::swish, 1.0f, 0.0f}
                                       : ActivationDesc{ActivationKind::clip, -1.0f, 2.0f};
                check(context(), p, ++seed);
            }
}

// Chunks of several workers, one chunk shared by all threads, and a last chunk that is shorter.
TEST(Winograd, ChunksAndThreads) {
    Context one(test_options(1));
    const ConvolutionShape shapes[] = {
        {1, 40, 24, 1, {61, 53}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
        {2, 150, 70, 1, {14, 13}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
        {1, 33, 65, 1, {7, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
        {2, 150, 70, 1, {14, 13}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}},
    };
    for (const auto& shape : shapes) {
        const auto p = make_problem(shape);
        check(context(), p, 9);
        const ConvolutionData data = random_convolution_data(p, 10);
        for (const char* name : rows_of(p))
            EXPECT_EQ(run_convolution(one, p, name, data), run_convolution(context(), p, name, data)) << name;
        // A plan for one thread has one slice of workspace; a larger pool must keep to it.
        for (const char* name : rows_of(p)) {
            const auto plan = make_plan(one, p, {.algorithm = name});
            GuardedBuffer packed(plan->info().packed_bytes, 0xFF),
                workspace(plan->info().workspace_bytes, 0xFF);
            plan->pack_weights(data.weights.data(), packed.data());
            std::vector<float> dense(data.src.size()), dst(static_cast<std::size_t>(p.dst.elements()));
            each_element(p.src, [&](std::size_t at, std::size_t i) { dense[at] = data.src[i]; });
            const void* sources[] = {dense.data(), nullptr, nullptr};
            execute(*plan, context(),
                    {sources, packed.data(), dst.data(), workspace.data(), workspace.bytes()});
            EXPECT_TRUE(workspace.guards_intact()) << name;
        }
    }
}

TEST(Winograd, WorkspaceOfOneByteLessIsRefused) {
    const auto p = make_problem({1, 20, 20, 1, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    const ConvolutionData data = random_convolution_data(p, 11);
    for (const char* name : rows_of(p)) {
        const auto plan = make_plan(context(), p, {.algorithm = name});
        ASSERT_GT(plan->info().workspace_bytes, 0u);
        GuardedBuffer packed(plan->info().packed_bytes, 0), workspace(plan->info().workspace_bytes, 0);
        std::vector<float> dst(static_cast<std::size_t>(p.dst.elements()), -7.0f);
        const auto before = dst;
        const void* sources[] = {data.src.data(), nullptr, nullptr};
        EXPECT_THROW(
            execute(*plan, context(),
                    {sources, packed.data(), dst.data(), workspace.data(), plan->info().workspace_bytes - 1}),
            Error);
        EXPECT_EQ(dst, before);
    }
}

TEST(Winograd, RefusesWithAReason) {
    const ConvolutionShape shapes[] = {
        {1, 4, 4, 1, {9, 9}, {3, 3}, {2, 1}, {1, 1}, {0, 0}, {0, 0}},
        {1, 4, 4, 1, {9, 9}, {3, 3}, {1, 1}, {1, 2}, {0, 0}, {0, 0}},
        {1, 4, 4, 1, {9, 9}, {3, 5}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
        {1, 4, 4, 1, {9, 9}, {5, 5}, {1, 2}, {1, 1}, {0, 0}, {0, 0}},
        {1, 4, 4, 1, {9, 9}, {7, 7}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
        {1, 4, 4, 2, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
        {1, 4, 4, 1, {9}, {3}, {1}, {1}, {0}, {0}},
        {1, 4, 4, 1, {9, 9, 9}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    };
    for (const auto& shape : shapes)
        for (const Candidate& row : candidates(context(), make_problem(shape)))
            if (row.algorithm.starts_with("winograd")) {
                EXPECT_FALSE(row.applicable);
                EXPECT_FALSE(row.reason.empty());
                EXPECT_EQ(row.workspace_bytes, 0u);
            }
}

TEST(Winograd, EmptyBatch) {
    const auto p = make_problem({0, 20, 20, 1, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    Context one(test_options(1));
    for (Context* where : {&one, &context()})
        for (const char* name : rows_of(p)) EXPECT_NO_THROW(make_plan(*where, p, {.algorithm = name}));
}

TEST(Winograd, ExecutesFewerOperations) {
    const auto p = make_problem({1, 64, 64, 1, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    const auto four = make_plan(context(), p, {.algorithm = "winograd_4x4"})->info().work;
    const auto two = make_plan(context(), p, {.algorithm = "winograd_2x2"})->info().work;
    EXPECT_EQ(four.flops, 2.0 * 64 * 64 * 9 * 56 * 56);
    EXPECT_GT(four.executed_flops, four.flops / 4);
    EXPECT_LT(four.executed_flops, four.flops / 3);
    EXPECT_GT(two.executed_flops, two.flops / 2.25);
    EXPECT_LT(two.executed_flops, two.flops / 1.9);
    const auto large = make_problem({1, 64, 64, 1, {56, 56}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}});
    const auto five = make_plan(context(), large, {.algorithm = "winograd_2x2_5x5"})->info().work;
    EXPECT_GT(five.executed_flops, five.flops / 2.78);
    EXPECT_LT(five.executed_flops, five.flops / 2);
}

// The pattern that overflows half precision inside F(4x4); single precision must keep the small answer.
TEST(WinogradBugCase, CONV_23_LargeInputsSmallWeights) {
    const float s[] = {1, 0, -1, 0, 1, 0};
    auto p = make_problem({1, 1, 1, 1, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}});
    ConvolutionData data;
    for (const float a : s)
        for (const float b : s) data.src.push_back(1000 * a * b);
    data.weights = {0, 0, 0, 0, 0.0078125f, 0, 0, 0, 0};
    for (const Candidate& row : candidates(context(), p)) {
        if (!row.applicable) continue;
        const auto result = run_convolution(context(), p, row.algorithm, data);
        for (std::size_t i = 0; i < 16; ++i)
            EXPECT_NEAR(result[i], 7.8125f * s[i / 4 + 1] * s[i % 4 + 1], 7.8125 * 1e-5) << row.algorithm;
    }
}

// The forward form of the case: one large value through an identity filter; nothing visible beside it.
TEST(WinogradBugCase, CONV_25_NothingBesideALargeValue) {
    auto p = make_problem({1, 16, 16, 1, {16, 16}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    ConvolutionData data;
    data.src.assign(16 * 16 * 16, 0.0f);
    data.weights.assign(16 * 16 * 9, 0.0f);
    for (std::size_t k = 0; k < 16; ++k) data.weights[(k * 16 + k) * 9 + 4] = 1;
    // Every place within a tile once.
    for (std::size_t place = 0; place < 16; ++place) {
        const std::size_t y = 8 + place / 4, x = 8 + place % 4;
        data.src.assign(16 * 16 * 16, 0.0f);
        data.src[y * 16 + x] = 1000;
        for (const Candidate& row : candidates(context(), p)) {
            if (!row.applicable) continue;
            const auto result = run_convolution(context(), p, row.algorithm, data);
            for (std::size_t i = 0; i < result.size(); ++i)
                ASSERT_NEAR(result[i], i == y * 16 + x ? 1000 : 0, 1e-3) << row.algorithm << " at " << i;
        }
    }
}

}  // namespace
}  // namespace convlens::test

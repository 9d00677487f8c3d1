// Faults seen in the field (tests/data/bugcases.jsonl), by their ids, on every applicable algorithm.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <thread>

#include "tests/primitives/reference_convolution.h"

namespace convlens::test {
namespace {

Context& context() {
    static Context two_threads(test_options(2));
    return two_threads;
}

void expect_values(const ConvolutionProblem& p, const std::vector<float>& src,
                   const std::vector<float>& weights, const std::vector<float>& expected) {
    int count = 0;
    for (const Candidate& candidate : candidates(context(), p)) {
        if (!candidate.applicable) continue;
        const auto result = run_convolution(context(), p, candidate.algorithm, {src, weights, {}, {}});
        // Small whole numbers are exact in every row but those that transform.
        const bool transform =
            candidate.error_class == ErrorClass::winograd || candidate.error_class == ErrorClass::fft;
        ASSERT_EQ(result.size(), expected.size()) << candidate.algorithm;
        for (std::size_t i = 0; i < result.size(); ++i)
            EXPECT_NEAR(result[i], expected[i], transform ? 1e-5 * (1 + std::fabs(expected[i])) : 0)
                << candidate.algorithm << ", element " << i;
        ++count;
    }
    EXPECT_GE(count, 4);
}

TEST(ConvolutionBugCase, CONV_01_PadsOfEachSide) {
    expect_values(make_problem({1, 1, 1, 1, {4}, {2}, {1}, {1}, {1}, {0}}), {1, 2, 3, 4}, {1, 10},
                  {10, 21, 32, 43});
    expect_values(make_problem({1, 1, 1, 1, {4}, {2}, {1}, {1}, {0}, {1}}), {1, 2, 3, 4}, {1, 10},
                  {21, 32, 43, 4});
}

TEST(ConvolutionBugCase, CONV_03_StrideAboveWindow) {
    expect_values(make_problem({1, 1, 1, 1, {6}, {1}, {2}, {1}, {0}, {0}}), {1, 2, 3, 4, 5, 6}, {1},
                  {1, 3, 5});
    expect_values(make_problem({1, 1, 1, 1, {5}, {1}, {3}, {1}, {0}, {0}}), {2, 4, 6, 8, 10}, {3}, {6, 24});
}

TEST(ConvolutionBugCase, CONV_06_GroupsWithLongWindows) {
    std::vector<float> x, w, y;
    for (int c = 0; c < 4; ++c)
        for (int i = 0; i < 7; ++i) x.push_back(static_cast<float>((c + 1) * (i + 1)));
    for (int k = 0; k < 4; ++k)
        for (int c = 0; c < 2; ++c)
            for (int r = 1; r <= 3; ++r) w.push_back(static_cast<float>((k + 1) * (c == 0 ? 1 : -1) * r));
    for (int k = 0; k < 4; ++k)
        for (const int v : {-16, -28, -16}) y.push_back(static_cast<float>((k + 1) * v));
    for (const Layout layout : {Layout::packed, Layout::channels_last}) {
        // As one axis, and as two with a height of 1.
        expect_values(make_problem({1, 4, 4, 2, {7}, {3}, {2}, {2}, {1}, {1}}, layout, layout), x, w, y);
        expect_values(
            make_problem({1, 4, 4, 2, {1, 7}, {1, 3}, {1, 2}, {1, 2}, {0, 1}, {0, 1}}, layout, layout), x, w,
            y);
    }
}

// More than 2^31 elements: the pages in between are never touched, so they cost nothing.
TEST(ConvolutionBugCase, CONV_13_OffsetsBeyond32Bits) {
    if (on_gpu) GTEST_SKIP() << "sparse host memory can't be mirrored; tests/gpu has far offsets of its own";
    const Index far = Index{3} << 30;  // elements between the two rows of src and of dst
    auto p = make_problem({1, 3, 2, 1, {2, 4}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}});
    p.src.strides[2] = p.dst.strides[2] = far;
    const std::size_t bytes = p.src.bytes();
    const auto map = [&] {
        return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                    0);
    };
    void* src = map();
    void* dst = map();
    if (src == MAP_FAILED || dst == MAP_FAILED) GTEST_SKIP() << "no address space of " << bytes << " bytes";
    each_element(p.src, [&](std::size_t at, std::size_t dense) {
        static_cast<float*>(src)[at] = static_cast<float>(dense);
    });
    const std::vector<float> weights{1, 1, 1, 1, 2, 3};
    for (const Candidate& candidate : candidates(context(), p)) {
        if (!candidate.applicable) continue;
        const auto plan = make_plan(context(), p, {.algorithm = candidate.algorithm});
        GuardedBuffer packed(plan->info().packed_bytes, 0xFF), workspace(plan->info().workspace_bytes, 0xFF);
        plan->pack_weights(weights.data(), packed.data());
        const void* sources[] = {src, nullptr, nullptr};
        execute(*plan, context(), {sources, packed.data(), dst, workspace.data(), workspace.bytes()});
        each_element(p.dst, [&](std::size_t at, std::size_t dense) {
            const auto cell = static_cast<float>(dense % 8);
            const float expected = dense < 8 ? 3 * cell + 24 : 6 * cell + 64;
            EXPECT_EQ(static_cast<float*>(dst)[at], expected) << candidate.algorithm << " " << dense;
            static_cast<float*>(dst)[at] = NAN;
        });
    }
    munmap(src, bytes);
    munmap(dst, bytes);
}

TEST(ConvolutionBugCase, CONV_15_EmptyBatch) {
    const auto p = make_problem({0, 3, 2, 1, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}});
    for (const Candidate& candidate : candidates(context(), p)) {
        if (!candidate.applicable) continue;
        const auto plan = make_plan(context(), p, {.algorithm = candidate.algorithm});
        const void* sources[] = {nullptr, nullptr, nullptr};
        EXPECT_NO_THROW(execute(*plan, context(), {sources, nullptr, nullptr, nullptr, 0}))
            << candidate.algorithm;
    }
}

TEST(ConvolutionBugCase, CONV_17_DirtyWorkspace) {
    for (const Layout layout : {Layout::channels_last, Layout::packed})
        for (const Index c : {3, 150}) {
            const auto p =
                make_problem({1, c, 5, 1, {7, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, layout, layout);
            const ConvolutionData data = random_convolution_data(p, 17);
            for (const Candidate& candidate : candidates(context(), p)) {
                if (!candidate.applicable) continue;
                EXPECT_EQ(run_convolution(context(), p, candidate.algorithm, data, 0xFF),
                          run_convolution(context(), p, candidate.algorithm, data, 0x00))
                    << candidate.algorithm;
            }
        }
}

TEST(ConvolutionBugCase, CONV_18_StridesOfTheDestination) {
    auto p = make_problem({1, 1, 1, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}});
    p.dst.strides = {64, 64, 8, 2};
    // run_convolution checks that gaps stay as they were.
    expect_values(p, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {2}, {2, 4, 6, 8, 10, 12, 14, 16, 18});
    // A slice of channels of a larger channels-last tensor, on both sides.
    for (const Index window : {1, 3}) {
        auto slice = make_problem({2, 5, 18, 1, {6, 7}, {window, window}, {1, 1}, {1, 1}, {0, 0}, {0, 0}});
        for (TensorDesc* desc : {&slice.src, &slice.dst}) {
            TensorDesc whole = TensorDesc::channels_last({desc->dims[0], 40, desc->dims[2], desc->dims[3]});
            desc->strides = whole.strides;
            desc->offset = 11;
        }
        EXPECT_GE(check_all_algorithms(context(), slice, 18), 4);
    }
}

TEST(ConvolutionBugCase, CONV_20_WorkspaceOfOneByteLess) {
    const auto p =
        make_problem({1, 150, 9, 1, {7, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, Layout::packed);
    const ConvolutionData data = random_convolution_data(p, 20);
    int with_workspace = 0;
    for (const Candidate& candidate : candidates(context(), p)) {
        if (!candidate.applicable || candidate.workspace_bytes == 0) continue;
        ++with_workspace;
        const auto plan = make_plan(context(), p, {.algorithm = candidate.algorithm});
        GuardedBuffer packed(plan->info().packed_bytes, 0xFF), workspace(candidate.workspace_bytes, 0xFF);
        plan->pack_weights(data.weights.data(), packed.data());
        std::vector<float> dst(static_cast<std::size_t>(p.dst.elements()), -7.0f);
        const std::vector<float> before = dst;
        const void* sources[] = {data.src.data(), nullptr, nullptr};
        try {
            execute(*plan, context(),
                    {sources, packed.data(), dst.data(), workspace.data(), workspace.bytes() - 1});
            ADD_FAILURE() << candidate.algorithm << " took a workspace that is too small";
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::bad_parameter);
        }
        EXPECT_EQ(dst, before) << candidate.algorithm;
        // Exactly enough, with guards: run_convolution.
        run_convolution(context(), p, candidate.algorithm, data);
    }
    EXPECT_GE(with_workspace, 1);
}

TEST(ConvolutionBugCase, CONV_21_WorkspaceIsCountedIn64Bits) {
    const auto workspace = [](const ConvolutionShape& shape) {
        std::size_t bytes = 0;
        for (const Candidate& candidate : candidates(context(), make_problem(shape)))
            if (candidate.algorithm == "im2col_gemm" && candidate.applicable)
                bytes = candidate.workspace_bytes;
        return bytes;
    };
    // The matrix of some images, exact: of one on the processor, of as many as fit a GiB on a GPU.
    EXPECT_EQ(workspace({64, 512, 512, 1, {224, 224}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}),
              59190018048u / 64);
    EXPECT_EQ(workspace({256, 2048, 512, 1, {7, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}),
              on_gpu ? 102760448u : 102760448u / 256);
    // A single image whose matrix has more than 2^32 bytes.
    EXPECT_EQ(workspace({1, 512, 8, 1, {1024, 1024}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}),
              std::size_t{512} * 9 * 1024 * 1024 * 4);
    // Beyond 63 bits: not applicable, with a reason and no bytes.
    const Index side = Index{1} << 29;
    const auto huge = make_problem({1, 1, 1, 1, {side, side}, {9, 9}, {1, 1}, {1, 1}, {4, 4}, {4, 4}});
    for (const Candidate& candidate : candidates(context(), huge)) {
        if (candidate.applicable) continue;
        EXPECT_FALSE(candidate.reason.empty());
        EXPECT_EQ(candidate.workspace_bytes, 0u);
    }
}

TEST(ConvolutionBugCase, CONV_27_WindowLargerThanTheMap) {
    std::vector<float> x, w, y;
    for (int c = 0; c < 128; ++c) {
        x.insert(x.end(), {1, 2});
        w.insert(w.end(), {1, 2, 3, 4, 5, 6, 7, 8, 9});
        y.insert(y.end(), {21, 12});
    }
    for (const Layout layout : {Layout::packed, Layout::channels_last})
        expect_values(
            make_problem({1, 128, 128, 128, {2, 1}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, layout, layout),
            x, w, y);
}

TEST(ConvolutionBugCase, CONV_28_ContextsOfManyThreads) {
    std::vector<ConvolutionProblem> problems;
    for (Index n = 1; n <= 4; ++n)
        problems.push_back(make_problem({n, 5, 18, 1, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}));
    for (const Candidate& candidate : candidates(context(), problems[0])) {
        if (!candidate.applicable) continue;
        std::vector<std::vector<float>> expected;
        for (const auto& p : problems)
            expected.push_back(
                run_convolution(context(), p, candidate.algorithm, random_convolution_data(p, 28)));
        std::vector<std::thread> threads;
        std::vector<int> wrong(8, 0);
        for (std::size_t t = 0; t < 8; ++t)
            threads.emplace_back([&, t] {
                Context own(test_options(1 + static_cast<int>(t % 2)));
                const auto& p = problems[t % 4];
                const ConvolutionData data = random_convolution_data(p, 28);
                for (int i = 0; i < 60; ++i)
                    wrong[t] += run_convolution(own, p, candidate.algorithm, data) != expected[t % 4];
            });
        for (auto& thread : threads) thread.join();
        EXPECT_EQ(wrong, std::vector<int>(8, 0)) << candidate.algorithm;
    }
}

// One plan, shared by contexts of several threads, each with its own workspace.
TEST(ConvolutionBugCase, CONV_28_OnePlanOnManyContexts) {
    const auto p =
        make_problem({1, 150, 18, 1, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, Layout::packed);
    const ConvolutionData data = random_convolution_data(p, 29);
    for (const Candidate& candidate : candidates(context(), p)) {
        if (!candidate.applicable) continue;
        const auto plan = make_plan(context(), p, {.algorithm = candidate.algorithm});
        GuardedBuffer packed(plan->info().packed_bytes, 0xFF);
        plan->pack_weights(data.weights.data(), packed.data());
        const void* sources[] = {data.src.data(), nullptr, nullptr};
        const auto size = static_cast<std::size_t>(p.dst.elements());
        std::vector<std::vector<float>> results(4, std::vector<float>(size));
        std::vector<std::thread> threads;
        for (auto& result : results)
            threads.emplace_back([&] {
                Context own(test_options(2));
                GuardedBuffer workspace(plan->info().workspace_bytes, 0xFF);
                for (int i = 0; i < 20; ++i)
                    execute(*plan, own,
                            {sources, packed.data(), result.data(), workspace.data(), workspace.bytes()});
            });
        for (auto& thread : threads) thread.join();
        for (const auto& result : results) EXPECT_EQ(result, results[0]) << candidate.algorithm;
    }
}

}  // namespace
}  // namespace convlens::test

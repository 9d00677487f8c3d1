// Every convolution algorithm over channel counts, geometries, layouts, epilogues and vector targets.
#include <gtest/gtest.h>

#include "tests/primitives/reference_convolution.h"
#include "tests/primitives/vector_targets.h"

namespace convlens::test {
namespace {

Context& context() {
    static Context two_threads(test_options(2));
    return two_threads;
}

TEST(Convolution, EveryChannelCountOnEveryVectorTarget) {
    for_each_vector_target([](const std::string& target) {
        SCOPED_TRACE(target);
        for (Index c = 1; c <= 33; ++c) {
            // Outputs pass through 1 to 33 too, in another order.
            const Index k = (c * 7) % 34 == 0 ? 34 : (c * 7) % 34;
            const auto window = make_problem({1, c, k, 1, {5, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 0}, {0, 1}});
            EXPECT_GE(check_all_algorithms(context(), window, static_cast<unsigned>(c)), 4);
            const auto point = make_problem({2, c, k, 1, {3, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}});
            EXPECT_GE(check_all_algorithms(context(), point, static_cast<unsigned>(c)), 5);
        }
    });
}

TEST(Convolution, EveryLength) {
    // Widths 1 to 33 with windows that may reach over both ends.
    for (Index w = 1; w <= 33; ++w) {
        auto p = make_problem({1, 3, 5, 1, {2, w}, {2, 5}, {1, 1 + w % 3}, {1, 1}, {1, 3}, {0, 2}},
                              w % 2 ? Layout::channels_last : Layout::packed);
        check_all_algorithms(context(), p, static_cast<unsigned>(w));
    }
}

// Seeded shapes with different values on each axis and side; the number of axes, the layouts and the mode
// vary.
ConvolutionProblem random_problem(std::mt19937& generator) {
    const auto pick = [&](Index low, Index high) {
        return std::uniform_int_distribution<Index>(low, high)(generator);
    };
    const int rank = static_cast<int>(pick(1, 8)) <= 6 ? 2 : static_cast<int>(pick(0, 1)) * 2 + 1;
    ConvolutionShape shape;
    shape.batch = pick(1, 3);
    shape.groups = pick(0, 2) == 0 ? pick(2, 4) : 1;
    shape.channels = shape.groups * pick(1, shape.groups > 1 ? 9 : 40);
    shape.outputs = shape.groups * pick(1, shape.groups > 1 ? 9 : 40);
    for (int axis = 0; axis < rank; ++axis) {
        Index length = 0, window = 0, dilation = 0, begin = 0, end = 0;
        do {
            length = pick(1, rank == 3 ? 6 : 13);
            window = pick(1, rank == 3 ? 3 : 5);
            dilation = pick(1, 3);
            begin = pick(0, 4);
            end = pick(0, 4);
        } while (length + begin + end < dilation * (window - 1) + 1);
        shape.src.push_back(length);
        shape.window.push_back(window);
        shape.dilations.push_back(dilation);
        shape.pads_begin.push_back(begin);
        shape.pads_end.push_back(end);
        shape.strides.push_back(pick(1, 4));
    }
    const auto layout = [&] { return static_cast<Layout>(pick(0, 3)); };
    ConvolutionProblem p = make_problem(shape, layout(), layout());
    p.mode = pick(0, 1) ? ConvolutionMode::convolution : ConvolutionMode::cross_correlation;
    p.has_bias = pick(0, 1);
    p.has_residual = pick(0, 2) == 0;
    if (pick(0, 1)) p.activation = {ActivationKind::clip, -0.5f, 1.5f};
    return p;
}

TEST(Convolution, GeometriesAndLayouts) {
    std::mt19937 generator(20);
    for (int i = 0; i < 300 && !HasFailure(); ++i)
        EXPECT_GE(check_all_algorithms(context(), random_problem(generator), 100 + static_cast<unsigned>(i)),
                  4);
}

TEST(Convolution, GeometriesOnNarrowerVectorTargets) {
    for_each_vector_target([](const std::string& target) {
        SCOPED_TRACE(target);
        std::mt19937 generator(21);
        for (int i = 0; i < 40 && !HasFailure(); ++i)
            check_all_algorithms(context(), random_problem(generator), 500 + static_cast<unsigned>(i));
    });
}

TEST(Convolution, SourcesMayRunBackwardsOrRepeat) {
    for (const Index window : {1, 3})
        for (const Index channels : {3, 40}) {
            auto p =
                make_problem({2, channels, 9, 1, {5, 6}, {window, window}, {1, 2}, {1, 1}, {0, 1}, {0, 0}});
            if (window == 1)
                p = make_problem({2, channels, 9, 1, {5, 6}, {1, 1}, {1, 2}, {1, 1}, {0, 0}, {0, 0}});
            // Rows from last to first.
            p.src.offset = 4 * p.src.strides[2];
            p.src.strides[2] = -p.src.strides[2];
            EXPECT_GE(check_all_algorithms(context(), p, 1), 4);
            // One image for the whole batch: the dense data must say so too.
            p.src.strides[0] = 0;
            ConvolutionData data = random_convolution_data(p, 2);
            const auto image = static_cast<std::ptrdiff_t>(data.src.size() / 2);
            std::copy_n(data.src.begin(), image, data.src.begin() + image);
            const ConvolutionReference reference = reference_convolution(p, data);
            for (const Candidate& candidate : candidates(context(), p)) {
                if (!candidate.applicable) continue;
                expect_matches(p, candidate.error_class, candidate.algorithm, reference,
                               run_convolution(context(), p, candidate.algorithm, data));
            }
        }
}

// Sizes that reach several blocks of rows, chunks of k, panels and threads.
TEST(Convolution, LargerThanOneBlock) {
    const ConvolutionShape shapes[] = {
        {1, 17, 70, 1, {19, 23}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},   // several row blocks
        {2, 300, 41, 1, {4, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},    // k of 2700
        {1, 2300, 37, 1, {3, 2}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},   // k of 2300 in one run
        {1, 3, 20, 1, {61, 57}, {7, 5}, {2, 3}, {1, 1}, {3, 2}, {3, 1}},    // a first layer
        {1, 5, 9, 1, {40, 37}, {33, 35}, {3, 2}, {1, 1}, {2, 1}, {0, 3}},   // a large window
        {1, 96, 130, 2, {21, 22}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},  // groups of points
        {1, 40, 72, 1, {23, 31}, {1, 1}, {2, 3}, {1, 1}, {0, 0}, {0, 0}},   // strided points
    };
    unsigned seed = 1000;
    for (const auto& shape : shapes)
        for (const Layout layout : {Layout::channels_last, Layout::packed_gaps}) {
            auto p = make_problem(shape, layout, layout);
            p.has_bias = p.has_residual = true;
            p.activation = {ActivationKind::leaky_relu, 0.25f, 0};
            check_all_algorithms(context(), p, ++seed);
        }
}

// One and three channels side by side, windows of the sizes that first layers have.
TEST(Convolution, FirstLayers) {
    unsigned seed = 1500;
    for (const Index channels : {1, 3})
        for (const Index window : {3, 5, 7, 11})
            for (const Index stride : {1, 2}) {
                auto p = make_problem({2, channels, 30 + window * stride, 1, {19, 37}, {window - 1, window},
                                       {stride, 3 - stride}, {3 - stride, 1}, {2, window / 2}, {1, 0}},
                                      Layout::channels_last, stride == 1 ? Layout::channels_last : Layout::packed);
                p.mode = stride == 1 ? ConvolutionMode::convolution : ConvolutionMode::cross_correlation;
                p.has_bias = p.has_residual = true;
                p.activation = {stride == 1 ? ActivationKind::relu : ActivationKind::hard_swish, 0, 0};
                check_all_algorithms(context(), p, ++seed);
            }
}

TEST(Convolution, ActivationsWithBiasAndResidual) {
    const ActivationDesc activations[] = {{ActivationKind::identity, 0, 0},
                                          {ActivationKind::relu, 0, 0},
                                          {ActivationKind::clip, 0, 1},
                                          {ActivationKind::leaky_relu, 0.1f, 0},
                                          {ActivationKind::elu, 0.7f, 0},
                                          {ActivationKind::sigmoid, 0, 0},
                                          {ActivationKind::tanh, 0, 0},
                                          {ActivationKind::swish, 1.5f, 0},
                                          {ActivationKind::hard_sigmoid, 0.2f, .5f},
                                          {ActivationKind::hard_swish, 0, 0}};
    unsigned seed = 0;
    for (const auto& activation : activations)
        for (const bool bias : {false, true})
            for (const bool residual : {false, true})
                for (const Index window : {1, 3}) {
                    auto p =
                        make_problem({1, 6, 19, 1, {4, 5}, {window, window}, {1, 1}, {1, 1}, {0, 0}, {0, 0}});
                    p.activation = activation;
                    p.has_bias = bias;
                    p.has_residual = residual;
                    check_all_algorithms(context(), p, ++seed);
                }
}

// Wide loads and bulk copies need tensors on 16 bytes: channels-last, of steps of channels that are full and not.
TEST(Convolution, AlignedTensors) {
    const ConvolutionShape shapes[] = {
        {2, 32, 40, 1, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
        {1, 36, 24, 1, {9, 11}, {3, 2}, {1, 2}, {2, 1}, {0, 1}, {2, 0}},
        {1, 4, 5, 1, {9, 11}, {3, 5}, {2, 1}, {1, 1}, {1, 2}, {1, 2}},
        {1, 3, 32, 1, {13, 12}, {5, 5}, {2, 2}, {1, 1}, {2, 2}, {1, 2}},
        {1, 132, 136, 1, {6, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
        {3, 16, 64, 4, {7, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
        {1, 512, 72, 1, {4, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    };
    unsigned seed = 2000;
    for (const auto& shape : shapes)
        for (const Layout dst : {Layout::channels_last, Layout::packed}) {
            auto p = make_problem(shape, Layout::channels_last, dst);
            p.has_bias = p.has_residual = seed % 4 < 2;
            p.activation = {ActivationKind::clip, -1, 2};
            EXPECT_GE(check_all_algorithms(context(), p, ++seed, 0), 4);
        }
}

TEST(Convolution, NanStaysWhereItsWindowReaches) {
    auto p = make_problem({1, 4, 18, 1, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    p.activation = {ActivationKind::clip, 0, 6};
    ConvolutionData data = random_convolution_data(p, 7);
    const Index h = 4, w = 6;
    data.src[static_cast<std::size_t>((2 * 9 + h) * 11 + w)] = NAN;
    for (const Candidate& candidate : candidates(context(), p)) {
        if (!candidate.applicable) continue;
        const auto result = run_convolution(context(), p, candidate.algorithm, data);
        // A tile mixes its outputs, so a NaN may spread within a tile there; one may hold the whole image.
        const Index spread = candidate.error_class == ErrorClass::winograd ? 5
                             : candidate.error_class == ErrorClass::fft    ? 11
                                                                           : 1;
        for (Index k = 0; k < 18; ++k)
            for (Index y = 0; y < 9; ++y)
                for (Index x = 0; x < 11; ++x) {
                    const bool nan = std::isnan(result[static_cast<std::size_t>((k * 9 + y) * 11 + x)]);
                    const Index distance = std::max(std::abs(y - h), std::abs(x - w));
                    const std::string at = candidate.algorithm + " " + Dims{k, y, x}.text();
                    EXPECT_TRUE(nan || distance > 1) << at;
                    EXPECT_FALSE(nan && distance > spread) << at;
                }
    }
}

TEST(Convolution, BitsDoNotDependOnThreads) {
    Context one(test_options(1)), three(test_options(3));
    auto p = make_problem({1, 33, 100, 1, {24, 27}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    const ConvolutionData data = random_convolution_data(p, 3);
    for (const Candidate& candidate : candidates(one, p)) {
        if (!candidate.applicable || !candidate.deterministic) continue;
        EXPECT_EQ(run_convolution(one, p, candidate.algorithm, data),
                  run_convolution(three, p, candidate.algorithm, data))
            << candidate.algorithm;
    }
}

// A plan made for few threads runs on a pool of more.
TEST(Convolution, PlanRunsOnContextsWithMoreThreads) {
    if (on_gpu) GTEST_SKIP() << "scratch of each thread is the processor's";
    Context one(test_options(1)), four(test_options(4));
    auto p = make_problem({1, 150, 64, 1, {24, 27}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, Layout::packed);
    const ConvolutionData data = random_convolution_data(p, 3);
    const auto plan = make_plan(one, p, {.algorithm = "implicit_gemm"});
    ASSERT_GT(plan->info().workspace_bytes, 0u) << "this case is for scratch of each thread";
    GuardedBuffer packed(plan->info().packed_bytes, 0xFF), workspace(plan->info().workspace_bytes, 0xFF);
    plan->pack_weights(data.weights.data(), packed.data());
    std::vector<float> a(static_cast<std::size_t>(p.dst.elements())), b(a);
    const void* sources[] = {data.src.data(), nullptr, nullptr};
    execute(*plan, one, {sources, packed.data(), a.data(), workspace.data(), workspace.bytes()});
    execute(*plan, four, {sources, packed.data(), b.data(), workspace.data(), workspace.bytes()});
    EXPECT_EQ(a, b);
    EXPECT_TRUE(workspace.guards_intact());
}

TEST(Convolution, OtherTypesAreNotSupportedWithAReason) {
    auto p = make_problem({1, 2, 3, 1, {4, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}});
    p.src.type = p.dst.type = DataType::i32;
    for (const Candidate& candidate : candidates(context(), p)) {
        EXPECT_FALSE(candidate.applicable) << candidate.algorithm;
        EXPECT_FALSE(candidate.reason.empty()) << candidate.algorithm;
    }
    EXPECT_THROW(make_plan(context(), p), Error);
}

TEST(Convolution, ExecutedOperationsCountThePaddingOfTiles) {
    const auto p = make_problem({1, 8, 17, 1, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    const auto plan = make_plan(context(), p, {.algorithm = "implicit_gemm"});
    const double direct = 2.0 * 17 * 6 * 7 * 8 * 9;
    EXPECT_DOUBLE_EQ(plan->info().work.flops, direct);
    EXPECT_GE(plan->info().work.executed_flops, direct);
    EXPECT_LE(plan->info().work.executed_flops, direct * 32 / 17);
}

}  // namespace
}  // namespace convlens::test

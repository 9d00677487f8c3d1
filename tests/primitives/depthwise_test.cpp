#include <gtest/gtest.h>

#include "tests/primitives/reference_convolution.h"
#include "tests/primitives/vector_targets.h"

namespace convlens::test {
namespace {

Context& context() {
    static Context three_threads(test_options(3));
    return three_threads;
}

void check(const ConvolutionProblem& p, unsigned seed) {
    const ConvolutionData data = random_convolution_data(p, seed);
    expect_matches(p, ErrorClass::fp32, "depthwise", reference_convolution(p, data),
                   run_convolution(context(), p, "depthwise", data));
}

TEST(Depthwise, EveryChannelCountOnEveryVectorTarget) {
    for_each_vector_target([](const std::string& target) {
        SCOPED_TRACE(target);
        for (Index c = 1; c <= 33; ++c)
            for (const Index window : {3, 5}) {
                auto p =
                    make_problem({2, c, c, c, {6, 11}, {window, window}, {1, 1}, {1, 1}, {1, 2}, {2, 0}});
                p.has_bias = true;
                p.has_residual = c % 2;
                p.activation = {ActivationKind::clip, -0.5f, 1.0f};
                check(p, static_cast<unsigned>(c));
            }
    });
}

// Windows 3 and 5 with strides 1 and 2 are unrolled over blocks of columns; these sizes put every width and
// every pad at every place of a block.
TEST(Depthwise, EverySizeAndPadOfTheUnrolledWindows) {
    for (const Index window : {3, 5})
        for (Index stride = 1; stride <= 3; ++stride)
            for (Index h = 1; h <= 13; h += 3)
                for (Index w = 1; w <= 13; ++w)
                    for (Index pad = 0; pad <= window; ++pad) {
                        const Index end = (w + pad) % (window + 1);
                        if (w + pad + end < window || h + pad + 1 < window) continue;
                        const auto p = make_problem({1,
                                                     17,
                                                     17,
                                                     17,
                                                     {h, w},
                                                     {window, window},
                                                     {2, stride},
                                                     {1, 1},
                                                     {pad, pad},
                                                     {1, end}});
                        check(p, static_cast<unsigned>(w));
                        if (HasFailure()) return;
                    }
}

TEST(Depthwise, AnyGeometryLayoutAndMultiplier) {
    std::mt19937 generator(30);
    const auto pick = [&](Index low, Index high) {
        return std::uniform_int_distribution<Index>(low, high)(generator);
    };
    for (int i = 0; i < 400 && !HasFailure(); ++i) {
        const int rank = i % 5 == 0 ? 1 : i % 5 == 1 ? 3 : 2;
        ConvolutionShape shape;
        shape.batch = pick(1, 3);
        shape.channels = shape.groups = pick(1, 40);
        shape.outputs = shape.channels * (pick(0, 3) == 0 ? pick(2, 3) : 1);
        for (int axis = 0; axis < rank; ++axis) {
            Index length = 0, window = 0, dilation = 0, begin = 0, end = 0;
            do {
                length = pick(1, rank == 3 ? 5 : 13);
                window = pick(1, rank == 3 ? 3 : 7);
                dilation = pick(1, 3);
                begin = pick(0, 5);
                end = pick(0, 5);
            } while (length + begin + end < dilation * (window - 1) + 1);
            shape.src.push_back(length);
            shape.window.push_back(window);
            shape.dilations.push_back(dilation);
            shape.pads_begin.push_back(begin);
            shape.pads_end.push_back(end);
            shape.strides.push_back(pick(1, 3));
        }
        auto p = make_problem(shape, static_cast<Layout>(pick(0, 3)), static_cast<Layout>(pick(0, 3)));
        p.mode = pick(0, 1) ? ConvolutionMode::convolution : ConvolutionMode::cross_correlation;
        p.has_bias = pick(0, 1);
        p.has_residual = pick(0, 1);
        if (pick(0, 1)) p.activation = {ActivationKind::hard_swish, 0, 0};
        check(p, static_cast<unsigned>(i));
    }
}

// Several chunks of channels, bands of rows and stretches of columns.
TEST(Depthwise, LargerThanOneTask) {
    for (const Layout layout : {Layout::channels_last, Layout::packed, Layout::channels_last_gaps}) {
        check(make_problem({1, 70, 70, 70, {29, 31}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, layout, layout),
              1);
        check(make_problem({2, 81, 81, 81, {20, 23}, {5, 5}, {2, 2}, {1, 1}, {2, 1}, {1, 2}}, layout, layout),
              2);
        check(make_problem({1, 3, 3, 3, {40, 600}, {3, 3}, {1, 2}, {1, 1}, {1, 1}, {1, 1}}, layout, layout),
              3);
    }
}

TEST(Depthwise, NanReachesOnlyItsWindow) {
    for (const Layout layout : {Layout::channels_last, Layout::packed})
        for (const Index stride : {1, 2}) {
            auto p = make_problem({1, 20, 20, 20, {9, 11}, {3, 3}, {stride, stride}, {1, 1}, {1, 1}, {1, 1}},
                                  layout, layout);
            p.activation = {ActivationKind::clip, 0, 6};
            ConvolutionData data = random_convolution_data(p, 7);
            data.src[(7 * 9 + 4) * 11 + 6] = NAN;
            const auto result = run_convolution(context(), p, "depthwise", data);
            const Index P = p.dst.dims[2], Q = p.dst.dims[3];
            for (Index k = 0; k < 20; ++k)
                for (Index y = 0; y < P; ++y)
                    for (Index x = 0; x < Q; ++x) {
                        const bool reached =
                            k == 7 && std::abs(y * stride - 4) <= 1 && std::abs(x * stride - 6) <= 1;
                        EXPECT_EQ(std::isnan(result[static_cast<std::size_t>((k * P + y) * Q + x)]), reached);
                    }
        }
}

TEST(Depthwise, BitsDoNotDependOnThreads) {
    Context one(test_options(1));
    for (const Layout layout : {Layout::channels_last, Layout::packed}) {
        const auto p = make_problem({1, 150, 150, 150, {33, 34}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}},
                                    layout, layout);
        const ConvolutionData data = random_convolution_data(p, 8);
        EXPECT_EQ(run_convolution(one, p, "depthwise", data),
                  run_convolution(context(), p, "depthwise", data));
    }
}

TEST(Depthwise, RefusesWithAReason) {
    const auto p = make_problem({1, 4, 4, 2, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}});
    for (const Candidate& row : candidates(context(), p))
        if (row.algorithm == "depthwise") {
            EXPECT_FALSE(row.applicable);
            EXPECT_NE(row.reason.find("groups"), std::string::npos) << row.reason;
        }
    EXPECT_THROW(make_plan(context(), p, {.algorithm = "depthwise"}), Error);
    const auto mine = make_problem({1, 4, 4, 4, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}});
    EXPECT_EQ(make_plan(context(), mine)->info().algorithm, "depthwise");
}

TEST(DepthwiseBugCase, CONV_04_Dilation) {
    for (const Layout layout : {Layout::channels_last, Layout::packed}) {
        auto p = make_problem({1, 2, 2, 2, {5, 5}, {3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}}, layout, layout);
        p.has_bias = true;
        ConvolutionData data;
        data.src.assign(50, 1.0f);
        data.weights.assign(18, 1.0f);
        data.bias = {1.0f, -1.0f};
        std::vector<float> want;
        for (const float bias : {1.0f, -1.0f})
            for (const float row : {2.0f, 2.0f, 3.0f, 2.0f, 2.0f})
                for (const float column : {2.0f, 2.0f, 3.0f, 2.0f, 2.0f}) want.push_back(row * column + bias);
        for (const Candidate& row : candidates(context(), p))
            if (row.applicable) {
                EXPECT_EQ(run_convolution(context(), p, row.algorithm, data), want) << row.algorithm;
            }
    }
}

}  // namespace
}  // namespace convlens::test

// The reference row: its bits are those of single-precision sums in the order c, then the window.
#include <gtest/gtest.h>

#include "tests/primitives/reference_convolution.h"
#include "tests/primitives/vector_targets.h"

namespace convlens::test {
namespace {

// Two spatial axes; volatile keeps the compiler from fusing or reordering.
std::vector<float> in_order(const ConvolutionProblem& p, const ConvolutionData& data) {
    const Index C = p.src.dims[1] / p.groups, H = p.src.dims[2], W = p.src.dims[3];
    const Index K = p.dst.dims[1], R = p.weights[2], S = p.weights[3];
    std::vector<float> out;
    for (Index n = 0; n < p.dst.dims[0]; ++n)
        for (Index k = 0; k < K; ++k)
            for (Index y = 0; y < p.dst.dims[2]; ++y)
                for (Index x = 0; x < p.dst.dims[3]; ++x) {
                    volatile float sum = 0;
                    for (Index c = 0; c < C; ++c)
                        for (Index r = 0; r < R; ++r)
                            for (Index s = 0; s < S; ++s) {
                                const Index h = y * p.window.strides[0] + r * p.window.dilations[0] -
                                                p.window.pads_begin[0];
                                const Index w = x * p.window.strides[1] + s * p.window.dilations[1] -
                                                p.window.pads_begin[1];
                                if (h < 0 || h >= H || w < 0 || w >= W) continue;
                                const Index channel = k / (K / p.groups) * C + c;
                                volatile float product =
                                    data.src[static_cast<std::size_t>(
                                        ((n * p.src.dims[1] + channel) * H + h) * W + w)] *
                                    data.weights[static_cast<std::size_t>(((k * C + c) * R + r) * S + s)];
                                sum = sum + product;
                            }
                    if (p.has_bias) sum = sum + data.bias[static_cast<std::size_t>(k)];
                    if (p.has_residual) sum = sum + data.residual[out.size()];
                    out.push_back(static_cast<float>(sum));
                }
    return out;
}

TEST(Direct, BitsOfTheStatedOrder) {
    Context two(test_options(2));
    const ConvolutionShape shapes[] = {
        {2, 7, 37, 1, {9, 5}, {3, 2}, {1, 2}, {2, 1}, {1, 0}, {2, 1}},
        {1, 12, 9, 3, {6, 13}, {5, 3}, {2, 1}, {1, 2}, {4, 0}, {0, 3}},
        {3, 6, 6, 6, {4, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
        {1, 5, 4, 1, {8, 3}, {4, 1}, {3, 1}, {1, 1}, {0, 0}, {3, 0}},
    };
    for (const auto& shape : shapes)
        for (const Layout layout : {Layout::packed, Layout::channels_last_gaps}) {
            auto p = make_problem(shape, layout, layout);
            p.has_bias = p.has_residual = true;
            const ConvolutionData data = random_convolution_data(p, 5);
            const auto want = in_order(p, data);
            for_each_vector_target([&](const std::string& target) {
                EXPECT_EQ(run_convolution(two, p, "direct", data), want) << target << " " << p.src.text();
            });
        }
}

TEST(Direct, IsTheLastRowAndTakesEverything) {
    Context one(test_options(1));
    const auto p =
        make_problem({1, 4, 6, 2, {3, 4, 5}, {2, 3, 1}, {1, 2, 3}, {1, 1, 2}, {0, 2, 1}, {1, 0, 0}});
    const auto rows = candidates(one, p);
    ASSERT_FALSE(rows.empty());
    EXPECT_EQ(rows.back().algorithm, "direct");
    EXPECT_TRUE(rows.back().applicable);
    EXPECT_EQ(rows.back().error_class, ErrorClass::exact_order);
    EXPECT_EQ(rows.back().workspace_bytes, 0u);
}

}  // namespace
}  // namespace convlens::test

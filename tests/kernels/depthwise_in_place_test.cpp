// Depthwise convolution whose residual lies in dst: bit for bit what a residual elsewhere gives.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/cpu/convolution/depthwise.h"
#include "tests/primitives/vector_targets.h"

namespace convlens::cpu {
namespace {

struct Case {
    std::int64_t channels, width, window, stride, dilation, multiplier;
    bool planar;
};

std::vector<float> random_floats(std::int64_t count, std::mt19937& generator) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& x : values) x = uniform(generator);
    return values;
}

void check(const Case& t, ThreadPool& pool) {
    SCOPED_TRACE("channels " + std::to_string(t.channels) + " width " + std::to_string(t.width) + " window " +
                 std::to_string(t.window) + " stride " + std::to_string(t.stride));
    ConvolutionGeometry g;
    g.batch = 2;
    g.channels = g.groups = t.channels;
    g.outputs = t.channels * t.multiplier;
    g.window = {1, 3, t.window};
    g.strides = {1, 1, t.stride};
    g.dilations = {1, 1, t.dilation};
    g.pads = {0, 1, 1};
    g.dst = {1, 5, t.width};
    g.src = {1, 5, std::max<std::int64_t>(1, (t.width - 1) * t.stride + (t.window - 1) * t.dilation - 1)};
    const auto strides = [&](std::int64_t channels, const Axes& size) -> Strides5 {
        const std::int64_t cells = size[1] * size[2];
        if (t.planar) return {channels * cells, cells, cells, size[2], 1};
        return {channels * cells, 1, channels * cells, channels * size[2], channels};
    };
    g.src_strides = strides(g.channels, g.src);
    g.dst_strides = strides(g.outputs, g.dst);
    std::mt19937 generator(7);
    const auto src = random_floats(g.batch * g.channels * g.src[1] * g.src[2], generator);
    const auto residual = random_floats(g.batch * g.outputs * g.dst[1] * g.dst[2], generator);
    const auto weights = random_floats(g.outputs * g.taps(), generator);
    const auto bias = random_floats(g.outputs, generator);
    std::vector<float> packed(convolution_depthwise_packed_size(g));
    convolution_depthwise_pack(g, weights.data(), packed.data());
    const Activation activation{ActivationKind::leaky_relu, 0.25f, 0};
    std::vector<float> apart(residual.size()), in_place = residual;
    convolution_depthwise(g, src.data(), packed.data(), bias.data(), residual.data(), activation,
                          apart.data(), pool);
    convolution_depthwise(g, src.data(), packed.data(), bias.data(), in_place.data(), activation,
                          in_place.data(), pool);
    EXPECT_EQ(apart, in_place);
}

TEST(Depthwise, ResidualMayLieInDst) {
    ThreadPool pool(2);
    test::for_each_vector_target([&](const std::string& target) {
        SCOPED_TRACE(target);
        for (const std::int64_t channels : {1, 3, 5, 17, 32, 67, 150})
            for (const std::int64_t width : {2, 3, 6, 7, 13})
                for (const std::int64_t window : {1, 2, 3, 5})
                    for (const std::int64_t stride : {1, 2}) {
                        check({channels, width, window, stride, 1, 1, false}, pool);
                        check({channels, width, window, stride, 2, 1, false}, pool);
                        check({channels, width, window, stride, 1, 2, true}, pool);
                    }
    });
}

}  // namespace
}  // namespace convlens::cpu

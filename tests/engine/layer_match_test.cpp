#include "app/engine/layer_match.h"

#include <gtest/gtest.h>

namespace convlens::engine {
namespace {

LayerInfo layer(const char* name, const char* category, std::vector<std::string> fused = {}) {
    LayerInfo l;
    l.name = name;
    l.category = category;
    l.fused = std::move(fused);
    return l;
}

NetworkInfo explore() {
    NetworkInfo n;
    n.model_path = "a.onnx";
    n.layers = {layer("pad", "transform"), layer("conv1", "convolution"), layer("bn1", "normalisation"),
                layer("relu1", "activation"), layer("conv2", "depthwise")};
    return n;
}

NetworkInfo lean() {
    NetworkInfo n;
    n.model_path = "a.onnx";
    n.layers = {layer("pad", "transform"), layer("conv1", "convolution", {"bn1", "relu1"}),
                layer("conv2", "depthwise")};
    return n;
}

TEST(MatchingLayer, FollowsNamesAndFusedNodes) {
    const auto a = explore(), b = lean();
    EXPECT_EQ(matching_layer(&a, 0, b), 0);
    EXPECT_EQ(matching_layer(&a, 1, b), 1);
    EXPECT_EQ(matching_layer(&a, 2, b), 1);
    EXPECT_EQ(matching_layer(&a, 3, b), 1);
    EXPECT_EQ(matching_layer(&a, 4, b), 2);
    EXPECT_EQ(matching_layer(&b, 2, a), 4);
}

TEST(MatchingLayer, AnotherModelStartsAtItsFirstConvolution) {
    auto a = explore(), b = lean();
    b.model_path = "b.onnx";
    EXPECT_EQ(matching_layer(&a, 4, b), 1);
    EXPECT_EQ(matching_layer(nullptr, 4, a), 1);
}

TEST(MatchingLayer, IsAlwaysAValidIndex) {
    const auto a = explore();
    auto b = explore();
    b.layers = {layer("x", "activation")};
    for (const int wrong : {-1, 99, 0, 4}) EXPECT_EQ(matching_layer(&a, wrong, b), 0);
    b.layers.clear();
    EXPECT_EQ(matching_layer(&a, 1, b), 0);
}

}  // namespace
}  // namespace convlens::engine

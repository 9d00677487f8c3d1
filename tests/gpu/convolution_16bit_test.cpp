// Convolutions of f16 and bf16 tensors, aligned and not, by every row that takes them.
#include <gtest/gtest.h>

#include "kernels/common/element.h"
#include "tests/primitives/reference_convolution.h"

namespace convlens::test {
namespace {

Context& context() {
    static Context shared(test_options(2));
    return shared;
}

std::uint16_t narrow(DataType type, float value) {
    return type == DataType::f16 ? kernels::half_from(value).bits : kernels::bfloat16_from(value).bits;
}
float widen(DataType type, std::uint16_t bits) {
    return type == DataType::f16 ? kernels::to_float(kernels::Half{bits})
                                 : kernels::to_float(kernels::BFloat16{bits});
}

std::vector<std::uint16_t> run_16bit(const ConvolutionProblem& p, const std::string& algorithm,
                                     const ConvolutionData& data, std::size_t shift) {
    const DataType type = p.dst.type;
    const auto plan = make_plan(context(), p, {.algorithm = algorithm});
    const auto& info = plan->info();
    std::vector<std::uint16_t> weights, bias;
    for (const float w : data.weights) weights.push_back(narrow(type, w));
    for (const float b : data.bias) bias.push_back(narrow(type, b));
    GuardedBuffer packed(info.packed_bytes, 0xFF), workspace(info.workspace_bytes, 0xFF);
    plan->pack_weights(weights.data(), packed.data());
    GuardedBuffer src(p.src.bytes(), 0xFF, shift), residual(p.dst.bytes(), 0xFF, shift),
        dst(p.dst.bytes(), 0xFF, shift);
    each_element(p.src, [&](std::size_t at, std::size_t dense) {
        src.as<std::uint16_t>()[at] = narrow(type, data.src[dense]);
    });
    if (p.has_residual)
        each_element(p.dst, [&](std::size_t at, std::size_t dense) {
            residual.as<std::uint16_t>()[at] = narrow(type, data.residual[dense]);
        });
    const void* sources[] = {src.data(), p.has_bias ? bias.data() : nullptr,
                             p.has_residual ? residual.data() : nullptr};
    execute(*plan, context(),
            {sources, packed.data(), dst.data(), info.workspace_bytes ? workspace.data() : nullptr,
             info.workspace_bytes});
    EXPECT_TRUE(dst.guards_intact() && workspace.guards_intact() && packed.guards_intact()) << algorithm;
    std::vector<std::uint16_t> result(static_cast<std::size_t>(p.dst.elements()));
    each_element(p.dst,
                 [&](std::size_t at, std::size_t dense) { result[dense] = dst.as<std::uint16_t>()[at]; });
    return result;
}

// How many rows took the problem.
int check_16bit(ConvolutionProblem p, DataType type, unsigned seed, std::size_t shift) {
    p.src.type = p.dst.type = type;
    ConvolutionData data = random_convolution_data(p, seed);
    for (auto* values : {&data.src, &data.weights, &data.bias, &data.residual})
        for (float& value : *values) value = widen(type, narrow(type, value));
    const ConvolutionReference reference = reference_convolution(p, data);
    // One rounding of the result, half a unit of its last place, besides sums in f32.
    const double unit = type == DataType::f16 ? 0x1p-11 : 0x1p-8, least = type == DataType::f16 ? 0x1p-25 : 0;
    int count = 0;
    for (const Candidate& candidate : candidates(context(), p)) {
        if (!candidate.applicable) continue;
        const auto result = run_16bit(p, candidate.algorithm, data, shift);
        for (std::size_t i = 0; i < result.size(); ++i) {
            const double value = reference.value[i];
            const double bound = unit * std::fabs(value) + least +
                                 2 * convolution_tolerance(p, ErrorClass::fp32, reference.scale[i]);
            if (std::fabs(widen(type, result[i]) - value) <= bound) continue;
            ADD_FAILURE() << candidate.algorithm << " " << p.src.text() << " to " << p.dst.text()
                          << ", shift " << shift << ": element " << i << " is " << widen(type, result[i])
                          << ", should be " << value;
            break;
        }
        ++count;
    }
    return count;
}

TEST(Convolution16Bit, EveryRowThatTakesIt) {
    const ConvolutionShape shapes[] = {
        {2, 32, 40, 1, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
        {1, 72, 24, 1, {9, 11}, {3, 2}, {1, 2}, {2, 1}, {0, 1}, {2, 0}},
        {1, 3, 33, 1, {13, 12}, {5, 5}, {2, 2}, {1, 1}, {2, 2}, {1, 2}},
        {1, 136, 136, 1, {6, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
        {2, 32, 64, 4, {7, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
        {1, 384, 72, 1, {4, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    };
    unsigned seed = 3000;
    for (const auto& shape : shapes)
        for (const DataType type : {DataType::f16, DataType::bf16})
            for (const Layout layout : {Layout::channels_last, Layout::packed_gaps})
                for (const std::size_t shift : {std::size_t{0}, std::size_t{2}}) {
                    auto p = make_problem(shape, layout, layout);
                    p.has_bias = p.has_residual = ++seed % 2 == 0;
                    p.activation = {ActivationKind::relu, 0, 0};
                    EXPECT_GE(check_16bit(p, type, seed, shift), 1);
                }
}

}  // namespace
}  // namespace convlens::test

// Fully connected layers against a double loop, every algorithm.
#include <gtest/gtest.h>

#include "tests/primitives/reference_convolution.h"
#include "tests/primitives/vector_targets.h"

namespace convlens::test {
namespace {

Context& context() {
    static Context two_threads(test_options(2));
    return two_threads;
}

FullyConnectedProblem problem(Index m, Index n, Index k) {
    FullyConnectedProblem p;
    p.src = TensorDesc::packed({m, k});
    p.dst = TensorDesc::packed({m, n});
    p.outputs = n;
    return p;
}

int check_all(const FullyConnectedProblem& p, unsigned seed) {
    const Index M = p.src.dims[0], K = p.src.dims[1], N = p.outputs;
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto random = [&](Index count) {
        std::vector<float> v(static_cast<std::size_t>(count));
        for (float& x : v) x = uniform(generator);
        return v;
    };
    const auto x = random(M * K), w = random(N * K), bias = random(N), residual = random(M * N);
    GuardedBuffer src(p.src.bytes(), 0xFF, 4), added(p.dst.bytes(), 0xFF, 4), plain(w.size() * 4, 0xFF, 4);
    std::copy(w.begin(), w.end(), plain.as<float>());
    each_element(p.src, [&](std::size_t at, std::size_t dense) { src.as<float>()[at] = x[dense]; });
    each_element(p.dst, [&](std::size_t at, std::size_t dense) { added.as<float>()[at] = residual[dense]; });
    int count = 0;
    for (const Candidate& candidate : candidates(context(), p)) {
        if (!candidate.applicable) continue;
        ++count;
        SCOPED_TRACE(candidate.algorithm + " " + p.src.text() + " to " + p.dst.text());
        const auto plan = make_plan(context(), p, {.algorithm = candidate.algorithm});
        GuardedBuffer packed(plan->info().packed_bytes, 0xFF), workspace(plan->info().workspace_bytes, 0xFF);
        GuardedBuffer dst(p.dst.bytes(), 0xFF, 4);
        plan->pack_weights(plain.data(), packed.data());
        // Absent sources may be given all the same; they must not count.
        const void* sources[] = {src.data(), bias.data(), added.data()};
        execute(*plan, context(), {sources, packed.data(), dst.data(), workspace.data(), workspace.bytes()});
        EXPECT_TRUE(dst.guards_intact() && packed.guards_intact() && workspace.guards_intact());
        std::vector<bool> written(p.dst.bytes() / 4);
        each_element(p.dst, [&](std::size_t at, std::size_t dense) {
            written[at] = true;
            const Index m = static_cast<Index>(dense) / N, n = static_cast<Index>(dense) % N;
            double sum = 0, scale = 0;
            for (Index k = 0; k < K; ++k) {
                const double term =
                    double(x[static_cast<std::size_t>(m * K + k)]) * w[static_cast<std::size_t>(n * K + k)];
                sum += term;
                scale += std::fabs(term);
            }
            if (p.has_bias) sum += bias[static_cast<std::size_t>(n)];
            if (p.has_residual) sum += residual[dense];
            const double bound = 6e-8 * (4 + std::sqrt(double(K))) * (scale + 2) + 1e-6;
            EXPECT_NEAR(dst.as<float>()[at], reference_activation(p.activation, sum), bound);
        });
        for (std::size_t i = 0; i < written.size(); ++i)
            EXPECT_TRUE(written[i] || std::bit_cast<std::uint32_t>(dst.as<float>()[i]) == untouched);
    }
    return count;
}

TEST(FullyConnected, EverySizeOnEveryVectorTarget) {
    for_each_vector_target([](const std::string& target) {
        SCOPED_TRACE(target);
        for (Index i = 1; i <= 33; ++i) {
            EXPECT_EQ(check_all(problem(1, i, 34 - i), static_cast<unsigned>(i)), 3);
            EXPECT_EQ(check_all(problem(i, 35 - i, i * 3 % 34 + 1), static_cast<unsigned>(i)), 3);
        }
    });
}

TEST(FullyConnected, EpiloguesAndStrides) {
    unsigned seed = 100;
    for (const Index m : {1, 5})
        for (const bool bias : {false, true})
            for (const bool residual : {false, true})
                for (const auto& activation :
                     {ActivationDesc{}, ActivationDesc{ActivationKind::swish, 1.0f, 0},
                      ActivationDesc{ActivationKind::clip, -1, 2}}) {
                    auto p = problem(m, 21, 13);
                    p.has_bias = bias;
                    p.has_residual = residual;
                    p.activation = activation;
                    check_all(p, ++seed);
                    // Rows with gaps, an offset, and dst transposed.
                    p.src.strides = {17, 1};
                    p.src.offset = 3;
                    p.dst.strides = {2, 2 * m + 1};
                    EXPECT_EQ(check_all(p, ++seed), 3);
                    // Columns apart: not for gemv.
                    p.src.strides = {1, m + 2};
                    EXPECT_EQ(check_all(p, ++seed), 2);
                }
}

TEST(FullyConnected, LongRowsOnThreads) {
    check_all(problem(1, 203, 4099), 1);
    check_all(problem(3, 70, 5003), 2);
    check_all(problem(130, 35, 300), 3);
}

TEST(FullyConnected, ChoosesByRows) {
    EXPECT_EQ(make_plan(context(), problem(1, 1000, 1280))->info().algorithm, "gemv");
    EXPECT_EQ(make_plan(context(), problem(64, 1000, 1280))->info().algorithm, "gemm");
}

}  // namespace
}  // namespace convlens::test

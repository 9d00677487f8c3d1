// The matrix product against a double loop: sizes around every tile edge, strides, epilogues, column ranges.
#include "kernels/cpu/gemm/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/primitives/guarded_buffer.h"
#include "tests/primitives/vector_targets.h"

namespace convlens::cpu {
namespace {

using test::GuardedBuffer;

struct Case {
    std::int64_t m, n, k;
    std::int64_t lda_gap = 0, row_gap = 0, column_stride = 1;
    bool bias = false, residual = false, accumulate = false;
    Activation activation;
    bool in_place = false;  // the residual lies in C
};

float* filled(GuardedBuffer& buffer, std::mt19937& generator) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::size_t i = 0; i < buffer.bytes() / 4; ++i) buffer.as<float>()[i] = uniform(generator);
    return buffer.as<float>();
}

std::size_t floats(std::int64_t count) { return static_cast<std::size_t>(count) * 4; }

void check(const Case& t, std::mt19937& generator) {
    SCOPED_TRACE("m " + std::to_string(t.m) + " n " + std::to_string(t.n) + " k " + std::to_string(t.k) +
                 " stride " + std::to_string(t.column_stride));
    const std::int64_t lda = t.k + t.lda_gap;
    const std::int64_t ldc = t.n * t.column_stride + t.row_gap;
    GuardedBuffer a_memory(floats(t.m * lda), 0xFF, 4), b_memory(floats(t.k * t.n), 0xFF, 4);
    GuardedBuffer bias_memory(floats(t.n), 0xFF, 4), residual_memory(floats(t.m * ldc), 0xFF, 4);
    GuardedBuffer c_memory(floats(t.m * ldc), 0xFF, 4), packed(gemm_packed_size(t.k, t.n) * 4, 0xFF);
    const float* a = filled(a_memory, generator);
    const float* b = filled(b_memory, generator);
    const float* bias = filled(bias_memory, generator);
    const float* residual = filled(residual_memory, generator);
    // Transposed, so that rows and columns can't be mixed up unseen.
    gemm_pack_b(t.k, t.n, b, 1, t.k, packed.as<float>());
    GemmOutput output;
    output.c = c_memory.as<float>();
    output.ldc = ldc;
    output.column_stride = t.column_stride;
    output.accumulate = t.accumulate;
    if (t.accumulate || t.in_place) filled(c_memory, generator);
    if (t.in_place) residual = output.c;
    const std::vector<float> before(output.c, output.c + c_memory.bytes() / 4);
    GemmEpilogue epilogue;
    if (t.bias) epilogue.bias = bias;
    if (t.residual) epilogue.residual = residual;
    epilogue.activation = t.activation;
    gemm(t.m, t.n, t.k, a, lda, packed.as<float>(), output, epilogue);
    std::vector<bool> written(before.size());
    for (std::int64_t m = 0; m < t.m; ++m)
        for (std::int64_t n = 0; n < t.n; ++n) {
            const auto at = static_cast<std::size_t>(m * ldc + n * t.column_stride);
            double sum = 0, scale = 0;
            const auto add = [&](double x) {
                sum += x;
                scale += std::fabs(x);
            };
            for (std::int64_t k = 0; k < t.k; ++k) add(double(a[m * lda + k]) * b[n * t.k + k]);
            if (t.accumulate) add(before[at]);
            if (t.bias) add(bias[n]);
            if (t.residual) add(t.in_place ? before[at] : residual[at]);
            if (t.activation.kind == ActivationKind::relu && sum < 0) sum = 0;
            if (t.activation.kind == ActivationKind::leaky_relu && sum < 0) sum *= t.activation.alpha;
            ASSERT_NEAR(output.c[at], sum, 6e-8 * (3 + std::sqrt(double(t.k))) * scale + 1e-30)
                << m << " " << n;
            written[at] = true;
        }
    for (std::size_t i = 0; i < before.size(); ++i)
        ASSERT_TRUE(written[i] || std::isnan(output.c[i]) || output.c[i] == before[i]) << "gap " << i;
    ASSERT_TRUE(c_memory.guards_intact() && packed.guards_intact());
    ASSERT_TRUE(a_memory.guards_intact() && bias_memory.guards_intact() && residual_memory.guards_intact());
}

TEST(Gemm, EverySizeAroundTilesOnEveryVectorTarget) {
    test::for_each_vector_target([](const std::string& target) {
        SCOPED_TRACE(target);
        std::mt19937 generator(1);
        for (std::int64_t m = 1; m <= 31; ++m) check({m, 40 - m, 5}, generator);
        for (std::int64_t n = 1; n <= 70; ++n) check({17, n, 3}, generator);
        for (std::int64_t k = 0; k <= 33; ++k) check({3, 18, k}, generator);
    });
}

TEST(Gemm, EpiloguesStridesAndAccumulation) {
    test::for_each_vector_target([](const std::string& target) {
        SCOPED_TRACE(target);
        std::mt19937 generator(2);
        for (const std::int64_t n : {1, 7, 16, 24, 32, 45})
            for (int bits = 0; bits < 16; ++bits)
                for (const ActivationKind kind :
                     {ActivationKind::identity, ActivationKind::relu, ActivationKind::leaky_relu}) {
                    Case t{
                        19, n, 9, 3, 2, bits & 8 ? 3 : 1, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                        {}};
                    t.activation = {kind, 0.25f, 0};
                    check(t, generator);
                }
    });
}

// Fused activations far outside the usual range, where exp() overflows; NaN stays NaN. Also the scalar
// definition.
TEST(Gemm, ActivationsOfExtremeValues) {
    const float inf = std::numeric_limits<float>::infinity();
    std::vector<float> values = {NAN, inf, -inf, 0.0f, -0.0f, 3e38f, -3e38f, 1e-38f, -1e-38f};
    for (const float x :
         {1e-6f, 0.3f, 1.0f, 2.9f, 3.1f, 9.9f, 10.1f, 50.0f, 87.0f, 89.0f, 103.0f, 105.0f, 1e4f})
        values.insert(values.end(), {x, -x});
    const auto count = static_cast<std::int64_t>(values.size());
    const auto reference = [](const Activation& a, double x) -> double {
        const auto clamp = [](double v, double low, double high) {
            return v < low ? low : v > high ? high : v;
        };
        switch (a.kind) {
            case ActivationKind::identity:
                return x;
            case ActivationKind::relu:
                return x < 0 ? 0 : x;
            case ActivationKind::clip:
                return clamp(x, a.alpha, a.beta);
            case ActivationKind::leaky_relu:
                return x < 0 ? double(a.alpha) * x : x;
            case ActivationKind::elu:
                return x < 0 ? double(a.alpha) * std::expm1(x) : x;
            case ActivationKind::sigmoid:
                return 1 / (1 + std::exp(-x));
            case ActivationKind::tanh:
                return std::tanh(x);
            case ActivationKind::swish:
                return x / (1 + std::exp(-double(a.alpha) * x));
            case ActivationKind::hard_sigmoid:
                return clamp(double(a.alpha) * x + double(a.beta), 0, 1);
            case ActivationKind::hard_swish:
                return x * clamp(x / 6 + 0.5, 0, 1);
        }
        return NAN;
    };
    test::for_each_vector_target([&](const std::string& target) {
        for (int kind = 0; kind <= static_cast<int>(ActivationKind::hard_swish); ++kind) {
            const Activation activation{static_cast<ActivationKind>(kind), kind == 2 ? -1.5f : 0.75f, 2.25f};
            std::vector<float> packed(gemm_packed_size(1, 1)), result(values.size(), -1.0f);
            const float one = 1.0f;
            gemm_pack_b(1, 1, &one, 1, 1, packed.data());
            gemm(count, 1, 1, values.data(), 1, packed.data(), {result.data(), 1},
                 {nullptr, nullptr, activation});
            for (std::size_t i = 0; i < values.size(); ++i) {
                const double expected = reference(activation, values[i]);
                for (const float y : {result[i], activate(activation, values[i])}) {
                    const std::string text = target + " kind " + std::to_string(kind) + " of " +
                                             std::to_string(values[i]) + " is " + std::to_string(y);
                    if (std::isnan(expected)) {
                        EXPECT_TRUE(std::isnan(y)) << text;
                    } else if (std::isinf(static_cast<float>(expected))) {
                        EXPECT_EQ(y, static_cast<float>(expected)) << text;
                    } else {
                        EXPECT_NEAR(y, expected, 1e-6 * std::max(1.0, std::fabs(expected))) << text;
                    }
                }
            }
        }
    });
}

TEST(Gemm, LongSumsAndManyRows) {
    std::mt19937 generator(3);
    check({5, 33, 5000, 1, 1, 1, true, true, true, {ActivationKind::relu, 0, 0}}, generator);
    check({700, 20, 30}, generator);
    check({250, 70, 700}, generator);
}

// One chunk of k and several, columns side by side and apart, whole panels and rests.
TEST(Gemm, ResidualMayLieInC) {
    test::for_each_vector_target([](const std::string& target) {
        SCOPED_TRACE(target);
        std::mt19937 generator(5);
        for (const std::int64_t k : {7, 2300, 6500})
            for (const std::int64_t n : {5, 32, 45})
                for (const std::int64_t stride : {1, 3}) {
                    Case t{29, n, k, 1, 2, stride, true, true, false, {ActivationKind::leaky_relu, 0.25f, 0}};
                    t.in_place = true;
                    check(t, generator);
                }
    });
}

TEST(Gemm, RangesOfColumnsGiveTheSameBits) {
    std::mt19937 generator(4);
    const std::int64_t m = 23, k = 37, n = 5 * gemm_panel_columns() + 3;
    GuardedBuffer a(floats(m * k), 0, 4), b(floats(k * n), 0), packed(gemm_packed_size(k, n) * 4, 0xFF);
    filled(a, generator);
    filled(b, generator);
    gemm_pack_b(k, n, b.as<float>(), n, 1, packed.as<float>());
    std::vector<float> whole(static_cast<std::size_t>(m * n)), parts(whole);
    gemm(m, n, k, a.as<float>(), k, packed.as<float>(), {whole.data(), n});
    const std::int64_t cut = 2 * gemm_panel_columns();
    for (std::int64_t row = 0; row < m; row += 4) {
        const GemmOutput output{parts.data() + row * n, n};
        const std::int64_t rows = std::min<std::int64_t>(4, m - row);
        gemm(rows, n, k, a.as<float>() + row * k, k, packed.as<float>(), output, {}, 0, cut);
        gemm(rows, n, k, a.as<float>() + row * k, k, packed.as<float>(), output, {}, cut, n);
    }
    EXPECT_EQ(whole, parts);
}

TEST(Gemm, PackingInTwoLevels) {
    // k = (tap, channel) of a filter n x channel x tap, read backwards.
    const std::int64_t n = 21, channels = 5, taps = 3;
    std::vector<float> filter(static_cast<std::size_t>(n * channels * taps)), matrix(filter.size());
    for (std::size_t i = 0; i < filter.size(); ++i) filter[i] = static_cast<float>(i);
    for (std::int64_t t = 0; t < taps; ++t)
        for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t j = 0; j < n; ++j)
                matrix[static_cast<std::size_t>((t * channels + c) * n + j)] =
                    filter[static_cast<std::size_t>((j * channels + c) * taps + (taps - 1 - t))];
    std::vector<float> expected(gemm_packed_size(channels * taps, n)), packed(expected.size(), NAN);
    gemm_pack_b(channels * taps, n, matrix.data(), n, 1, expected.data());
    gemm_pack_b({filter.data() + taps - 1, taps, channels, -1, taps, channels * taps}, n, packed.data());
    EXPECT_EQ(packed, expected);
}

TEST(Gemm, TilesCoverAllRowsEvenly) {
    for (std::int64_t m = 0; m < 200; ++m) {
        const GemmTiling tiling = gemm_tiling(m);
        EXPECT_LE(tiling.rows, gemm_tile_rows());
        EXPECT_GE(tiling.rows * tiling.tiles, m);
        EXPECT_TRUE(m == 0 || tiling.rows * (tiling.tiles - 1) < m) << m;
    }
}

}  // namespace
}  // namespace convlens::cpu

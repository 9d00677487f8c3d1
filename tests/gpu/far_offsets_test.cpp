// Elements more than 2^31 elements apart, in real memory of the GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/backend.h"

namespace convlens::test {
namespace {

constexpr std::int64_t far = (std::int64_t{1} << 31) + 12345;  // elements between the two rows

Context& context() {
    static Context gpu(test_options(1));
    return gpu;
}

// Two stretches of f32 at the beginning and `far` elements behind it; all else is not touched.
class FarRows {
  public:
    FarRows(std::int64_t count, unsigned seed)
        : count_(count), memory_(context(), static_cast<std::size_t>(far + count) * sizeof(float)) {
        for (int row = 0; row < 2; ++row) {
            std::vector<float> values(static_cast<std::size_t>(count));
            for (auto& v : values)
                v = static_cast<float>((seed = seed * 1664525u + 1013904223u) >> 8) * 0x1p-24f - 0.5f;
            context().upload(address(row), values.data(), values.size() * sizeof(float));
            rows_.push_back(values);
        }
    }
    float* data() const { return reinterpret_cast<float*>(memory_.data()); }
    float* address(int row) const { return data() + row * far; }
    double value(int row, std::int64_t i) const {
        return static_cast<double>(rows_[static_cast<std::size_t>(row)][static_cast<std::size_t>(i)]);
    }
    std::vector<float> now(int row) const {
        std::vector<float> values(static_cast<std::size_t>(count_));
        context().download(values.data(), address(row), values.size() * sizeof(float));
        return values;
    }

  private:
    std::int64_t count_;
    Buffer memory_;
    std::vector<std::vector<float>> rows_;
};

bool too_small() {
    for (const DeviceInfo& device : cuda_devices())
        if (device.number == 0) return device.memory_bytes < (std::size_t{24} << 30);
    return true;
}

// Every applicable row of a problem with one far source and a far destination.
template <class Expected>
void check_rows(const Problem& problem, const std::vector<float>& weights, const FarRows& src, FarRows& dst,
                std::int64_t count, const Expected& expected, double tolerance) {
    int ran = 0;
    for (const Candidate& row : candidates(context(), problem)) {
        if (!row.applicable || row.error_class > ErrorClass::fft) continue;
        SCOPED_TRACE(row.algorithm);
        ++ran;
        const auto plan = make_plan(context(), problem, {.algorithm = row.algorithm});
        const Buffer packed = pack_weights(context(), *plan, weights.data());
        const Buffer workspace(context(), plan->info().workspace_bytes);
        for (int i = 0; i < 2; ++i)
            context().fill(dst.address(i), 0xFF, static_cast<std::size_t>(count) * sizeof(float));
        const void* sources[] = {src.data(), nullptr, nullptr};
        plan->execute(context(), {std::span(sources).first(source_count(problem)), packed.data(), dst.data(),
                                  workspace.data(), workspace.bytes()});
        context().synchronize();
        for (int r = 0; r < 2; ++r) {
            const std::vector<float> got = dst.now(r);
            for (std::int64_t i = 0; i < count; ++i)
                ASSERT_NEAR(static_cast<double>(got[static_cast<std::size_t>(i)]), expected(r, i), tolerance)
                    << "row " << r << " element " << i;
        }
    }
    EXPECT_GE(ran, 2);
}

TEST(FarOffsets, ConvolutionOverRowsFarApart) {
    if (too_small()) GTEST_SKIP() << "needs 24 GiB of GPU memory";
    // One row of four columns for each of two images, eight channels; the images lie far apart.
    constexpr std::int64_t channels = 8, outputs = 12, columns = 5;
    ConvolutionProblem p;
    p.src = TensorDesc::channels_last({2, channels, 1, columns});
    p.weights = {outputs, channels, 1, 1};
    p.dst = TensorDesc::channels_last({2, outputs, 1, columns});
    p.src.strides[0] = p.dst.strides[0] = far;
    p.window = WindowDesc::unit(2);
    std::vector<float> weights(outputs * channels);
    for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] = static_cast<float>(std::sin(static_cast<double>(i)));
    const FarRows src(channels * columns, 1);
    FarRows dst(outputs * columns, 2);
    check_rows(
        p, weights, src, dst, outputs * columns,
        [&](int row, std::int64_t i) {
            const std::int64_t k = i % outputs, column = i / outputs;
            double sum = 0;
            for (std::int64_t c = 0; c < channels; ++c)
                sum += src.value(row, column * channels + c) *
                       static_cast<double>(weights[static_cast<std::size_t>(k * channels + c)]);
            return sum;
        },
        1e-5);
}

TEST(FarOffsets, DataGradientOverRowsFarApart) {
    if (too_small()) GTEST_SKIP() << "needs 24 GiB of GPU memory";
    constexpr std::int64_t channels = 8, outputs = 12, columns = 5;
    ConvolutionBwdDataProblem p;
    p.src = TensorDesc::channels_last({2, outputs, 1, columns});
    p.weights = {outputs, channels, 1, 1};
    p.dst = TensorDesc::channels_last({2, channels, 1, columns});
    p.src.strides[0] = p.dst.strides[0] = far;
    p.window = WindowDesc::unit(2);
    std::vector<float> weights(outputs * channels);
    for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] = static_cast<float>(std::sin(static_cast<double>(i)));
    const FarRows src(outputs * columns, 5);
    FarRows dst(channels * columns, 6);
    check_rows(
        p, weights, src, dst, channels * columns,
        [&](int row, std::int64_t i) {
            const std::int64_t c = i % channels, column = i / channels;
            double sum = 0;
            for (std::int64_t k = 0; k < outputs; ++k)
                sum += src.value(row, column * outputs + k) *
                       static_cast<double>(weights[static_cast<std::size_t>(k * channels + c)]);
            return sum;
        },
        1e-5);
}

TEST(FarOffsets, FilterGradientOverRowsFarApart) {
    if (too_small()) GTEST_SKIP() << "needs 24 GiB of GPU memory";
    constexpr std::int64_t channels = 8, outputs = 12, columns = 7, width = 3,
                           positions = columns - width + 1;
    ConvolutionBwdFilterProblem p;
    p.src = TensorDesc::channels_last({2, channels, 1, columns});
    p.diff = TensorDesc::channels_last({2, outputs, 1, positions});
    p.dst = TensorDesc::packed({outputs, channels, 1, width});
    p.src.strides[0] = p.diff.strides[0] = far;
    p.window = WindowDesc::unit(2);
    const FarRows src(channels * columns, 7), diff(outputs * positions, 8);
    int ran = 0;
    for (const Candidate& row : candidates(context(), p)) {
        if (!row.applicable || row.error_class > ErrorClass::fft) continue;
        SCOPED_TRACE(row.algorithm);
        ++ran;
        const auto plan = make_plan(context(), p, {.algorithm = row.algorithm});
        const Buffer workspace(context(), plan->info().workspace_bytes), dst(context(), p.dst.bytes());
        context().fill(dst.data(), 0xFF, dst.bytes());
        const void* sources[] = {src.data(), diff.data()};
        plan->execute(context(), {sources, nullptr, dst.data(), workspace.data(), workspace.bytes()});
        std::vector<float> got(static_cast<std::size_t>(p.dst.elements()));
        context().download(got.data(), dst.data(), dst.bytes());
        for (std::int64_t i = 0; i < p.dst.elements(); ++i) {
            const std::int64_t s = i % width, c = i / width % channels, k = i / (width * channels);
            double sum = 0;
            for (int n = 0; n < 2; ++n)
                for (std::int64_t q = 0; q < positions; ++q)
                    sum += diff.value(n, q * outputs + k) * src.value(n, (q + s) * channels + c);
            ASSERT_NEAR(static_cast<double>(got[static_cast<std::size_t>(i)]), sum, 1e-5) << "element " << i;
        }
    }
    EXPECT_GE(ran, 2);
}

TEST(FarOffsets, ActivationSoftmaxTransformPooling) {
    if (too_small()) GTEST_SKIP() << "needs 24 GiB of GPU memory";
    constexpr std::int64_t count = 300;
    TensorDesc desc = TensorDesc::packed({2, count});
    desc.strides[0] = far;
    const FarRows src(count, 3);
    FarRows dst(count, 4);
    check_rows(
        ActivationProblem{desc, desc, {ActivationKind::leaky_relu, 0.5f, 0}}, {}, src, dst, count,
        [&](int row, std::int64_t i) { return src.value(row, i) * (src.value(row, i) < 0 ? 0.5 : 1.0); },
        1e-6);
    check_rows(
        TransformProblem{desc, desc, {}, {}}, {}, src, dst, count,
        [&](int row, std::int64_t i) { return src.value(row, i); }, 0);
    check_rows(
        SoftmaxProblem{desc, desc, 1, false}, {}, src, dst, count,
        [&](int row, std::int64_t i) {
            double sum = 0;
            for (std::int64_t j = 0; j < count; ++j) sum += std::exp(src.value(row, j));
            return std::exp(src.value(row, i)) / sum;
        },
        1e-6);
}

}  // namespace
}  // namespace convlens::test

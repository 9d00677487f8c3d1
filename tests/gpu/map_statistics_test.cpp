// Statistics of maps on the device against plain loops in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "convlens/convlens.hpp"
#include "primitives/device.h"

namespace convlens::test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();

Context& context() {
    static Context shared({.backend = Backend::cuda});
    return shared;
}

struct Tensor {
    TensorDesc desc;
    std::vector<float> host;
    Buffer device;
    void upload() { device = Buffer(context(), host.data(), host.size() * sizeof(float)); }
    StatisticsRequest::Tensor request() const {
        return {reinterpret_cast<const float*>(device.data()) + desc.offset, desc};
    }
    // All values of a channel of batch item 0, in any order.
    std::vector<float> channel(std::int64_t c) const {
        std::vector<float> values;
        const int rank = desc.rank();
        std::int64_t cells = 1;
        for (int axis = 2; axis < rank; ++axis) cells *= desc.dims[axis];
        for (std::int64_t i = 0; i < cells; ++i) {
            std::int64_t at = desc.offset + c * desc.strides[rank == 1 ? 0 : 1], rest = i;
            for (int axis = rank - 1; axis >= 2; --axis) {
                at += rest % desc.dims[axis] * desc.strides[axis];
                rest /= desc.dims[axis];
            }
            values.push_back(host[static_cast<std::size_t>(at)]);
        }
        return values;
    }
    std::vector<float> all() const {
        std::vector<float> values;
        for (std::int64_t c = 0; c < desc.dims[desc.rank() == 1 ? 0 : 1]; ++c)
            for (const float v : channel(c)) values.push_back(v);
        return values;
    }
};

template <class Value>
Tensor make_tensor(const TensorDesc& desc, Value&& value) {
    Tensor tensor{desc, std::vector<float>(desc.bytes() / sizeof(float)), {}};
    for (auto& v : tensor.host) v = value();
    tensor.upload();
    return tensor;
}

TensorDesc odd(const Dims& dims) {
    TensorDesc desc{DataType::f32, dims, Dims::filled(dims.rank(), 1), 5};
    std::int64_t step = 2;
    for (int axis = 0; axis < dims.rank(); ++axis) {
        desc.strides[axis] = step;
        step = step * dims[axis] + 3;
    }
    return desc;
}

void expect_statistics(const ValueStatistics& s, const std::vector<float>& values, const std::string& where) {
    double sum = 0, squares = 0;
    std::int64_t finite = 0, zeros = 0, nans = 0, infinities = 0;
    float low = inf, high = -inf;
    for (const float v : values) {
        zeros += v == 0;
        nans += std::isnan(v);
        infinities += std::isinf(v);
        if (!std::isfinite(v)) continue;
        ++finite;
        sum += static_cast<double>(v);
        low = std::min(low, v);
        high = std::max(high, v);
    }
    const double mean = finite > 0 ? sum / static_cast<double>(finite) : 0;
    for (const float v : values)
        if (std::isfinite(v)) squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
    const double deviation = finite > 0 ? std::sqrt(squares / static_cast<double>(finite)) : 0;
    EXPECT_EQ(s.count, static_cast<std::int64_t>(values.size())) << where;
    EXPECT_EQ(s.nan_count, nans) << where;
    EXPECT_EQ(s.inf_count, infinities) << where;
    EXPECT_EQ(s.min, finite > 0 ? low : 0) << where;
    EXPECT_EQ(s.max, finite > 0 ? high : 0) << where;
    // They come back as floats, whose steps next to zero are 1.4e-45.
    EXPECT_NEAR(s.mean, mean, 2e-7 * std::fabs(mean) + 1e-6 * deviation + 1e-45) << where;
    EXPECT_NEAR(s.deviation, deviation, 1e-5 * deviation + 1e-45) << where;
    const double count = static_cast<double>(std::max<std::size_t>(values.size(), 1));
    EXPECT_DOUBLE_EQ(s.zero_share, static_cast<double>(zeros) / count) << where;
}

void expect_histogram(const StatisticsResult& r, const std::vector<float>& values, int bins) {
    double low = inf, high = -inf;
    for (const float v : values)
        if (std::isfinite(v)) low = std::min<double>(low, v), high = std::max<double>(high, v);
    std::vector<std::int64_t> counts(static_cast<std::size_t>(bins));
    const double width = high - low, scale = width > 0 ? bins / width : 0;
    for (const float v : values)
        if (std::isfinite(v)) {
            const double position = width > 0 ? (static_cast<double>(v) - low) * scale : bins;
            ++counts[static_cast<std::size_t>(std::min<double>(position, bins - 1))];
        }
    EXPECT_EQ(r.counts, counts);
}

std::mt19937& generator() {
    static std::mt19937 random(7);
    return random;
}

void check_all(const std::vector<Tensor>& tensors) {
    const auto taker = context().device()->make_map_statistics();
    StatisticsRequest request;
    for (const Tensor& tensor : tensors) request.tensors.push_back(tensor.request());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const Tensor& tensor = tensors[i];
        const std::int64_t channels = tensor.desc.dims[tensor.desc.rank() == 1 ? 0 : 1];
        request.maps_of = static_cast<int>(i);
        request.histogram_of = static_cast<int>(i);
        request.channel = channels > 0 ? static_cast<std::int64_t>(i) % (channels + 1) - 1 : -1;
        request.bins = 7 + static_cast<int>(i) * 13;
        const StatisticsResult& result = taker->take(request);
        ASSERT_EQ(result.tensors.size(), tensors.size());
        ASSERT_EQ(result.maps.size(), static_cast<std::size_t>(channels));
        for (std::int64_t c = 0; c < channels; ++c)
            expect_statistics(result.maps[static_cast<std::size_t>(c)], tensor.channel(c),
                              tensor.desc.text() + " channel " + std::to_string(c));
        for (std::size_t k = 0; k < tensors.size(); ++k)
            expect_statistics(result.tensors[k], tensors[k].all(), tensors[k].desc.text());
        expect_histogram(result, request.channel < 0 ? tensor.all() : tensor.channel(request.channel),
                         request.bins);
        if (::testing::Test::HasFailure()) return;
    }
}

TEST(MapStatistics, EveryLayoutAndSize) {
    std::normal_distribution<float> normal(0.5f, 2.0f);
    const auto value = [&] {
        const float v = normal(generator());
        return v < 0 ? 0.0f : v;
    };
    std::vector<Tensor> tensors;
    for (const Dims& dims : {Dims{1, 1, 1, 1}, Dims{2, 3, 61, 67}, Dims{1, 20, 7, 9}, Dims{3, 33, 5, 1},
                             Dims{1, 130, 40, 37}, Dims{1, 5, 2, 3, 4}, Dims{2, 1000}, Dims{17},
                             Dims{1, 7, 300}, Dims{1, 0, 4, 4}, Dims{1, 4, 0, 4}}) {
        tensors.push_back(make_tensor(TensorDesc::packed(dims), value));
        if (dims.rank() > 1) tensors.push_back(make_tensor(TensorDesc::channels_last(dims), value));
        if (dims.product() > 0) tensors.push_back(make_tensor(odd(dims), value));
    }
    check_all(tensors);
}

TEST(MapStatistics, LargeMeansHugeValuesAndWhatIsNotFinite) {
    std::normal_distribution<float> normal(0.0f, 1.0f);
    std::vector<Tensor> tensors;
    for (const bool last : {false, true}) {
        const Dims dims{1, 40, 23, 29};
        const TensorDesc desc = last ? TensorDesc::channels_last(dims) : TensorDesc::packed(dims);
        int i = 0;
        tensors.push_back(make_tensor(desc, [&] { return 1e4f + 0.01f * normal(generator()); }));
        tensors.push_back(make_tensor(desc, [&] { return 1e30f * normal(generator()); }));
        tensors.push_back(make_tensor(desc, [&] { return 3e38f * (++i % 2 == 0 ? 1.0f : -1.0f); }));
        tensors.push_back(make_tensor(desc, [&] { return 1e-40f * normal(generator()); }));
        tensors.push_back(make_tensor(desc, [&] { return i++ == 0 ? 1e6f : normal(generator()); }));
        tensors.push_back(make_tensor(desc, [&] {
            const int which = i++ % 11;
            return which == 0 ? nan : which == 3 ? inf : which == 4 ? -inf : normal(generator());
        }));
        tensors.push_back(make_tensor(desc, [&] { return i++ % 2 == 0 ? nan : inf; }));
        tensors.push_back(make_tensor(desc, [&] { return 3.0f; }));
    }
    check_all(tensors);
}

TEST(MapStatistics, AreRepeatable) {
    std::normal_distribution<float> normal(0.0f, 1.0f);
    const std::vector<Tensor> tensors = [&] {
        std::vector<Tensor> all;
        all.push_back(
            make_tensor(TensorDesc::channels_last({1, 96, 112, 112}), [&] { return normal(generator()); }));
        return all;
    }();
    const auto taker = context().device()->make_map_statistics();
    const StatisticsRequest request{{tensors[0].request()}, 0, 0, -1, 64};
    const StatisticsResult first = taker->take(request);
    for (int k = 0; k < 10; ++k) {
        const StatisticsResult& again = taker->take(request);
        EXPECT_EQ(again.counts, first.counts);
        for (std::size_t c = 0; c < first.maps.size(); ++c) {
            EXPECT_EQ(again.maps[c].mean, first.maps[c].mean);
            EXPECT_EQ(again.maps[c].deviation, first.maps[c].deviation);
        }
        EXPECT_EQ(again.tensors[0].deviation, first.tensors[0].deviation);
    }
}

TEST(MapStatistics, RefuseWhatTheyCannotTake) {
    const auto taker = context().device()->make_map_statistics();
    const auto tensor = make_tensor(TensorDesc::packed({1, 4, 3, 3}), [] { return 1.0f; });
    const auto refused = [&](const StatisticsRequest& request) {
        try {
            taker->take(request);
        } catch (const Error& error) {
            return error.status() == Status::bad_parameter;
        }
        return false;
    };
    EXPECT_TRUE(refused({{tensor.request()}, 1}));
    EXPECT_TRUE(refused({{tensor.request()}, -1, 1}));
    EXPECT_TRUE(refused({{tensor.request()}, -1, 0, 4}));
    EXPECT_TRUE(refused({{tensor.request()}, -1, 0, -1, 0}));
    EXPECT_TRUE(refused({{tensor.request()}, -1, 0, -1, 2000}));
    EXPECT_TRUE(refused({{{nullptr, tensor.desc}}}));
    EXPECT_TRUE(refused({{{tensor.device.data(), TensorDesc::packed({1, 4}, DataType::f16)}}}));
    EXPECT_TRUE(taker->take({}).tensors.empty());
}

}  // namespace
}  // namespace convlens::test

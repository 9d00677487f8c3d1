#include "app/measure/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "convlens/error.h"

namespace convlens::measure {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

struct Tensor {
    TensorDesc desc;
    std::vector<float> memory;
    float& at(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
        return memory[static_cast<std::size_t>(desc.offset + n * desc.strides[0] + c * desc.strides[1] +
                                               h * desc.strides[2] + w * desc.strides[3])];
    }
    const float* data() const { return memory.data() + desc.offset; }
};

enum class Layout { packed, channels_last, padded_rows, padded_cells, offset_view, transposed };

// Memory between the elements is NaN: a read of it would show in every figure.
Tensor make(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, Layout layout) {
    Tensor t;
    t.desc = TensorDesc::packed({n, c, h, w});
    switch (layout) {
        case Layout::packed:
            break;
        case Layout::channels_last:
            t.desc = TensorDesc::channels_last({n, c, h, w});
            break;
        case Layout::padded_rows:
            t.desc.strides = {c * h * (w + 3), h * (w + 3), w + 3, 1};
            break;
        case Layout::padded_cells:
            t.desc.strides = {h * (w + 1) * (c + 5), 1, (w + 1) * (c + 5), c + 5};
            break;
        case Layout::offset_view:
            t.desc.strides = {c * h * w * 2 + 1, h * w * 2, w * 2, 2};
            t.desc.offset = 7;
            break;
        case Layout::transposed:
            t.desc.strides = {c * h * w, h * w, 1, h};
            break;
    }
    t.memory.assign(t.desc.bytes() / sizeof(float), nan);
    return t;
}

template <class Value>
void fill(Tensor& t, Value value) {
    const Dims& d = t.desc.dims;
    for (std::int64_t n = 0; n < d[0]; ++n)
        for (std::int64_t c = 0; c < d[1]; ++c)
            for (std::int64_t h = 0; h < d[2]; ++h)
                for (std::int64_t w = 0; w < d[3]; ++w) t.at(n, c, h, w) = value(n, c, h, w);
}

MapStatistics naive(Tensor& t, std::int64_t n, std::int64_t c_begin, std::int64_t c_end) {
    MapStatistics s;
    std::vector<double> finite;
    std::int64_t zeros = 0;
    for (std::int64_t c = c_begin; c < c_end; ++c)
        for (std::int64_t h = 0; h < t.desc.dims[2]; ++h)
            for (std::int64_t w = 0; w < t.desc.dims[3]; ++w) {
                const float v = t.at(n, c, h, w);
                ++s.count;
                if (v != v)
                    ++s.nan_count;
                else if (v == infinity || v == -infinity)
                    ++s.inf_count;
                else
                    finite.push_back(v);
                zeros += v == 0 ? 1 : 0;
            }
    s.zero_share = s.count ? static_cast<double>(zeros) / static_cast<double>(s.count) : 0;
    if (finite.empty()) return s;
    double sum = 0, squares = 0;
    double lo = finite[0], hi = finite[0];
    for (const double v : finite) {
        sum += v;
        if (v < lo) lo = v;
        if (v > hi) hi = v;
    }
    s.mean = sum / static_cast<double>(finite.size());
    for (const double v : finite) squares += (v - s.mean) * (v - s.mean);
    s.deviation = std::sqrt(squares / static_cast<double>(finite.size()));
    s.min = static_cast<float>(lo);
    s.max = static_cast<float>(hi);
    return s;
}

void expect_same(const MapStatistics& got, const MapStatistics& want) {
    EXPECT_EQ(got.min, want.min);
    EXPECT_EQ(got.max, want.max);
    EXPECT_EQ(got.count, want.count);
    EXPECT_EQ(got.nan_count, want.nan_count);
    EXPECT_EQ(got.inf_count, want.inf_count);
    EXPECT_DOUBLE_EQ(got.zero_share, want.zero_share);
    const double scale = std::abs(want.mean) + want.deviation;
    EXPECT_NEAR(got.mean, want.mean, 1e-12 * scale);
    EXPECT_NEAR(got.deviation, want.deviation, 1e-9 * scale);
}

const Layout layouts[] = {Layout::packed,       Layout::channels_last, Layout::padded_rows,
                          Layout::padded_cells, Layout::offset_view,   Layout::transposed};

TEST(MapStatistics, EveryLayoutAndChannelCount) {
    cpu::ThreadPool pool(3);
    std::mt19937 random(1);
    std::normal_distribution<float> normal(3.0f, 2.0f);
    for (const Layout layout : layouts)
        for (std::int64_t c = 1; c <= 33; ++c) {
            Tensor t = make(2, c, 1 + c % 13, 1 + (c * 5) % 19, layout);
            fill(t, [&](auto, auto channel, auto, auto w) {
                return w % 3 == 1 ? 0.0f : normal(random) * static_cast<float>(channel + 1);
            });
            for (std::int64_t n = 0; n < 2; ++n) {
                SCOPED_TRACE(t.desc.text() + " item " + std::to_string(n));
                const auto maps = map_statistics(t.data(), t.desc, n, pool);
                ASSERT_EQ(maps.size(), static_cast<std::size_t>(c));
                for (std::int64_t i = 0; i < c; ++i)
                    expect_same(maps[static_cast<std::size_t>(i)], naive(t, n, i, i + 1));
                expect_same(joined(maps), naive(t, n, 0, c));
            }
        }
}

TEST(MapStatistics, LongMapsOnSeveralThreads) {
    cpu::ThreadPool pool(3);
    std::mt19937 random(2);
    std::uniform_real_distribution<float> uniform(-1.0f, 5.0f);
    for (const Layout layout : layouts) {
        Tensor t = make(1, 21, 113, 151, layout);
        fill(t, [&](auto...) { return uniform(random); });
        SCOPED_TRACE(t.desc.text());
        const auto maps = map_statistics(t.data(), t.desc, 0, pool);
        for (std::int64_t i = 0; i < 21; ++i)
            expect_same(maps[static_cast<std::size_t>(i)], naive(t, 0, i, i + 1));
    }
}

TEST(MapStatistics, NanAndInfinityAnywhere) {
    cpu::ThreadPool pool(2);
    for (const Layout layout : layouts)
        for (std::int64_t where = 0; where < 5 * 7; ++where) {
            Tensor t = make(1, 18, 5, 7, layout);
            fill(t, [&](auto, auto c, auto h, auto w) {
                if (h * 7 + w == where) return c % 3 == 0 ? nan : c % 3 == 1 ? infinity : -infinity;
                return static_cast<float>(c - h) + static_cast<float>(w) / 4;
            });
            SCOPED_TRACE(t.desc.text() + " at cell " + std::to_string(where));
            const auto maps = map_statistics(t.data(), t.desc, 0, pool);
            for (std::int64_t i = 0; i < 18; ++i)
                expect_same(maps[static_cast<std::size_t>(i)], naive(t, 0, i, i + 1));
            expect_same(joined(maps), naive(t, 0, 0, 18));
        }
}

TEST(MapStatistics, NothingFinite) {
    cpu::ThreadPool pool(1);
    Tensor t = make(1, 17, 3, 4, Layout::channels_last);
    fill(t, [](auto...) { return nan; });
    for (const auto& map : map_statistics(t.data(), t.desc, 0, pool)) {
        EXPECT_EQ(map.nan_count, 12);
        EXPECT_EQ(map.min, 0);
        EXPECT_EQ(map.max, 0);
        EXPECT_FALSE(map.is_dead());
    }
}

// A one-pass variance of these values would be noise.
TEST(MapStatistics, LargeMeanKeepsItsDeviation) {
    cpu::ThreadPool pool(1);
    for (const Layout layout : layouts) {
        Tensor t = make(1, 19, 40, 41, layout);
        fill(t, [](auto, auto, auto, auto w) { return 1e6f + static_cast<float>(w % 2); });
        for (const auto& map : map_statistics(t.data(), t.desc, 0, pool))
            EXPECT_NEAR(map.deviation, 0.5, 1e-3);
    }
}

TEST(MapStatistics, ConstantAndDeadMapsAreExact) {
    cpu::ThreadPool pool(2);
    for (const Layout layout : layouts) {
        Tensor t = make(1, 20, 31, 33, layout);
        fill(t, [](auto, auto c, auto, auto) { return c == 4 ? 0.0f : 0.1f * static_cast<float>(c); });
        const auto maps = map_statistics(t.data(), t.desc, 0, pool);
        for (std::size_t c = 0; c < maps.size(); ++c) {
            EXPECT_EQ(maps[c].deviation, 0);
            EXPECT_TRUE(maps[c].is_constant());
            EXPECT_EQ(maps[c].is_dead(), c == 4 || c == 0);
            EXPECT_EQ(static_cast<float>(maps[c].mean), maps[c].max);
        }
    }
}

TEST(MapStatistics, LargestFloatsDoNotOverflow) {
    cpu::ThreadPool pool(1);
    const float largest = std::numeric_limits<float>::max();
    for (const Layout layout : layouts) {
        Tensor t = make(1, 16, 6, 8, layout);
        fill(t, [&](auto, auto, auto, auto w) { return w % 2 ? largest : -largest; });
        for (const auto& map : map_statistics(t.data(), t.desc, 0, pool)) {
            EXPECT_EQ(map.inf_count, 0);
            EXPECT_EQ(map.mean, 0);
            EXPECT_FLOAT_EQ(static_cast<float>(map.deviation), largest);
        }
        const Histogram h = map_histogram(t.data(), t.desc, 0, -1, 4);
        EXPECT_EQ(h.counts, (std::vector<std::int64_t>{384, 0, 0, 384}));
    }
}

TEST(MapStatistics, RanksOneToFive) {
    cpu::ThreadPool pool(1);
    std::vector<float> values(2 * 3 * 4 * 5 * 6);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const auto one = map_statistics(values.data(), TensorDesc::packed({5}), 0, pool);
    ASSERT_EQ(one.size(), 5u);
    EXPECT_EQ(one[3].mean, 3);
    const auto two = map_statistics(values.data(), TensorDesc::packed({2, 3}), 1, pool);
    ASSERT_EQ(two.size(), 3u);
    EXPECT_EQ(two[2].mean, 5);
    const auto three = map_statistics(values.data(), TensorDesc::packed({2, 3, 4}), 1, pool);
    EXPECT_EQ(three[0].min, 12);
    EXPECT_EQ(three[0].max, 15);
    const auto five = map_statistics(values.data(), TensorDesc::packed({2, 3, 4, 5, 6}), 1, pool);
    ASSERT_EQ(five.size(), 3u);
    EXPECT_EQ(five[1].min, 480);
    EXPECT_EQ(five[1].max, 599);
    EXPECT_EQ(five[1].mean, 539.5);
    EXPECT_EQ(five[1].count, 120);
}

TEST(MapStatistics, EmptyAndMalformed) {
    cpu::ThreadPool pool(1);
    EXPECT_TRUE(map_statistics(nullptr, TensorDesc::packed({1, 0, 3, 4}), 0, pool).empty());
    const auto maps = map_statistics(nullptr, TensorDesc::packed({1, 2, 0, 4}), 0, pool);
    ASSERT_EQ(maps.size(), 2u);
    EXPECT_EQ(maps[0].count, 0);
    EXPECT_EQ(joined(maps).count, 0);
    const float value = 1;
    EXPECT_THROW(map_statistics(&value, TensorDesc::packed({1, 1, 1, 1}), 1, pool), Error);
    EXPECT_THROW(map_statistics(&value, TensorDesc::packed({1, 1, 1, 1}), -1, pool), Error);
    EXPECT_THROW(map_statistics(&value, TensorDesc::packed({1, 1}, DataType::i8), 0, pool), Error);
    EXPECT_THROW(map_statistics(&value, TensorDesc::packed({1, 1, 1, 1, 1, 1}), 0, pool), Error);
    EXPECT_THROW(map_statistics(nullptr, TensorDesc::packed({1, 1}), 0, pool), Error);
    EXPECT_THROW(map_histogram(&value, TensorDesc::packed({1, 1}), 0, 1, 4), Error);
    EXPECT_THROW(map_histogram(&value, TensorDesc::packed({1, 1}), 0, 0, 0), Error);
}

TEST(MapHistogram, CountsEveryValueOnce) {
    std::mt19937 random(3);
    std::uniform_int_distribution<int> step(0, 40);
    for (const Layout layout : layouts) {
        Tensor t = make(2, 9, 11, 13, layout);
        fill(t, [&](auto...) { return static_cast<float>(step(random)) / 4 - 5; });
        t.at(1, 2, 3, 4) = nan;
        t.at(1, 2, 3, 5) = infinity;
        t.at(1, 2, 0, 0) = -5;
        t.at(1, 2, 0, 1) = 5;
        for (const std::int64_t channel : {std::int64_t{-1}, std::int64_t{2}}) {
            const Histogram h = map_histogram(t.data(), t.desc, 1, channel, 20);
            EXPECT_EQ(h.lo, -5);
            EXPECT_EQ(h.hi, 5);
            EXPECT_EQ(h.nan_count, 1);
            EXPECT_EQ(h.inf_count, 1);
            std::vector<std::int64_t> want(20, 0);
            for (std::int64_t c = 0; c < 9; ++c)
                for (std::int64_t i = 0; i < 11 * 13; ++i) {
                    const float v = t.at(1, c, i / 13, i % 13);
                    if ((channel < 0 || c == channel) && std::isfinite(v))
                        ++want[static_cast<std::size_t>(v == 5 ? 19 : std::floor((v + 5) * 2))];
                }
            EXPECT_EQ(h.counts, want);
        }
    }
}

TEST(MapHistogram, ConstantAndEmpty) {
    Tensor t = make(1, 2, 3, 4, Layout::packed);
    fill(t, [](auto...) { return 2.5f; });
    const Histogram constant = map_histogram(t.data(), t.desc, 0, -1, 3);
    EXPECT_EQ(constant.lo, 2.5f);
    EXPECT_EQ(constant.hi, 2.5f);
    EXPECT_EQ(constant.counts, (std::vector<std::int64_t>{0, 0, 24}));
    const Histogram empty = map_histogram(nullptr, TensorDesc::packed({1, 2, 0, 4}), 0, -1, 3);
    EXPECT_EQ(empty.counts, (std::vector<std::int64_t>{0, 0, 0}));
    fill(t, [](auto...) { return nan; });
    EXPECT_EQ(map_histogram(t.data(), t.desc, 0, -1, 3).nan_count, 24);
}

}  // namespace
}  // namespace convlens::measure

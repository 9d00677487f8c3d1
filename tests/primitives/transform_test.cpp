#include "harness.h"

namespace convlens::test {
namespace {

TEST(Transform, LayoutChangeOfEveryPairAndRank) {
    for (const Dims& dims : {Dims{}, Dims{17}, Dims{3, 70}, Dims{2, 3, 130}, Dims{2, 33, 9, 21},
                             Dims{1, 3, 65, 67}, Dims{2, 5, 3, 4, 7}, Dims{2, 3, 2, 3, 2, 3, 2, 5}})
        for (const Lay from : all_lays)
            for (const Lay to : all_lays) {
                TransformProblem p{make_desc(dims, from), make_desc(dims, to), {}, {}};
                Guarded src(p.src);
                src.fill([](const Index& i) { return noise(i); });
                run_all(
                    p, {src.data()}, p.dst, [&](const Index& i) { return double(src.get(i)); }, 0, 2);
            }
}

TEST(Transform, EveryChannelCountBetweenLayouts) {
    for (std::int64_t c = 1; c <= 33; ++c)
        for (const bool forward : {true, false}) {
            const Dims dims{2, c, 7, 5};
            TransformProblem p{make_desc(dims, forward ? Lay::packed : Lay::channels_last),
                               make_desc(dims, forward ? Lay::channels_last : Lay::packed),
                               {},
                               {}};
            Guarded src(p.src);
            src.fill([](const Index& i) { return noise(i); });
            run_all(
                p, {src.data()}, p.dst, [&](const Index& i) { return double(src.get(i)); }, 0, 2);
        }
}

TEST(Transform, TransposeReverseRepeatAndSliceAreDescriptors) {
    const TensorDesc whole = TensorDesc::packed({6, 70, 40});
    Guarded src(whole);
    src.fill([](const Index& i) { return noise(i); });
    // dst[i][j][k] = src[j + 1][2 i][69 - ...]: axes exchanged, each second row, the last axis backwards.
    TensorDesc view{DataType::f32, {30, 5, 40}, {2 * 40, 70 * 40, -1}, 1 * 70 * 40 + 39};
    TransformProblem p{view, TensorDesc::packed({30, 5, 40}), {}, {}};
    run_all(
        p, {src.data()}, p.dst,
        [&](const Index& i) {
            return double(src.get({i[1] + 1, 2 * i[0], 39 - i[2]}));
        },
        0, 2);
    view = {DataType::f32, {30, 5, 40}, {0, 0, 40}, 7};
    p = {view, TensorDesc::channels_last({30, 5, 40}), {}, {}};
    run_all(
        p, {src.data()}, p.dst,
        [&](const Index& i) {
            return double(src.get({0, i[2], 7}));
        },
        0, 2);
}

std::int64_t source_of(std::int64_t i, std::int64_t length, PadMode mode) {
    if (i >= 0 && i < length) return i;
    if (mode == PadMode::edge) return i < 0 ? 0 : length - 1;
    if (mode == PadMode::reflect) return i < 0 ? -i : 2 * length - 2 - i;
    return -1;
}

TEST(Transform, PadsOfEveryModeAndCrops) {
    const Dims dims{3, 4, 5, 6};
    const std::vector<std::pair<Dims, Dims>> pads = {{{0, 0, 1, 2}, {0, 0, 3, 0}},
                                                     {{1, 2, 0, 3}, {2, 1, 4, 5}},
                                                     {{-1, 0, 2, -2}, {1, -3, -4, 1}},
                                                     {{0, 0, 0, 0}, {0, 0, 0, 0}},
                                                     {{2, 3, 4, 5}, {-2, -1, 0, -3}}};
    for (const PadMode mode : {PadMode::constant, PadMode::edge, PadMode::reflect})
        for (const auto& [begin, end] : pads)
            for (const Lay from : all_lays)
                for (const Lay to : all_lays) {
                    Dims out = dims;
                    for (int a = 0; a < 4; ++a) out[a] += begin[a] + end[a];
                    TransformProblem p{make_desc(dims, from), make_desc(out, to), begin, end, mode, -1.25f};
                    Guarded src(p.src);
                    src.fill([](const Index& i) { return noise(i); });
                    run_all(
                        p, {src.data()}, p.dst,
                        [&](const Index& i) {
                            Index at = i;
                            for (std::size_t a = 0; a < 4; ++a) {
                                at[a] = source_of(i[a] - begin[static_cast<int>(a)],
                                                  dims[static_cast<int>(a)], mode);
                                if (at[a] < 0) return -1.25;
                            }
                            return double(src.get(at));
                        },
                        0, 2);
                }
}

TEST(Transform, PadOfNothingIsTheValue) {
    TransformProblem p{
        TensorDesc::packed({2, 0}), TensorDesc::packed({3, 4}), {1, 1}, {0, 3}, PadMode::constant, 7};
    const float nothing = 0;
    run_all(
        p, {&nothing}, p.dst, [](const Index&) { return 7.0; }, 0, 2);
}

template <class From, class To>
void check_conversion(DataType from, DataType to, const std::vector<From>& values,
                      const std::vector<To>& expected) {
    const Dims dims{static_cast<std::int64_t>(values.size())};
    TransformProblem p{TensorDesc::packed(dims, from), TensorDesc::packed(dims, to), {}, {}};
    for (const auto& row : candidates(context(), p)) {
        Guarded src(p.src), dst(p.dst);
        for (std::size_t i = 0; i < values.size(); ++i)
            src.set<From>({static_cast<std::int64_t>(i)}, values[i]);
        execute(*make_plan(context(), p, {.algorithm = row.algorithm}), context(),
                {.sources = std::vector<const void*>{src.data()}, .dst = dst.data()});
        EXPECT_EQ(dst.damage(), "");
        for (std::size_t i = 0; i < values.size(); ++i)
            EXPECT_EQ(dst.get<To>({static_cast<std::int64_t>(i)}), expected[i])
                << row.algorithm << " " << to_string(from) << " to " << to_string(to) << " value " << i;
    }
}

TEST(Transform, FloatToIntegerTruncatesAndSaturates) {
    const float big = 3e20f;
    const float special = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> values{1.9f, -1.9f, 255.7f, 300, -300, big, -big, special, -0.5f};
    check_conversion<float, std::int8_t>(DataType::f32, DataType::i8, values,
                                         {1, -1, 127, 127, -128, 127, -128, 0, 0});
    check_conversion<float, std::uint8_t>(DataType::f32, DataType::u8, values,
                                          {1, 0, 255, 255, 0, 255, 0, 0, 0});
    check_conversion<float, std::int32_t>(DataType::f32, DataType::i32, values,
                                          {1, -1, 255, 300, -300, INT32_MAX, INT32_MIN, 0, 0});
    check_conversion<float, std::int64_t>(DataType::f32, DataType::i64, values,
                                          {1, -1, 255, 300, -300, INT64_MAX, INT64_MIN, 0, 0});
    check_conversion<float, std::uint8_t>(DataType::f32, DataType::boolean, values,
                                          {1, 1, 1, 1, 1, 1, 1, 1, 1});
    check_conversion<double, std::int32_t>(DataType::f64, DataType::i32,
                                           {2147483647.0, 2147483648.0, -2147483648.9, 0.0},
                                           {INT32_MAX, INT32_MAX, INT32_MIN, 0});
}

TEST(Transform, IntegersAndBooleans) {
    check_conversion<std::int64_t, std::int32_t>(DataType::i64, DataType::i32,
                                                 {(std::int64_t{1} << 32) + 5, -7}, {5, -7});
    check_conversion<std::int32_t, float>(DataType::i32, DataType::f32, {-3, 16777217}, {-3.0f, 16777216.0f});
    check_conversion<std::uint8_t, float>(DataType::boolean, DataType::f32, {0, 1, 2}, {0.0f, 1.0f, 1.0f});
    check_conversion<std::uint8_t, float>(DataType::u8, DataType::f32, {0, 200}, {0.0f, 200.0f});
    check_conversion<std::int64_t, std::int64_t>(DataType::i64, DataType::i64, {INT64_MIN, INT64_MAX},
                                                 {INT64_MIN, INT64_MAX});
}

// Nearest among all finite halves, ties to the even pattern: an enumeration, not an algorithm.
TEST(Transform, HalvesRoundToNearestEven) {
    const auto half_value = [](std::uint32_t bits) {
        const double mantissa = bits & 1023u;
        const int exponent = static_cast<int>(bits >> 10 & 31u);
        return exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    };
    std::vector<float> values;
    std::vector<std::uint16_t> expected;
    for (std::uint32_t bits = 0; bits < 0x7c00u; bits += 13) {
        // The next one above the largest is where infinity begins.
        const double low = half_value(bits), high = bits + 1 < 0x7c00u ? half_value(bits + 1) : 65536.0;
        const float middle = static_cast<float>((low + high) / 2);
        for (const float sign : {1.0f, -1.0f}) {
            const std::uint16_t mark = sign < 0 ? 0x8000 : 0;
            const auto put = [&](float value, std::uint32_t pattern) {
                values.push_back(sign * value);
                expected.push_back(static_cast<std::uint16_t>(pattern | mark));
            };
            put(static_cast<float>(low), bits);
            put(std::nextafter(middle, 0.0f), bits);
            put(middle, bits % 2 == 0 ? bits : bits + 1);
            put(std::nextafter(middle, 1e9f), bits + 1);
        }
    }
    for (const float value : {65504.0f, 65519.996f, 65520.0f, 1e9f, std::numeric_limits<float>::infinity()}) {
        values.push_back(value);
        expected.push_back(value < 65520.0f ? 0x7bff : 0x7c00);
    }
    check_conversion<float, std::uint16_t>(DataType::f32, DataType::f16, values, expected);
    std::vector<std::uint16_t> all;
    std::vector<float> as_float;
    for (std::uint32_t bits = 0; bits < 0x7c00u; bits += 7) {
        all.push_back(static_cast<std::uint16_t>(bits));
        as_float.push_back(static_cast<float>(half_value(bits)));
        all.push_back(static_cast<std::uint16_t>(bits | 0x8000u));
        as_float.push_back(-as_float.back());
    }
    check_conversion<std::uint16_t, float>(DataType::f16, DataType::f32, all, as_float);
    // From double: a second rounding on the way through float would give the even neighbour.
    check_conversion<double, std::uint16_t>(DataType::f64, DataType::f16,
                                            {1 + std::ldexp(1, -11) + std::ldexp(1, -40)}, {0x3c01});
}

TEST(Transform, BFloat16RoundsToNearestEven) {
    check_conversion<float, std::uint16_t>(DataType::f32, DataType::bf16,
                                           {1.0f, 1.00390625f, 1.01171875f, -3.0f, 3.4e38f, 1.0039065f},
                                           {0x3f80, 0x3f80, 0x3f82, 0xc040, 0x7f80, 0x3f81});
    check_conversion<std::uint16_t, float>(DataType::bf16, DataType::f32, {0x3f80, 0xc040}, {1.0f, -3.0f});
}

}  // namespace
}  // namespace convlens::test

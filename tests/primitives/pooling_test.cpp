#include "harness.h"

namespace convlens::test {
namespace {

struct Axis {
    std::int64_t length, window, stride = 1, begin = 0, end = 0, dilation = 1;
    bool ceil = false;
};

PoolingProblem problem_of(std::int64_t n, std::int64_t c, const std::vector<Axis>& axes, PoolingKind kind,
                          Lay src_lay, Lay dst_lay) {
    PoolingProblem p;
    p.kind = kind;
    Dims src{n, c}, dst{n, c};
    p.window = WindowDesc::unit(static_cast<int>(axes.size()));
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const Axis& a = axes[i];
        const int k = static_cast<int>(i);
        src.push_back(a.length);
        p.size.push_back(a.window);
        p.window.pads_begin[k] = a.begin;
        p.window.pads_end[k] = a.end;
        p.window.strides[k] = a.stride;
        p.window.dilations[k] = a.dilation;
        dst.push_back(pooling_output_size(a.length, a.window, a.begin, a.end, a.stride, a.dilation, a.ceil));
    }
    p.src = make_desc(src, src_lay);
    p.dst = make_desc(dst, dst_lay);
    return p;
}

// By the words of the contract: visit every cell of the window, one at a time.
double pool_by_words(const PoolingProblem& p, const Guarded& src, const Index& out) {
    const int spatial = p.size.rank();
    double best = -inf, sum = 0;
    std::int64_t real = 0, inside = 0;
    for_each_index(p.size, [&](const Index& tap) {
        Index cell{out[0], out[1]};
        bool is_real = true, is_inside = true;
        for (int a = 0; a < spatial; ++a) {
            const auto i = static_cast<std::size_t>(a);
            const std::int64_t x =
                out[i + 2] * p.window.strides[a] - p.window.pads_begin[a] + tap[i] * p.window.dilations[a];
            is_real = is_real && x >= 0 && x < p.src.dims[a + 2];
            is_inside = is_inside && x < p.src.dims[a + 2] + p.window.pads_end[a];
            cell.push_back(x);
        }
        if (is_inside) ++inside;
        if (!is_real) return;
        ++real;
        const double value = src.get(cell);
        if (std::isnan(value) || std::isnan(best))
            best = nan;
        else
            best = std::max(best, value);
        sum += value;
    });
    if (p.kind == PoolingKind::max) return best;
    if (real == 0) return 0;
    return sum / static_cast<double>(p.kind == PoolingKind::average_include_pad ? inside : real);
}

constexpr PoolingKind kinds[] = {PoolingKind::max, PoolingKind::average_include_pad,
                                 PoolingKind::average_exclude_pad};

void check_problem(const PoolingProblem& p, const std::function<double(const Index&)>& value, int least = 2) {
    Guarded src(p.src);
    src.fill(value);
    run_all(
        p, {src.data()}, p.dst, [&](const Index& i) { return pool_by_words(p, src, i); }, 3e-6, least);
}

void check_everywhere(std::int64_t n, std::int64_t c, const std::vector<Axis>& axes) {
    for (const PoolingKind kind : kinds)
        for (const Lay src : all_lays)
            for (const Lay dst : all_lays)
                check_problem(problem_of(n, c, axes, kind, src, dst),
                              [](const Index& i) { return noise(i); });
}

TEST(Pooling, EveryChannelCount) {
    for (std::int64_t c = 1; c <= 33; ++c)
        for (const PoolingKind kind : kinds) {
            const std::vector<Axis> axes{{5, 3, 2, 1, 0}, {7, 2, 1, 0, 1}};
            check_problem(problem_of(2, c, axes, kind, Lay::channels_last, Lay::channels_last),
                          [](const Index& i) { return noise(i); });
        }
    for (const std::int64_t c : {64, 71, 130}) check_everywhere(1, c, {{4, 3, 2, 1, 1}, {5, 3, 2, 1, 1}});
}

TEST(Pooling, EveryLengthAndStride) {
    for (std::int64_t length = 1; length <= 33; ++length)
        for (std::int64_t stride = 1; stride <= 3; ++stride)
            for (const PoolingKind kind : kinds) {
                const std::vector<Axis> axes{{3, 2, 1, 1, 0}, {length, 3, stride, 1, 2, 1, true}};
                check_problem(problem_of(1, 3, axes, kind, Lay::packed, Lay::packed),
                              [](const Index& i) { return noise(i); });
            }
    // Longer than the strip that rows are folded in.
    check_everywhere(1, 2, {{2, 2}, {4500, 5, 2, 3, 1}});
    check_everywhere(1, 1, {{1, 1}, {5000, 2400, 700, 3, 1}});
}

TEST(Pooling, GeometryOfOneToThreeAxes) {
    check_everywhere(2, 5, {{11, 4, 3, 2, 1, 1, true}});
    check_everywhere(2, 5, {{9, 3, 2, 1, 0, 2}, {13, 2, 3, 0, 1, 3}});
    check_everywhere(1, 18, {{4, 2, 1, 1, 0}, {5, 3, 2, 0, 1}, {6, 2, 3, 1, 1, 2, true}});
    check_everywhere(3, 7, {{6, 5, 5, 4, 4}, {8, 3, 7, 2, 1}});
}

TEST(Pooling, GlobalWindowIsTakenByItsOwnRow) {
    for (const PoolingKind kind : kinds)
        for (const std::int64_t c : {1, 3, 16, 17, 64, 65, 130})
            for (const Lay lay : {Lay::packed, Lay::channels_last}) {
                const auto p = problem_of(2, c, {{7, 7}, {9, 9}}, kind, lay, Lay::packed);
                check_problem(
                    p, [](const Index& i) { return noise(i); }, 3);
                EXPECT_EQ(make_plan(context(), p)->info().algorithm, "global");
            }
    // A few channels of many cells.
    for (const PoolingKind kind : kinds)
        for (const std::int64_t c : {4, 9})
            check_problem(
                problem_of(2, c, {{40, 40}, {41, 41}}, kind, Lay::channels_last, Lay::packed),
                [](const Index& i) { return noise(i); }, 3);
    // A window that covers the source and pads divides by the pads too, where they count.
    check_everywhere(2, 20, {{5, 8, 1, 2, 1}, {3, 6, 1, 1, 2}});
}

TEST(Pooling, InfinitiesAndNaNAreEqualInBodyAndTail) {
    for (const Lay lay : {Lay::packed, Lay::channels_last})
        for (const PoolingKind kind : kinds)
            for (std::int64_t c = 1; c <= 33; c += 4)
                for (std::int64_t length = 2; length <= 33; length += 3)
                    check_problem(
                        problem_of(1, c, {{3, 2}, {length, 2}}, kind, lay, lay), [](const Index& i) {
                            const std::int64_t which = (i[1] + 2 * i[2] + 3 * i[3]) % 11;
                            return which == 0 ? nan : which == 3 ? -inf : which == 7 ? inf : noise(i);
                        });
}

TEST(Pooling, OtherFloatingPointTypesByTheReference) {
    PoolingProblem p =
        problem_of(1, 2, {{4, 2, 2}, {6, 3, 3}}, PoolingKind::average_exclude_pad, Lay::packed, Lay::packed);
    p.src.type = p.dst.type = DataType::f64;
    Guarded src(p.src), dst(p.dst);
    src.fill<double>([](const Index& i) { return noise(i) * 1e200; });
    execute(*make_plan(context(), p), context(),
            {.sources = std::vector<const void*>{src.data()}, .dst = dst.data()});
    double sum = 0;
    for (std::int64_t h = 0; h < 2; ++h)
        for (std::int64_t w = 0; w < 3; ++w) sum += src.get<double>({0, 1, h + 2, w + 3});
    EXPECT_DOUBLE_EQ((dst.get<double>({0, 1, 1, 1})), sum / 6);
    p.src.type = p.dst.type = DataType::i32;
    EXPECT_NE(message_of(Status::not_supported, [&] { make_plan(context(), p); }), "");
}

// The list's cases of one axis: x along W.
std::vector<double> pool_line(const std::vector<double>& x, PoolingKind kind, const Axis& axis,
                              Lay lay = Lay::packed) {
    PoolingProblem p = problem_of(1, 1, {{1, 1}, axis}, kind, lay, lay);
    Guarded src(p.src);
    src.fill([&](const Index& i) { return x[static_cast<std::size_t>(i[3])]; });
    std::vector<double> first;
    for (const Candidate& row : candidates(context(), p)) {
        if (!row.applicable) continue;
        Guarded dst(p.dst);
        execute(*make_plan(context(), p, {.algorithm = row.algorithm}), context(),
                {.sources = std::vector<const void*>{src.data()}, .dst = dst.data()});
        std::vector<double> out;
        for (std::int64_t i = 0; i < p.dst.dims[3]; ++i) out.push_back(dst.get({0, 0, 0, i}));
        if (first.empty()) first = out;
        for (std::size_t i = 0; i < out.size(); ++i) expect_near(out[i], first[i], 1e-6, row.algorithm);
    }
    return first;
}

void expect_line(const std::vector<double>& actual, const std::vector<double>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
        expect_near(actual[i], expected[i], 1e-6, std::to_string(i));
}

TEST(PoolingBugcase, POOL_01_CeilModeDropsAWindowThatStartsBeyondTheInput) {
    EXPECT_EQ(pooling_output_size(6, 1, 0, 0, 2, 1, true), 3);
    EXPECT_EQ(pooling_output_size(7, 1, 0, 0, 2, 1, true), 4);
    PoolingProblem p = problem_of(1, 1, {{6, 1, 2, 0, 0, 1, true}, {7, 1, 2, 0, 0, 1, true}},
                                  PoolingKind::max, Lay::packed, Lay::packed);
    Guarded src(p.src);
    src.fill([](const Index& i) { return 7.0 * static_cast<double>(i[2]) + static_cast<double>(i[3]) + 1; });
    run_all(p, {src.data()}, p.dst, [](const Index& i) {
        return 14.0 * static_cast<double>(i[2]) + 2.0 * static_cast<double>(i[3]) + 1;
    });
}
TEST(PoolingBugcase, POOL_03_EmptyLastWindowOfExcludePad) {
    expect_line(pool_line({1, 2, 3, 4, 5}, PoolingKind::average_exclude_pad, {5, 3, 3, 1, 1, 1, true}),
                {1.5, 4.0});
}
TEST(PoolingBugcase, POOL_04_OverhangNeverCounts) {
    expect_line(
        pool_line({1, 2, 3, 4, 5, 6, 7, 8, 9}, PoolingKind::average_include_pad, {9, 7, 3, 3, 3, 1, true}),
        {10.0 / 7, 4.0, 39.0 / 7, 4.0});
}
TEST(PoolingBugcase, POOL_06_AsymmetricPadsDivideRightly) {
    expect_line(pool_line({1, 2, 3}, PoolingKind::average_include_pad, {3, 3, 1, 0, 2}), {2.0, 5.0 / 3, 1.0});
    expect_line(pool_line({1, 2, 3}, PoolingKind::average_exclude_pad, {3, 3, 1, 0, 2}), {2.0, 2.5, 3.0});
}
TEST(PoolingBugcase, POOL_08_WindowWithoutARealCell) {
    for (const std::int64_t pad : {3, 4}) {
        const Axis axis{3, 3, 3, pad, pad};
        const auto most = pool_line({2, 3, 4}, PoolingKind::max, axis);
        EXPECT_EQ(most[0], -inf);
        const auto mean = pool_line({2, 3, 4}, PoolingKind::average_include_pad, axis);
        EXPECT_EQ(mean[0], 0.0);
        EXPECT_EQ(pool_line({2, 3, 4}, PoolingKind::average_exclude_pad, axis)[0], 0.0);
    }
}
TEST(PoolingBugcase, POOL_09_NaNInEveryChannelCount) {
    for (std::int64_t c = 1; c <= 33; ++c)
        for (const bool first : {true, false}) {
            auto p =
                problem_of(1, c, {{1, 1}, {2, 2}}, PoolingKind::max, Lay::channels_last, Lay::channels_last);
            check_problem(p, [&](const Index& i) { return (i[3] == 0) == first ? nan : 3.0; });
        }
}
TEST(Pooling, MaximumStartsFromARealCell) {
    expect_line(pool_line({-inf, -inf, -3, -4}, PoolingKind::max, {4, 2, 2, 0, 0}), {-inf, -3});
    expect_line(pool_line({-5, -6}, PoolingKind::max, {2, 3, 1, 1, 1}), {-5, -5});
}
TEST(PoolingBugcase, POOL_14_DilationOfTheCellsRead) {
    expect_line(pool_line({9, 1, 2, 8, 3}, PoolingKind::max, {5, 2, 1, 0, 0, 3}), {9, 3});
    expect_line(pool_line({9, 1, 2, 8, 3}, PoolingKind::average_include_pad, {5, 2, 1, 0, 0, 3}), {8.5, 2.0});
}
TEST(PoolingBugcase, POOL_16_WindowLargerThanTheInput) {
    EXPECT_EQ(pooling_output_size(2, 4, 0, 0, 3, 1, false), 0);
    EXPECT_EQ(pooling_output_size(5, 20, 0, 0, 20, 1, false), 0);
    EXPECT_EQ(convolution_output_size(2, 4, 0, 0, 3, 1), 0);
    EXPECT_EQ(pooling_output_size(2, 4, 0, 0, 3, 1, true), 1);
    PoolingProblem p;
    p.src = TensorDesc::packed({1, 1, 1, 5});
    p.dst = TensorDesc::packed({1, 1, 1, 1});
    p.size = {1, 20};
    p.window = WindowDesc::unit(2);
    EXPECT_NE(message_of(Status::bad_parameter, [&] { make_plan(context(), p); }), "");
}
TEST(PoolingBugcase, POOL_18_MoreThan65535Images) {
    auto p = problem_of(256, 256, {{2, 2, 2}, {2, 2, 2}}, PoolingKind::max, Lay::packed, Lay::packed);
    Guarded src(p.src);
    src.fill([](const Index& i) { return static_cast<double>(i[0]); });
    run_all(p, {src.data()}, p.dst, [](const Index& i) { return static_cast<double>(i[0]); });
}

}  // namespace
}  // namespace convlens::test

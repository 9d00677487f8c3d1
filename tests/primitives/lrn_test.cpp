#include "harness.h"

namespace convlens::test {
namespace {

double lrn_by_words(const LrnProblem& p, const Guarded& src, const Index& index) {
    double sum = 0;
    for (std::int64_t c = 0; c < p.src.dims[1]; ++c) {
        // size 5: two on each side; size 4: one before, two after.
        if (c < index[1] - (p.size - 1) / 2 || c > index[1] + p.size / 2) continue;
        Index at = index;
        at[1] = c;
        sum += double(src.get(at)) * double(src.get(at));
    }
    return src.get(index) / std::pow(p.k + double(p.alpha) / double(p.size) * sum, double(p.beta));
}

void check_problem(
    LrnProblem p, const Dims& dims, Lay from, Lay to,
    const std::function<double(const Index&)>& value = [](const Index& i) { return noise(i) * 3; }) {
    p.src = make_desc(dims, from);
    p.dst = make_desc(dims, to);
    Guarded src(p.src);
    src.fill(value);
    run_all(
        p, {src.data()}, p.dst, [&](const Index& i) { return lrn_by_words(p, src, i); }, 4e-6,
        p.size > 512 ? 1 : 2);
}

LrnProblem settings(std::int64_t size, float alpha, float beta, float k) {
    LrnProblem p;
    p.size = size;
    p.alpha = alpha;
    p.beta = beta;
    p.k = k;
    return p;
}

TEST(Lrn, EverySizeAndChannelCount) {
    for (std::int64_t size = 1; size <= 9; ++size)
        for (std::int64_t c = 1; c <= 33; c += size % 3 + 1)
            for (const Lay lay : {Lay::packed, Lay::channels_last})
                check_problem(settings(size, 0.3f, 0.75f, 1.5f), {2, c, 3, 2}, lay, lay);
    for (const std::int64_t size : {40, 300, 600})
        for (const Lay lay : {Lay::packed, Lay::channels_last})
            check_problem(settings(size, 0.3f, 0.75f, 1), {1, 35, 2, 3}, lay, lay);
}

TEST(Lrn, LayoutsExponentsAndParallel) {
    for (const Lay from : all_lays)
        for (const Lay to : all_lays)
            for (const float beta : {0.5f, 0.75f, 1.0f, 0.6f})
                check_problem(settings(4, 1.0f, beta, 2), {2, 7, 5, 3}, from, to);
    check_problem(settings(5, 1e-2f, 0.75f, 1), {1, 1100, 5, 3}, Lay::channels_last, Lay::channels_last);
    check_problem(settings(5, 1e-2f, 0.75f, 1), {2, 24, 31, 29}, Lay::packed, Lay::packed);
    check_problem(settings(3, 1, 0.75f, 1), {4, 9}, Lay::packed, Lay::packed);
    check_problem(settings(3, 1, 0.75f, 1), {2, 6, 3, 2, 4}, Lay::packed, Lay::channels_last);
}

TEST(Lrn, NaNReachesItsWindowOnly) {
    for (const Lay lay : {Lay::packed, Lay::channels_last})
        check_problem(settings(3, 1, 0.75f, 1), {1, 21, 2, 3}, lay, lay,
                      [](const Index& i) { return i[1] == 8 && i[3] == 1 ? nan : noise(i); });
}

TEST(LrnBugcase, LRN_01_EvenWindowTakesTheExtraChannelAfter) {
    for (const Lay lay : {Lay::packed, Lay::channels_last}) {
        LrnProblem p = settings(2, 1, 1, 1);
        p.src = p.dst = make_desc({1, 4, 1, 1}, lay);
        Guarded src(p.src);
        src.fill([](const Index& i) { return static_cast<double>(i[1] + 1); });
        const double expected[] = {0.285714, 0.266667, 0.222222, 0.444444};
        run_all(
            p, {src.data()}, p.dst, [&](const Index& i) { return expected[i[1]]; }, 1e-6, 2);
    }
}

}  // namespace
}  // namespace convlens::test

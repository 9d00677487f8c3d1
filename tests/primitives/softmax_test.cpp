#include <sys/mman.h>

#include "harness.h"

namespace convlens::test {
namespace {

double softmax_by_words(const SoftmaxProblem& p, const Guarded& src, const Index& index) {
    Index at = index;
    double most = -inf, sum = 0;
    for (std::int64_t i = 0; i < p.src.dims[p.axis]; ++i) {
        at[static_cast<std::size_t>(p.axis)] = i;
        const double value = src.get(at);
        if (std::isnan(value)) return nan;
        most = std::max(most, value);
    }
    if (std::isinf(most)) return nan;
    for (std::int64_t i = 0; i < p.src.dims[p.axis]; ++i) {
        at[static_cast<std::size_t>(p.axis)] = i;
        sum += std::exp(src.get(at) - most);
    }
    const double shifted = src.get(index) - most;
    return p.logarithm ? shifted - std::log(sum) : std::exp(shifted) / sum;
}

void check_dims(const Dims& dims, int axis, Lay from, Lay to,
                const std::function<double(const Index&)>& value) {
    for (const bool logarithm : {false, true}) {
        SoftmaxProblem p{make_desc(dims, from), make_desc(dims, to), axis, logarithm};
        Guarded src(p.src);
        src.fill(value);
        run_all(
            p, {src.data()}, p.dst, [&](const Index& i) { return softmax_by_words(p, src, i); }, 2e-6, 2);
    }
}

TEST(Softmax, EveryAxisAndLayout) {
    for (int axis = 0; axis < 4; ++axis)
        for (const Lay from : all_lays)
            for (const Lay to : all_lays)
                check_dims({2, 37, 3, 5}, axis, from, to, [](const Index& i) { return noise(i) * 5; });
}

TEST(Softmax, EveryLength) {
    for (std::int64_t n = 1; n <= 70; ++n) {
        check_dims({3, n}, 1, Lay::packed, Lay::packed, [](const Index& i) { return noise(i) * 9; });
        check_dims({1, 3, n}, 1, Lay::packed, Lay::packed, [](const Index& i) { return noise(i) * 9; });
    }
    check_dims({2, 21, 30, 40}, 1, Lay::packed, Lay::packed, [](const Index& i) { return noise(i) * 9; });
    check_dims({2, 2, 90, 70}, 1, Lay::channels_last, Lay::channels_last,
               [](const Index& i) { return noise(i); });
    check_dims({1, 1000}, 1, Lay::packed, Lay::packed, [](const Index& i) { return noise(i) * 20; });
}

TEST(Softmax, InfinitiesAndNaN) {
    for (const Lay lay : {Lay::packed, Lay::channels_last})
        for (std::int64_t n = 2; n <= 40; n += 3)
            check_dims({1, n, 3, 7}, 1, lay, lay, [](const Index& i) {
                if (i[3] == 1 && i[1] == 1) return nan;
                if (i[3] == 2) return -inf;
                if (i[3] == 3 && i[1] == 0) return -inf;
                if (i[3] == 4 && i[1] == 1) return inf;
                return noise(i) * 3;
            });
}

TEST(SoftmaxBugcase, SM_01_LargeValuesDoNotOverflow) {
    for (const bool logarithm : {false, true}) {
        SoftmaxProblem p{TensorDesc::packed({1, 3}), TensorDesc::packed({1, 3}), 1, logarithm};
        Guarded src(p.src);
        src.fill([](const Index& i) { return 1000.0 + static_cast<double>(i[1]); });
        const double plain[] = {0.0900306, 0.2447285, 0.6652410};
        const double logs[] = {-2.4076060, -1.4076060, -0.4076060};
        run_all(
            p, {src.data()}, p.dst,
            [&](const Index& i) { return (logarithm ? logs : plain)[static_cast<std::size_t>(i[1])]; }, 1e-6,
            2);
    }
}

TEST(SoftmaxBugcase, SM_03_RowsBeyondTwoToThe31Elements) {
    if (on_gpu) GTEST_SKIP() << "sparse host memory can't be mirrored; tests/gpu has far offsets of its own";
    // Address space of more than 2^31 elements of which two rows are ever touched.
    constexpr std::int64_t far = (std::int64_t{1} << 31) + 1024;
    const std::size_t bytes = static_cast<std::size_t>(far + 2048) * sizeof(float);
    void* from =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void* to =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (from == MAP_FAILED || to == MAP_FAILED) GTEST_SKIP() << "no 16 GiB of address space";
    TensorDesc desc = TensorDesc::packed({2, 1024});
    desc.strides[0] = far;
    for (const auto& row : candidates(context(), SoftmaxProblem{desc, desc, 1, false})) {
        execute(*make_plan(context(), SoftmaxProblem{desc, desc, 1, false}, {.algorithm = row.algorithm}),
                context(), {.sources = std::vector<const void*>{from}, .dst = to});
        for (std::int64_t i = 0; i < 1024; ++i) {
            ASSERT_EQ(static_cast<float*>(to)[far + i], 0.0009765625f);
            static_cast<float*>(to)[far + i] = -1;
        }
    }
    munmap(from, bytes);
    munmap(to, bytes);
}

TEST(SoftmaxBugcase, POOL_18_MoreThan65535Positions) {
    SoftmaxProblem p{TensorDesc::packed({1, 2, 65536, 1}), TensorDesc::packed({1, 2, 65536, 1}), 1, false};
    Guarded src(p.src);
    src.fill([](const Index& i) { return i[1] == 0 ? 0.0 : std::log(3.0); });
    run_all(
        p, {src.data()}, p.dst, [](const Index& i) { return i[1] == 0 ? 0.25 : 0.75; }, 1e-6, 2);
}

}  // namespace
}  // namespace convlens::test

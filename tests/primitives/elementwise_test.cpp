#include "harness.h"

namespace convlens::test {
namespace {

using Kind = ElementwiseKind;

double by_definition(Kind kind, double a, double b) {
    switch (kind) {
        case Kind::add:
            return a + b;
        case Kind::sub:
            return a - b;
        case Kind::mul:
            return a * b;
        case Kind::div:
            return a / b;
        case Kind::pow:
            return std::pow(a, b);
        case Kind::min:
            return std::isnan(a) || std::isnan(b) ? nan : std::min(a, b);
        case Kind::max:
            return std::isnan(a) || std::isnan(b) ? nan : std::max(a, b);
        case Kind::prelu:
            return a < 0 ? b * a : a;
        case Kind::abs:
            return std::fabs(a);
        case Kind::neg:
            return -a;
        case Kind::exp:
            return std::exp(a);
        case Kind::log:
            return std::log(a);
        case Kind::sqrt:
            return std::sqrt(a);
        case Kind::reciprocal:
            return 1 / a;
        case Kind::floor:
            return std::floor(a);
        case Kind::ceil:
            return std::ceil(a);
        case Kind::round:
            return std::floor(a) + (a - std::floor(a) > 0.5 ||
                                    (a - std::floor(a) == 0.5 && std::fmod(std::floor(a), 2) != 0));
        case Kind::sign:
            return std::isnan(a) ? nan : a > 0 ? 1 : a < 0 ? -1 : 0;
        case Kind::erf:
            return std::erf(a);
        case Kind::softplus:
            return std::log(1 + std::exp(a));
        case Kind::sin:
            return std::sin(a);
        case Kind::cos:
            return std::cos(a);
    }
    return 0;
}

std::vector<Kind> all_kinds() {
    std::vector<Kind> kinds;
    for (int k = 0; k <= static_cast<int>(Kind::cos); ++k) kinds.push_back(static_cast<Kind>(k));
    return kinds;
}

Index clip_index(const Index& index, const Dims& dims) {
    Index result = index;
    for (std::size_t i = 0; i < index.size(); ++i)
        if (dims[static_cast<int>(i)] == 1) result[i] = 0;
    return result;
}

void check_kind(Kind kind, const TensorDesc& a_desc, const TensorDesc& b_desc, const TensorDesc& dst,
                const ActivationDesc& activation = {}, double tolerance = 3e-6) {
    ElementwiseProblem p{kind, a_desc, is_unary(kind) ? TensorDesc{} : b_desc, dst, activation};
    Guarded a(a_desc), b(b_desc);
    const bool positive = kind == Kind::log || kind == Kind::sqrt || kind == Kind::pow;
    a.fill([&](const Index& i) { return positive ? std::fabs(noise(i)) + 0.1 : noise(i) * 2; });
    b.fill([&](const Index& i) { return noise(i, 7) + (kind == Kind::div ? 3 : 0); });
    std::vector<const void*> sources{a.data()};
    if (!is_unary(kind)) sources.push_back(b.data());
    run_all(
        p, sources, dst,
        [&](const Index& i) {
            const double y =
                by_definition(kind, a.get(clip_index(i, a_desc.dims)), b.get(clip_index(i, b_desc.dims)));
            return activation.kind == ActivationKind::relu ? std::max(y, 0.0) : y;
        },
        tolerance, 2);
}

TEST(Elementwise, EveryKindAndLength) {
    for (const Kind kind : all_kinds())
        for (std::int64_t n = 1; n <= 33; ++n)
            check_kind(kind, TensorDesc::packed({n}), TensorDesc::packed({n}), TensorDesc::packed({n}));
}

TEST(Elementwise, EveryBroadcastAndLayout) {
    const Dims dims{2, 5, 3, 4};
    for (int mask = 0; mask < 16; ++mask)
        for (const Lay a_lay : all_lays)
            for (const Lay dst_lay : all_lays) {
                Dims a = dims, b = dims;
                for (int axis = 0; axis < 4; ++axis)
                    if ((mask >> axis & 1) != 0) (axis % 2 == 0 ? a : b)[axis] = 1;
                check_kind(Kind::sub, make_desc(a, a_lay), make_desc(b, Lay::channels_last),
                           make_desc(dims, dst_lay));
            }
    for (int mask = 0; mask < 16; ++mask) {
        Dims b = dims;
        for (int axis = 0; axis < 4; ++axis)
            if ((mask >> axis & 1) != 0) b[axis] = 1;
        for (const Lay lay : all_lays)
            check_kind(Kind::div, make_desc(dims, lay), make_desc(b, lay), make_desc(dims, lay),
                       {ActivationKind::relu});
    }
}

TEST(Elementwise, LongRowsShortRowsAndParallel) {
    for (const Dims& dims : {Dims{2, 33, 40, 41}, Dims{1, 200, 30, 9}, Dims{3, 3, 70, 60}})
        for (const Lay lay : {Lay::packed, Lay::channels_last}) {
            const Dims channel{1, dims[1], 1, 1}, image{dims[0], dims[1], 1, 1}, scalar{1, 1, 1, 1};
            for (const Dims& b : {dims, channel, image, scalar})
                check_kind(Kind::mul, make_desc(dims, lay), make_desc(b, lay), make_desc(dims, lay));
            check_kind(Kind::add, make_desc(scalar, lay), make_desc(dims, lay), make_desc(dims, Lay::odd));
        }
    check_kind(Kind::add, TensorDesc::packed({2, 1, 2, 1, 3, 1, 2, 5}),
               TensorDesc::packed({1, 3, 2, 2, 1, 2, 1, 5}), TensorDesc::packed({2, 3, 2, 2, 3, 2, 2, 5}));
    check_kind(Kind::neg, TensorDesc::packed({}), TensorDesc::packed({}), TensorDesc::packed({}));
}

TEST(Elementwise, SpecialValuesInBodyAndTail) {
    const double values[] = {nan, -inf, inf, -0.0, 0.0, -1.5, 2.5, 3e38, -1e-42};
    for (const Kind kind : all_kinds()) {
        if (kind == Kind::softplus) continue;  // log(1 + exp(x)) as written overflows or rounds away
        for (const std::int64_t n : {1, 5, 16, 33, 81}) {
            const TensorDesc desc = TensorDesc::packed({n});
            ElementwiseProblem p{kind, desc, desc, desc, {}};
            Guarded a(desc), b(desc);
            a.fill([&](const Index& i) { return values[(i[0] + n) % 9]; });
            b.fill([&](const Index& i) { return values[(i[0] / 9 + n) % 9]; });
            run_all(
                p, {a.data(), b.data()}, desc,
                [&](const Index& i) {
                    const double y = static_cast<float>(by_definition(kind, a.get(i), b.get(i)));
                    return y;
                },
                3e-6, 2);
        }
    }
}

TEST(Elementwise, InPlaceOnEitherOperand) {
    const TensorDesc desc = TensorDesc::channels_last({1, 21, 3, 5});
    for (const bool on_a : {true, false}) {
        Guarded a(desc), b(desc);
        a.fill([](const Index& i) { return noise(i); });
        b.fill([](const Index& i) { return noise(i, 9); });
        execute(*make_plan(context(), ElementwiseProblem{Kind::sub, desc, desc, desc, {}}), context(),
                {.sources = std::vector<const void*>{a.data(), b.data()}, .dst = on_a ? a.data() : b.data()});
        const Guarded& out = on_a ? a : b;
        for_each_index(desc.dims, [&](const Index& i) {
            expect_near(out.get(i), static_cast<float>(noise(i)) - static_cast<float>(noise(i, 9)), 1e-6,
                        text(i));
        });
    }
}

}  // namespace
}  // namespace convlens::test

#include "harness.h"

namespace convlens::test {
namespace {

double by_definition(const ActivationDesc& a, double x) {
    const double alpha = a.alpha, beta = a.beta;
    if (std::isnan(x)) return nan;
    switch (a.kind) {
        case ActivationKind::identity:
            return x;
        case ActivationKind::relu:
            return std::max(x, 0.0);
        case ActivationKind::clip:
            return std::min(std::max(x, alpha), beta);
        case ActivationKind::leaky_relu:
            return x < 0 ? alpha * x : x;
        case ActivationKind::elu:
            return x < 0 ? alpha * (std::exp(x) - 1) : x;
        case ActivationKind::sigmoid:
            return 1 / (1 + std::exp(-x));
        case ActivationKind::tanh:
            return std::tanh(x);
        case ActivationKind::swish:
            return x * (1 / (1 + std::exp(-alpha * x)));
        case ActivationKind::hard_sigmoid:
            return std::min(std::max(alpha * x + beta, 0.0), 1.0);
        case ActivationKind::hard_swish:
            return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0);
    }
    return x;
}

const std::vector<ActivationDesc> all_activations = {{ActivationKind::identity, 0, 0},
                                                     {ActivationKind::relu, 0, 0},
                                                     {ActivationKind::clip, 0, 6},
                                                     {ActivationKind::clip, -0.75f, 0.5f},
                                                     {ActivationKind::leaky_relu, 0.125f, 0},
                                                     {ActivationKind::elu, 1.5f, 0},
                                                     {ActivationKind::sigmoid, 0, 0},
                                                     {ActivationKind::tanh, 0, 0},
                                                     {ActivationKind::swish, 1, 0},
                                                     {ActivationKind::swish, 1.702f, 0},
                                                     {ActivationKind::hard_sigmoid, 0.2f, 0.5f},
                                                     {ActivationKind::hard_swish, 0, 0}};

TEST(Activation, EveryKindAndLayout) {
    for (const auto& a : all_activations)
        for (const Lay from : all_lays)
            for (const Lay to : all_lays) {
                const Dims dims{2, 5, 3, 7};
                ActivationProblem p{make_desc(dims, from), make_desc(dims, to), a};
                Guarded src(p.src);
                src.fill([](const Index& i) { return noise(i) * 4; });
                run_all(
                    p, {src.data()}, p.dst, [&](const Index& i) { return by_definition(a, src.get(i)); },
                    1e-6, 2);
            }
}

TEST(Activation, EveryLengthAndWideRange) {
    for (const auto& a : all_activations)
        for (std::int64_t n = 1; n <= 33; ++n) {
            ActivationProblem p{TensorDesc::packed({n}), TensorDesc::packed({n}), a};
            Guarded src(p.src);
            src.fill([&](const Index& i) {
                return (static_cast<double>(i[0]) - static_cast<double>(n) / 2) * std::pow(1.5, n / 3.0);
            });
            run_all(
                p, {src.data()}, p.dst, [&](const Index& i) { return by_definition(a, src.get(i)); }, 1e-6,
                2);
        }
}

TEST(Activation, LargeTensorsInParallelAndOtherRanks) {
    for (const Dims& dims : {Dims{3, 50000}, Dims{7, 33, 41, 9}, Dims{2, 3, 2, 3, 2, 3, 2, 5}, Dims{}})
        for (const Lay to : {Lay::packed, Lay::odd}) {
            ActivationProblem p{make_desc(dims, Lay::packed), make_desc(dims, to), {ActivationKind::relu}};
            Guarded src(p.src);
            src.fill([](const Index& i) { return noise(i); });
            run_all(
                p, {src.data()}, p.dst, [&](const Index& i) { return std::max(0.0, double(src.get(i))); }, 0,
                2);
        }
}

TEST(Activation, InPlaceOnlyWithEqualDescriptors) {
    for (const Lay lay : all_lays) {
        const TensorDesc desc = make_desc({2, 19, 5}, lay);
        for (const auto& row :
             candidates(context(), ActivationProblem{desc, desc, {ActivationKind::elu, 2, 0}})) {
            Guarded data(desc);
            data.fill([](const Index& i) { return noise(i); });
            execute(*make_plan(context(), ActivationProblem{desc, desc, {ActivationKind::elu, 2, 0}},
                               {.algorithm = row.algorithm}),
                    context(), {.sources = std::vector<const void*>{data.data()}, .dst = data.data()});
            EXPECT_EQ(data.damage(), "");
            for_each_index(desc.dims, [&](const Index& i) {
                const double x = static_cast<float>(noise(i));
                expect_near(data.get(i), by_definition({ActivationKind::elu, 2, 0}, x), 1e-6, row.algorithm);
            });
        }
    }
    const ActivationProblem p{
        make_desc({2, 3, 4}, Lay::packed), make_desc({2, 3, 4}, Lay::channels_last), {}};
    Guarded data(p.src);
    data.fill([](const Index& i) { return noise(i); });
    EXPECT_NE(message_of(Status::bad_parameter,
                         [&] {
                             execute(*make_plan(context(), p), context(),
                                     {.sources = std::vector<const void*>{data.data()}, .dst = data.data()});
                         }),
              "");
}

TEST(ActivationBugcase, ACT_01_NaNStaysNaNInBodyAndTail) {
    const double values[] = {nan, -inf, inf, -0.0, -1, 2};
    for (const auto& a : all_activations) {
        if (a.kind == ActivationKind::swish || a.kind == ActivationKind::hard_swish) continue;  // -inf * 0
        for (std::int64_t n = 1; n <= 33; ++n)
            for (std::int64_t shift = 0; shift < 6; ++shift) {
                ActivationProblem p{TensorDesc::packed({n}), TensorDesc::packed({n}), a};
                Guarded src(p.src);
                src.fill([&](const Index& i) { return values[(i[0] + shift) % 6]; });
                run_all(
                    p, {src.data()}, p.dst, [&](const Index& i) { return by_definition(a, src.get(i)); },
                    1e-6, 2);
            }
    }
}

}  // namespace
}  // namespace convlens::test

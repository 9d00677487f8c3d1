#include "harness.h"

namespace convlens::test {
namespace {

struct Statistics {
    std::vector<float> scale, bias, mean, variance;
    explicit Statistics(std::int64_t channels) {
        for (std::int64_t c = 0; c < channels; ++c) {
            scale.push_back(static_cast<float>(noise({c}, 2)));
            bias.push_back(static_cast<float>(noise({c}, 3)));
            mean.push_back(static_cast<float>(noise({c}, 4)));
            variance.push_back(static_cast<float>(0.1 + std::fabs(noise({c}, 5))));
        }
    }
    double normalize(double x, std::int64_t channel, double epsilon) const {
        const auto c = static_cast<std::size_t>(channel);
        return (x - mean[c]) / std::sqrt(variance[c] + epsilon) * scale[c] + bias[c];
    }
    std::vector<const void*> sources(const void* src) const {
        return {src, scale.data(), bias.data(), mean.data(), variance.data()};
    }
};

void check_dims(const Dims& dims, Lay from, Lay to, const ActivationDesc& activation) {
    BatchNormalizationProblem p{make_desc(dims, from), make_desc(dims, to), 1e-3f, activation};
    Guarded src(p.src);
    src.fill([](const Index& i) { return noise(i); });
    const Statistics statistics(dims[1]);
    run_all(
        p, statistics.sources(src.data()), p.dst,
        [&](const Index& i) {
            const double y = statistics.normalize(src.get(i), i[1], 1e-3f);
            if (activation.kind == ActivationKind::clip) return std::min(std::max(y, 0.0), 1.5);
            return activation.kind == ActivationKind::sigmoid ? 1 / (1 + std::exp(-y)) : y;
        },
        5e-6, 2);
}

TEST(BatchNormalization, EveryChannelCountAndLayout) {
    for (std::int64_t c = 1; c <= 33; ++c)
        for (const Lay lay : {Lay::packed, Lay::channels_last}) check_dims({2, c, 3, 5}, lay, lay, {});
    for (const Lay from : all_lays)
        for (const Lay to : all_lays)
            for (const ActivationDesc& a :
                 {ActivationDesc{ActivationKind::clip, 0, 1.5f}, ActivationDesc{ActivationKind::sigmoid}})
                check_dims({3, 11, 6, 4}, from, to, a);
}

TEST(BatchNormalization, OtherRanksAndParallel) {
    check_dims({5, 7}, Lay::packed, Lay::packed, {});
    check_dims({2, 6, 11}, Lay::channels_last, Lay::packed, {});
    check_dims({2, 3, 4, 5, 6}, Lay::packed, Lay::channels_last, {});
    check_dims({2, 40, 50, 31}, Lay::channels_last, Lay::channels_last, {});
    check_dims({2, 40, 50, 31}, Lay::packed, Lay::packed, {});
}

TEST(BatchNormalization, LargeMeanDoesNotCancel) {
    BatchNormalizationProblem p{
        TensorDesc::packed({1, 1, 1, 4}), TensorDesc::packed({1, 1, 1, 4}), 1e-5f, {}};
    Guarded src(p.src);
    src.fill([](const Index& i) { return 10000.0 + static_cast<double>(i[3]); });
    const float scale = 1, bias = 0, mean = 10001.5f, variance = 1.25f;
    run_all(
        p, {src.data(), &scale, &bias, &mean, &variance}, p.dst,
        [](const Index& i) { return (static_cast<double>(i[3]) - 1.5) / std::sqrt(1.25 + 1e-5); }, 1e-6, 2);
}

TEST(BatchNormalization, InPlace) {
    const TensorDesc desc = TensorDesc::channels_last({2, 13, 4, 3});
    Guarded data(desc);
    data.fill([](const Index& i) { return noise(i); });
    const Statistics statistics(13);
    const auto plan = make_plan(context(), BatchNormalizationProblem{desc, desc, 0.01f, {}});
    Workspace workspace(plan->info().workspace_bytes);
    execute(*plan, context(),
            {.sources = statistics.sources(data.data()),
             .dst = data.data(),
             .workspace = workspace.data(),
             .workspace_bytes = workspace.bytes()});
    for_each_index(desc.dims, [&](const Index& i) {
        expect_near(data.get(i), statistics.normalize(static_cast<float>(noise(i)), i[1], 0.01f), 5e-6,
                    text(i));
    });
}

TEST(BatchNormalization, WorkspaceOneByteLessIsRefused) {
    const TensorDesc desc = TensorDesc::packed({1, 5, 2, 3});
    Guarded src(desc), dst(desc);
    const Statistics statistics(5);
    const auto plan = make_plan(context(), BatchNormalizationProblem{desc, desc, 0.01f, {}});
    if (plan->info().workspace_bytes == 0) GTEST_SKIP() << plan->info().algorithm << " needs no workspace";
    Workspace workspace(plan->info().workspace_bytes);
    const auto message = message_of(Status::bad_parameter, [&] {
        execute(*plan, context(),
                {.sources = statistics.sources(src.data()),
                 .dst = dst.data(),
                 .workspace = workspace.data(),
                 .workspace_bytes = workspace.bytes() - 1});
    });
    EXPECT_NE(message.find("workspace"), std::string::npos) << message;
    EXPECT_TRUE(std::isnan(dst.get({0, 0, 0, 0})));
}

TEST(BatchNormalizationBugcase, BN_06_InferenceUsesTheGivenStatistics) {
    BatchNormalizationProblem p{TensorDesc::packed({2, 1, 1, 1}), TensorDesc::packed({2, 1, 1, 1}), 0.0f, {}};
    Guarded src(p.src);
    src.fill([](const Index& i) { return i[0] == 0 ? 2.0 : 4.0; });
    const float scale = 1, bias = 0, mean = 1, variance = 4;
    run_all(
        p, {src.data(), &scale, &bias, &mean, &variance}, p.dst,
        [](const Index& i) { return i[0] == 0 ? 0.5 : 1.5; }, 1e-6, 2);
}

}  // namespace
}  // namespace convlens::test

// Rows of other libraries: right where the library is installed, a reason where it is not, never chosen
// unasked.
#include "tests/primitives/convolution_directions.h"

namespace convlens::test {
namespace {

constexpr Direction directions[] = {Direction::fwd, Direction::bwd_data, Direction::bwd_filter};

Context& context() {
    static Context two_threads(test_options(2));
    return two_threads;
}

bool is_peer(const std::string& row) { return row.starts_with("peer:"); }

PeerInfo peer_here() {
    for (const PeerInfo& peer : peers())
        if (peer.name == (on_gpu ? "peer:cudnn" : "peer:onednn")) return peer;
    return {};
}

// Seeded shapes that a peer may be asked for: no alpha, no beta; strides, dilation, groups, pads on each
// side.
Case random_case(std::mt19937& generator, DataType type) {
    const auto pick = [&](Index low, Index high) {
        return std::uniform_int_distribution<Index>(low, high)(generator);
    };
    ConvolutionShape shape;
    const int rank = pick(0, 5) > 0 ? 2 : pick(0, 1) > 0 ? 1 : 3;
    shape.batch = pick(1, 3);
    shape.groups = pick(0, 2) == 0 ? pick(2, 4) : 1;
    shape.channels = shape.groups * pick(1, shape.groups > 1 ? 6 : 24);
    shape.outputs = shape.groups * pick(1, shape.groups > 1 ? 6 : 24);
    for (int axis = 0; axis < rank; ++axis) {
        shape.window.push_back(pick(1, rank == 3 ? 3 : 5));
        shape.dilations.push_back(pick(1, 2));
        shape.strides.push_back(pick(1, 3));
        shape.pads_begin.push_back(pick(0, 2));
        shape.pads_end.push_back(pick(0, 2));
        shape.src.push_back(pick(shape.dilations[axis] * (shape.window[axis] - 1) + 1, 14));
    }
    const Layout layout = pick(0, 1) ? Layout::channels_last : Layout::packed;
    Case c;
    c.forward = make_problem(shape, layout, layout);
    c.forward.src.type = c.forward.dst.type = type;
    return c;
}

void expect_right(const Case& c, Direction direction, const Candidate& row, unsigned seed) {
    const TensorDesc filter = TensorDesc::packed(c.forward.weights, c.forward.src.type);
    const Problem problem = problem_of(c, direction, filter);
    if (on_gpu) {
        // cuDNN wants aligned tensors: the finder's memory, and its comparison with the reference.
        const std::vector<std::string> rows = {row.algorithm, "direct"};
        FindOptions options;
        options.peers = true;
        options.algorithms = rows;
        options.samples = 1;
        for (const Finding& finding : find(context(), problem, options)) {
            if (finding.candidate.algorithm != row.algorithm) continue;
            const double bound = row.error_class == ErrorClass::bf16   ? 2e-2
                                 : row.error_class == ErrorClass::fp32 ? 2e-6
                                                                       : 4e-3;
            EXPECT_TRUE(finding.measured) << finding.failure;
            EXPECT_LE(finding.max_error.value_or(1), bound) << row.algorithm << " " << text_of(problem);
        }
        return;
    }
    const DirectionData data = random_direction_data(c, direction, c.forward.src.type, seed);
    const Reference reference = reference_direction(c, direction, data);
    const auto result = run_direction(context(), c, direction, filter, row.algorithm, data);
    for (std::size_t i = 0; i < result.size(); ++i) {
        const double bound = direction_tolerance(longest_sum(c.forward, direction), row.error_class,
                                                 c.forward.src.type, reference.scale[i], reference.value[i]);
        if (std::fabs(result[i] - reference.value[i]) <= bound) continue;
        ADD_FAILURE() << row.algorithm << " " << text_of(problem) << ": element " << i << " is " << result[i]
                      << ", should be " << reference.value[i] << " within " << bound;
        return;
    }
}

TEST(Peers, AreRightInEveryDirection) {
    if (const PeerInfo peer = peer_here(); !peer.found) GTEST_SKIP() << peer.text;
    std::mt19937 generator(5);
    int ran[3] = {};
    for (int i = 0; i < 60 && !HasFailure(); ++i) {
        const Case c = random_case(generator, i % 4 == 3 ? DataType::bf16 : DataType::f32);
        for (const Direction direction : directions) {
            const Problem problem =
                problem_of(c, direction, TensorDesc::packed(c.forward.weights, c.forward.src.type));
            for (const Candidate& row : candidates(context(), problem, true)) {
                if (!is_peer(row.algorithm)) continue;
                if (!row.applicable) {
                    EXPECT_NE(row.reason, "") << row.algorithm;
                    continue;
                }
                ++ran[static_cast<int>(direction)];
                expect_right(c, direction, row, 100 + static_cast<unsigned>(i));
            }
        }
    }
    for (const int count : ran) EXPECT_GE(count, 20);
}

// What make_plan says of a row; empty: it makes the plan.
std::string message_of_plan(const ConvolutionProblem& p, const std::string& row) {
    try {
        (void)make_plan(context(), p, {.algorithm = row});
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

ConvolutionProblem plain() {
    ConvolutionProblem p;
    p.src = TensorDesc::channels_last({2, 16, 12, 10});
    p.weights = {8, 16, 3, 3};
    p.window = {{1, 1}, {1, 1}, {1, 1}, {1, 1}};
    p.dst = TensorDesc::channels_last({2, 8, 12, 10});
    return p;
}

TEST(Peers, AreNeverChosenUnasked) {
    const Problem p = plain();
    EXPECT_FALSE(is_peer(make_plan(context(), p)->info().algorithm));
    for (const std::string& row : algorithm_names(p, context().backend())) EXPECT_FALSE(is_peer(row));
    for (const Candidate& row : candidates(context(), p)) EXPECT_FALSE(is_peer(row.algorithm));
    for (const Candidate& row : heuristic(context(), p)) EXPECT_FALSE(is_peer(row.algorithm));
    FindOptions options;
    options.samples = 1;
    for (const Finding& row : find(context(), p, options)) EXPECT_FALSE(is_peer(row.candidate.algorithm));
    // Asked for, they stand before the list, whose last row stays the reference.
    const auto with = candidates(context(), p, true);
    EXPECT_TRUE(is_peer(with.front().algorithm));
    EXPECT_EQ(with.back().algorithm, "direct");
    EXPECT_EQ(with.back().reason, "");
}

TEST(Peers, SayWhatTheyAreNotAskedFor) {
    const std::string name = peer_here().name;
    const auto reason = [&](const ConvolutionProblem& p) { return message_of_plan(p, name); };
    if (!peer_here().found) {
        EXPECT_NE(reason(plain()), "");
        GTEST_SKIP() << peer_here().text;
    }
    EXPECT_EQ(reason(plain()), "");
    std::vector<ConvolutionProblem> refused(6, plain());
    refused[0].has_bias = true;
    refused[1].has_residual = true;
    refused[2].activation = {ActivationKind::relu, 0, 0};
    refused[3].alpha = 2;
    refused[4].beta = 1;
    refused[5].src.strides[1] = 0;
    for (std::size_t i = 0; i < refused.size(); ++i) EXPECT_NE(reason(refused[i]), "") << i;
}

TEST(Peers, InfoNamesEachWithItsVersionOrTheRemedy) {
    const auto all = peers();
    ASSERT_EQ(all.size(), 2u);
    for (const PeerInfo& peer : all) {
        EXPECT_TRUE(is_peer(peer.name));
        EXPECT_GT(peer.text.size(), 10u) << peer.name;
        if (peer.found) {
            EXPECT_NE(peer.text.find(".so"), std::string::npos) << peer.text;
        }
    }
}

}  // namespace
}  // namespace convlens::test

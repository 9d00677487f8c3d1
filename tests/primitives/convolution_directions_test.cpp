// The gradients of convolution, and alpha and beta in every direction, by every row of every list.
#include "tests/primitives/convolution_directions.h"

namespace convlens::test {
namespace {

constexpr Direction directions[] = {Direction::fwd, Direction::bwd_data, Direction::bwd_filter};

Context& context() {
    static Context two_threads(test_options(2));
    return two_threads;
}

// Seeded shapes with different values on each axis and side; axes, groups, layouts and mode vary.
Case random_case(std::mt19937& generator, DataType type = DataType::f32) {
    const auto pick = [&](Index low, Index high) {
        return std::uniform_int_distribution<Index>(low, high)(generator);
    };
    const int rank = static_cast<int>(pick(1, 8)) <= 6 ? 2 : static_cast<int>(pick(0, 1)) * 2 + 1;
    ConvolutionShape shape;
    shape.batch = pick(1, 3);
    shape.groups = pick(0, 2) == 0 ? pick(2, 4) : 1;
    shape.channels = shape.groups * pick(1, shape.groups > 1 ? 6 : 24);
    shape.outputs = shape.groups * pick(1, shape.groups > 1 ? 6 : 24);
    for (int axis = 0; axis < rank; ++axis) {
        Index length = 0, window = 0, dilation = 0, begin = 0, end = 0;
        do {
            length = pick(1, rank == 3 ? 6 : 13);
            window = pick(1, rank == 3 ? 3 : 5);
            dilation = pick(1, 3);
            begin = pick(0, 4);
            end = pick(0, 4);
        } while (length + begin + end < dilation * (window - 1) + 1);
        shape.src.push_back(length);
        shape.window.push_back(window);
        shape.dilations.push_back(dilation);
        shape.pads_begin.push_back(begin);
        shape.pads_end.push_back(end);
        shape.strides.push_back(pick(1, 4));
    }
    const auto layout = [&] { return static_cast<Layout>(pick(0, 3)); };
    Case c;
    c.forward = make_problem(shape, layout(), layout());
    c.forward.mode = pick(0, 1) ? ConvolutionMode::convolution : ConvolutionMode::cross_correlation;
    c.forward.src.type = c.forward.dst.type = type;
    c.alpha = pick(0, 1) ? 1.0f : -0.75f;
    c.beta = pick(0, 2) == 0 ? 1.0f : pick(0, 1) ? 0.0f : 0.375f;
    return c;
}

TEST(ConvolutionDirections, GeometriesAndLayouts) {
    std::mt19937 generator(77);
    for (int i = 0; i < 250 && !HasFailure(); ++i) {
        const Case c = random_case(generator);
        for (const Direction direction : directions)
            EXPECT_GE(check_direction(context(), c, direction, 100 + static_cast<unsigned>(i)), 1);
    }
}

TEST(ConvolutionDirections, EveryFloatingPointType) {
    for (const DataType type : {DataType::f64, DataType::f16, DataType::bf16}) {
        std::mt19937 generator(78);
        for (int i = 0; i < 40 && !HasFailure(); ++i) {
            const Case c = random_case(generator, type);
            for (const Direction direction : directions)
                EXPECT_GE(check_direction(context(), c, direction, 300 + static_cast<unsigned>(i)), 1)
                    << to_string(type);
        }
    }
}

// Strides of a filter that lies in a larger tensor or in another order, and 16-bit data with an f32 gradient.
TEST(ConvolutionDirections, FilterGradientsOfAnyStridesAndWider) {
    std::mt19937 generator(79);
    for (int i = 0; i < 40 && !HasFailure(); ++i) {
        const Case c = random_case(generator);
        for (const Layout layout : {Layout::packed_gaps, Layout::channels_last, Layout::channels_last_gaps})
            check_direction(context(), c, Direction::bwd_filter, 500 + static_cast<unsigned>(i),
                            layout_desc(c.forward.weights, layout));
        Case narrow = c;
        for (const DataType type : {DataType::f16, DataType::bf16}) {
            narrow.forward.src.type = narrow.forward.dst.type = type;
            check_direction(context(), narrow, Direction::bwd_filter, 600 + static_cast<unsigned>(i),
                            TensorDesc::packed(c.forward.weights));
        }
    }
}

// Shapes of real layers, made small: what the fast rows are for.
TEST(ConvolutionDirections, LayersOfNetworks) {
    const ConvolutionShape shapes[] = {
        {2, 3, 20, 1, {23, 31}, {11, 9}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},  // first layer, large window
        {2, 3, 33, 1, {33, 29}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}},  // first layer of a residual network
        {2, 40, 72, 1, {14, 19}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},   // most layers
        {3, 64, 64, 1, {13, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 0}},    // between stages
        {2, 96, 40, 1, {9, 14}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},    // pointwise
        {2, 64, 40, 1, {9, 14}, {1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},    // shortcut
        {2, 48, 48, 48, {15, 17}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},  // depthwise
        {2, 48, 48, 48, {15, 17}, {5, 5}, {2, 2}, {1, 1}, {2, 2}, {2, 1}},  // depthwise, strided
        {1, 24, 48, 24, {11, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},   // with a multiplier
        {2, 64, 96, 4, {11, 12}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},   // groups
        {2, 32, 24, 1, {17, 15}, {3, 3}, {1, 1}, {2, 3}, {2, 3}, {2, 3}},   // dilated
        {4, 32, 40, 1, {12, 12}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}},   // 5x5
    };
    unsigned seed = 700;
    for (const auto& shape : shapes)
        for (const Layout layout : {Layout::channels_last, Layout::packed})
            for (const Direction direction : directions)
                check_direction(context(), {make_problem(shape, layout, layout)}, direction, ++seed);
}

// dst holds NaN: with beta = 0 it is not read (CONV-17). The poison of check_direction is such a NaN; here
// the result of a sum over nothing is looked at too.
TEST(ConvolutionDirections, SumsOverNothingAreZeroOrBetaTimesDst) {
    // Stride 3 with a window of one cell: two of three cells of src are read by no output.
    Case c{make_problem({2, 3, 4, 1, {7, 5}, {1, 1}, {3, 2}, {1, 1}, {0, 0}, {0, 0}})};
    for (const float beta : {0.0f, 1.0f, 0.5f}) {
        c.beta = beta;
        EXPECT_GE(check_direction(context(), c, Direction::bwd_data, 31), 2);
    }
    // A tap that reads only the pad: its gradient is zero.
    c.forward = make_problem({2, 3, 4, 1, {2, 3}, {4, 1}, {1, 1}, {1, 1}, {3, 0}, {0, 0}});
    for (const float beta : {0.0f, 1.0f}) {
        c.beta = beta;
        EXPECT_GE(check_direction(context(), c, Direction::bwd_filter, 32), 1);
    }
}

TEST(ConvolutionDirections, AnEmptyBatchGivesBetaTimesTheFilterGradient) {
    Case c{make_problem({0, 3, 4, 1, {7, 5}, {3, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}})};
    for (const float beta : {0.0f, 1.0f, -0.5f}) {
        c.beta = beta;
        EXPECT_GE(check_direction(context(), c, Direction::bwd_filter, 41), 1);
    }
    c.beta = 0;
    EXPECT_GE(check_direction(context(), c, Direction::bwd_data, 42), 1);
}

// <dy, conv(x, w)> = <dx, x> = <dw, w>, by the rows that the lists choose.
TEST(ConvolutionDirections, Adjoint) {
    std::mt19937 generator(80);
    for (int i = 0; i < 60 && !HasFailure(); ++i) {
        Case c = random_case(generator);
        c.alpha = 1;
        c.beta = 0;
        const DirectionData data =
            random_direction_data(c, Direction::fwd, DataType::f32, 900u + static_cast<unsigned>(i));
        const TensorDesc filter = TensorDesc::packed(c.forward.weights);
        const auto chosen = [&](Direction d) {
            return run_direction(context(), c, d, filter,
                                 make_plan(context(), problem_of(c, d, filter))->info().algorithm, data);
        };
        const auto inner = [](const std::vector<double>& a, const std::vector<double>& b) {
            double sum = 0;
            for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
            return sum;
        };
        const double y = inner(data.dst, chosen(Direction::fwd)),
                     x = inner(chosen(Direction::bwd_data), data.src),
                     w = inner(chosen(Direction::bwd_filter), data.filter);
        double size = 0;
        each_product(c.forward, [&](std::size_t s, std::size_t f, std::size_t d) {
            size += std::fabs(data.src[s] * data.filter[f] * data.dst[d]);
        });
        EXPECT_NEAR(y, x, 1e-5 * size + 1e-12) << text_of(c.forward);
        EXPECT_NEAR(y, w, 1e-5 * size + 1e-12) << text_of(c.forward);
    }
}

TEST(ConvolutionDirections, BiasGradient) {
    std::mt19937 generator(81);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (const DataType type : {DataType::f32, DataType::f64, DataType::f16, DataType::bf16})
        for (const Dims& dims : {Dims{3, 37, 5, 7}, Dims{2, 16, 9}, Dims{2, 5, 3, 4, 6}, Dims{0, 5, 3, 4}})
            for (const Layout layout : {Layout::packed, Layout::channels_last, Layout::channels_last_gaps})
                for (const float beta : {0.0f, 1.0f, 0.25f}) {
                    ConvolutionBwdBiasProblem p;
                    p.src = layout_desc(dims, layout);
                    p.src.type = type;
                    p.dst = TensorDesc::packed({dims[1]}, type);
                    p.dst.strides[0] = 2;
                    p.alpha = beta == 1 ? 1.0f : -1.5f;
                    p.beta = beta;
                    std::vector<double> values(static_cast<std::size_t>(dims.product())),
                        old(static_cast<std::size_t>(dims[1]));
                    for (auto* v : {&values, &old})
                        for (double& x : *v) x = round_to(type, uniform(generator));
                    const Index cells = dims[0] == 0 ? 0 : dims.product() / (dims[0] * dims[1]);
                    for (const Candidate& row : candidates(context(), p)) {
                        if (!row.applicable) {
                            EXPECT_NE(row.algorithm, "direct") << row.reason;
                            continue;
                        }
                        TypedTensor src(p.src, &values), dst(p.dst, beta != 0 ? &old : nullptr);
                        const auto plan = make_plan(context(), p, {.algorithm = row.algorithm});
                        GuardedBuffer workspace(plan->info().workspace_bytes, 0xFF);
                        const void* sources[] = {src.data()};
                        execute(*plan, context(),
                                {sources, nullptr, dst.data(), workspace.bytes() ? workspace.data() : nullptr,
                                 workspace.bytes()});
                        EXPECT_TRUE(dst.intact() && dst.gaps_untouched() && workspace.guards_intact());
                        const auto result = dst.dense();
                        for (Index k = 0; k < dims[1]; ++k) {
                            double sum = 0, scale = 0;
                            for (Index n = 0; n < dims[0]; ++n)
                                for (Index i = 0; i < cells; ++i) {
                                    const double x =
                                        values[static_cast<std::size_t>((n * dims[1] + k) * cells + i)];
                                    sum += x;
                                    scale += std::fabs(x);
                                }
                            const auto at = static_cast<std::size_t>(k);
                            const double expected = p.alpha * sum + (beta != 0 ? beta * old[at] : 0);
                            EXPECT_NEAR(
                                result[at], expected,
                                direction_tolerance(
                                    static_cast<double>(cells * dims[0]), row.error_class, type,
                                    std::fabs(p.alpha) * scale + (beta != 0 ? std::fabs(beta * old[at]) : 0),
                                    expected))
                                << row.algorithm << " " << p.src.text() << " channel " << k;
                        }
                    }
                }
}

// Wrong gradients are the caller's mistake, in any direction, and the message names the gradient's own
// argument.
TEST(ConvolutionDirections, MalformedProblemsNameTheirArgument) {
    const Case c{make_problem({2, 3, 4, 1, {7, 5}, {3, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}})};
    const TensorDesc filter = TensorDesc::packed(c.forward.weights);
    const auto message = [](const Problem& p) -> std::string {
        try {
            check(p);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::bad_parameter);
            return error.what();
        }
        return "nothing";
    };
    auto data = std::get<ConvolutionBwdDataProblem>(problem_of(c, Direction::bwd_data, filter));
    data.src.dims[2] += 1;
    EXPECT_EQ(message(data), "src: length 6 of spatial axis 0 must be 5");
    data = std::get<ConvolutionBwdDataProblem>(problem_of(c, Direction::bwd_data, filter));
    data.dst = TensorDesc::packed({2, 5, 7, 5});
    EXPECT_EQ(message(data), "weights: 3 channels a group must be 5 (dst's channels / groups)");
    data = std::get<ConvolutionBwdDataProblem>(problem_of(c, Direction::bwd_data, filter));
    data.beta = NAN;
    EXPECT_EQ(message(data), "beta: it is not a number");
    auto weights = std::get<ConvolutionBwdFilterProblem>(problem_of(c, Direction::bwd_filter, filter));
    weights.diff = TensorDesc::packed({3, 4, 5, 4});
    EXPECT_EQ(message(weights), "diff: batch 3 must equal src's 2");
    weights = std::get<ConvolutionBwdFilterProblem>(problem_of(c, Direction::bwd_filter, filter));
    weights.dst.strides[1] = 0;
    EXPECT_NE(message(weights).find("dst"), std::string::npos);
    weights = std::get<ConvolutionBwdFilterProblem>(problem_of(c, Direction::bwd_filter, filter));
    weights.dst.type = DataType::f16;
    EXPECT_EQ(message(weights), "dst: type f16 differs from src's f32");
    ConvolutionBwdBiasProblem bias{c.forward.dst, TensorDesc::packed({5}), 1, 0};
    EXPECT_EQ(message(bias), "dst: dims 5 must be 4, the channels of src");
    ConvolutionProblem forward = c.forward;
    forward.has_residual = true;
    forward.beta = 1;
    EXPECT_EQ(message(forward), "beta: it must be 0 where there is a residual");
}

// Rows that claim determinism give the same bits every time, whatever the workspace held.
TEST(ConvolutionDirections, DeterministicRowsRepeatTheirBits) {
    const Case c{make_problem({3, 20, 36, 1, {17, 13}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}})};
    const TensorDesc filter = TensorDesc::packed(c.forward.weights);
    for (const Direction direction : directions) {
        const DirectionData data = random_direction_data(c, direction, DataType::f32, 5);
        for (const Candidate& row : candidates(context(), problem_of(c, direction, filter))) {
            if (!row.applicable || !row.deterministic) continue;
            const auto first = run_direction(context(), c, direction, filter, row.algorithm, data);
            for (int i = 0; i < 20; ++i)
                ASSERT_EQ(first, run_direction(context(), c, direction, filter, row.algorithm, data,
                                               static_cast<unsigned char>(i * 11)))
                    << row.algorithm;
        }
    }
}

}  // namespace
}  // namespace convlens::test

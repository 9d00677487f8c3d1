// The rows by Fourier transforms, forward and both gradients: what is special about tiles and spectra.
#include <gtest/gtest.h>

#include "tests/primitives/convolution_directions.h"
#include "tests/primitives/vector_targets.h"

namespace convlens::test {
namespace {

const char* const both[] = {"fft", "fft_tiling"};

Context& context() {
    static Context three_threads(test_options(3));
    return three_threads;
}

// The class' bound over the whole result.
void expect_within(const std::string& what, const Reference& reference, const std::vector<double>& result) {
    const double bound = fft_tolerance(reference.scale);
    ASSERT_EQ(result.size(), reference.value.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
        if (std::fabs(result[i] - reference.value[i]) <= bound) continue;
        ADD_FAILURE() << what << ": element " << i << " is " << result[i] << ", should be "
                      << reference.value[i] << " within " << bound;
        return;
    }
}

bool applicable(const Problem& problem, const std::string& name) {
    for (const Candidate& row : candidates(context(), problem))
        if (row.algorithm == name) return row.applicable;
    return false;
}

// Those rows of the two that take the problem; fft_tiling always must.
void check(Context& where, const ConvolutionProblem& p, unsigned seed) {
    const ConvolutionData data = random_convolution_data(p, seed);
    const ConvolutionReference reference = reference_convolution(p, data);
    for (const char* name : both) {
        if (name == std::string("fft") && !applicable(p, name)) continue;
        const auto result = run_convolution(where, p, name, data);
        expect_within(
            std::string(name) + ": " + p.src.text() + " to " + p.dst.text() + ", weights " + p.weights.text(),
            reference, {result.begin(), result.end()});
    }
}

void check_filter(const Case& c, unsigned seed, const TensorDesc& filter) {
    const DirectionData data = random_direction_data(c, Direction::bwd_filter, DataType::f32, seed);
    const Reference reference = reference_direction(c, Direction::bwd_filter, data);
    for (const char* name : both) {
        const Problem problem = problem_of(c, Direction::bwd_filter, filter);
        if (name == std::string("fft") && !applicable(problem, name)) continue;
        expect_within(std::string(name) + ": " + text_of(problem), reference,
                      run_direction(context(), c, Direction::bwd_filter, filter, name, data));
    }
}
void check_filter(const Case& c, unsigned seed) {
    check_filter(c, seed, TensorDesc::packed(c.forward.weights));
}

ConvolutionShape shape_of(Index n, Index c, Index k, Dims src, Dims window, Dims begin = {0, 0},
                          Dims end = {0, 0}) {
    return {n, c, k, 1, src, window, {1, 1}, {1, 1}, begin, end};
}

TEST(Fft, EveryChannelCountOnEveryVectorTarget) {
    for_each_vector_target([](const std::string& target) {
        SCOPED_TRACE(target);
        for (Index c = 1; c <= 33; ++c) {
            const Index k = (c * 7) % 34 == 0 ? 34 : (c * 7) % 34;
            auto p = make_problem(shape_of(2, c, k, {9, 12}, {5, 4}, {1, 0}, {0, 2}));
            p.has_bias = true;
            p.has_residual = c % 2;
            check(context(), p, static_cast<unsigned>(c));
            if (c % 4 == 1)
                check_filter({make_problem(shape_of(2, c, k, {7, 9}, {4, 5}, {1, 0}, {0, 2}))}, 7);
        }
    });
}

// Every rest of a tile, windows up to the whole padded image, pads beyond half the window and beyond all of
// it.
TEST(Fft, EverySizeWindowAndPad) {
    unsigned seed = 0;
    for (Index h = 1; h <= 20; ++h)
        for (Index w = 1; w <= 20; w += 1 + h % 2) {
            const Index r = 1 + (h * w) % 7, s = 1 + (h + 2 * w) % 9;
            const Index pads[] = {h % 5, w % 4, (h + w) % 9, (h * w) % 6};
            if (h + pads[0] + pads[1] < r || w + pads[2] + pads[3] < s) continue;
            const auto p =
                make_problem(shape_of(1, 3, 5, {h, w}, {r, s}, {pads[0], pads[2]}, {pads[1], pads[3]}));
            check(context(), p, ++seed);
            if (w % 3 == 0) check_filter({p}, ++seed);
        }
}

// The window is the image; one output, or one along an axis.
TEST(Fft, WindowsOfTheWholeImage) {
    unsigned seed = 100;
    for (const Index h : {1, 2, 5, 16, 17, 33})
        for (const Index w : {1, 7, 16, 31}) {
            const auto p = make_problem(shape_of(2, 4, 6, {h, w}, {h, w}));
            check(context(), p, ++seed);
            check_filter({p}, ++seed);
            check(context(), make_problem(shape_of(2, 4, 6, {h, w}, {h, 1})), ++seed);
            check(context(), make_problem(shape_of(2, 4, 6, {h, w}, {1, w}, {0, 1}, {2, 0})), ++seed);
        }
}

// Images about and beyond the sides of tiles, of which the last ones hang over.
TEST(Fft, TilesThatDoNotDivideTheImage) {
    unsigned seed = 200;
    for (const Index side : {15, 17, 24, 37, 49, 66, 83})
        for (const Index window : {2, 6, 11}) {
            const auto p =
                make_problem(shape_of(1, 5, 7, {side, side + 3}, {window, window + 2}, {2, 1}, {0, 3}),
                             window == 6 ? Layout::packed_gaps : Layout::channels_last);
            check(context(), p, ++seed);
            check_filter({p}, ++seed);
        }
}

TEST(Fft, LayoutsModesAndEpilogues) {
    unsigned seed = 300;
    for (int src = 0; src < 4; ++src)
        for (int dst = 0; dst < 4; ++dst)
            for (const bool flipped : {false, true}) {
                auto p = make_problem(shape_of(2, 18, 21, {11, 8}, {3, 6}, {2, 1}, {0, 1}),
                                      static_cast<Layout>(src), static_cast<Layout>(dst));
                p.mode = flipped ? ConvolutionMode::convolution : ConvolutionMode::cross_correlation;
                const Case plain{p, 1.25f, flipped ? 0.5f : 0.0f};
                check_filter(plain, ++seed, layout_desc(p.weights, static_cast<Layout>(dst)));
                p.has_bias = dst % 2;
                p.has_residual = src % 2;
                p.activation = flipped ? ActivationDesc{ActivationKind::clip, -1.0f, 1.0f}
                                       : ActivationDesc{ActivationKind::relu, 0, 0};
                check(context(), p, ++seed);
            }
}

// Chunks of tiles that are processed one after the other, and as many threads as there are.
TEST(Fft, ChunksAndThreads) {
    Context one(test_options(1));
    const ConvolutionShape shapes[] = {
        shape_of(3, 40, 24, {61, 53}, {5, 5}, {2, 2}, {2, 2}),
        shape_of(170, 17, 33, {9, 8}, {4, 5}, {1, 1}, {0, 0}),
        shape_of(1, 130, 70, {14, 13}, {5, 3}, {1, 1}, {1, 1}),
    };
    for (const auto& shape : shapes) {
        const auto p = make_problem(shape);
        check(context(), p, 9);
        check_filter({p}, 10);
        const ConvolutionData data = random_convolution_data(p, 11);
        for (const char* name : both) {
            if (name == std::string("fft") && !applicable(p, name)) continue;
            EXPECT_EQ(run_convolution(one, p, name, data), run_convolution(context(), p, name, data)) << name;
            // A plan for one thread has one slice of scratch; a larger pool must keep to it.
            if (on_gpu) continue;
            const auto plan = make_plan(one, p, {.algorithm = name});
            GuardedBuffer packed(plan->info().packed_bytes, 0xFF),
                workspace(plan->info().workspace_bytes, 0xFF);
            plan->pack_weights(data.weights.data(), packed.data());
            std::vector<float> dense(data.src.size()), dst(static_cast<std::size_t>(p.dst.elements()));
            each_element(p.src, [&](std::size_t at, std::size_t i) { dense[at] = data.src[i]; });
            const void* sources[] = {dense.data(), nullptr, nullptr};
            execute(*plan, context(),
                    {sources, packed.data(), dst.data(), workspace.data(), workspace.bytes()});
            EXPECT_TRUE(workspace.guards_intact()) << name;
        }
    }
}

// The data gradient is the forward rows' by phases; the filter is read backwards and pads reach far.
TEST(Fft, DataGradients) {
    unsigned seed = 400;
    for (const Index window : {3, 5, 8})
        for (const Layout layout : {Layout::channels_last, Layout::packed}) {
            Case c{make_problem(shape_of(2, 9, 12, {19, 14}, {window, window - 1}, {1, 2}, {2, 0}), layout,
                                layout)};
            c.alpha = 0.75f;
            c.beta = window == 5 ? 1.0f : 0.0f;
            const DirectionData data = random_direction_data(c, Direction::bwd_data, DataType::f32, ++seed);
            const Reference reference = reference_direction(c, Direction::bwd_data, data);
            for (const char* name : both)
                expect_within(name, reference,
                              run_direction(context(), c, Direction::bwd_data,
                                            TensorDesc::packed(c.forward.weights), name, data));
        }
}

// A tile mixes its outputs, but no image another, and no channel's filter another's gradient.
TEST(Fft, NanAndInfinityKeepToTheirImage) {
    const auto p =
        make_problem(shape_of(3, 4, 18, {9, 11}, {4, 3}, {1, 1}, {1, 1}), Layout::packed, Layout::packed);
    for (const float bad : {NAN, INFINITY}) {
        ConvolutionData data = random_convolution_data(p, 500);
        data.src[static_cast<std::size_t>(((1 * 4 + 2) * 9 + 4) * 11 + 6)] = bad;
        const auto image = data.src.size() / 3;
        for (const char* name : both) {
            const auto result = run_convolution(context(), p, name, data);
            const std::size_t outputs = result.size() / 3;
            for (std::size_t i = 0; i < result.size(); ++i)
                if (i / outputs != 1) {
                    ASSERT_TRUE(std::isfinite(result[i])) << name << " element " << i;
                }
            // What reads the cell is not a number.
            EXPECT_FALSE(std::isfinite(result[outputs + 4 * 11 + 6])) << name;
        }
        DirectionData both_data = random_direction_data({p}, Direction::bwd_filter, DataType::f32, 501);
        both_data.src[image + (2 * 9 + 4) * 11 + 6] = static_cast<double>(bad);
        for (const char* name : both) {
            const auto result = run_direction(context(), {p}, Direction::bwd_filter,
                                              TensorDesc::packed(p.weights), name, both_data);
            for (std::size_t i = 0; i < result.size(); ++i) {
                const bool reached = i / 12 % 4 == 2;
                ASSERT_TRUE(reached || std::isfinite(result[i])) << name << " element " << i;
                ASSERT_FALSE(reached && std::isfinite(result[i])) << name << " element " << i;
            }
        }
    }
}

TEST(Fft, RefusesWithAReason) {
    const ConvolutionShape shapes[] = {
        {1, 4, 4, 1, {9, 9}, {3, 3}, {2, 1}, {1, 1}, {0, 0}, {0, 0}},
        {1, 4, 4, 1, {9, 9}, {3, 3}, {1, 1}, {1, 2}, {0, 0}, {0, 0}},
        {1, 4, 4, 2, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
        {1, 4, 4, 1, {9}, {3}, {1}, {1}, {0}, {0}},
        {1, 4, 4, 1, {9, 9, 9}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
        {1, 4, 4, 1, {5000, 5000}, {1030, 1030}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
        {1, 1 << 14, 1 << 14, 1, {9, 9}, {5, 5}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
        {1, 1, 1, 1, {Index{1} << 30, 9}, {5, 5}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    };
    int refused_whole = 0;
    for (const auto& shape : shapes) {
        const ConvolutionProblem p = make_problem(shape);
        const Problem problems[] = {p, problem_of({p}, Direction::bwd_filter, TensorDesc::packed(p.weights))};
        for (const Problem& problem : problems)
            for (const Candidate& row : candidates(context(), problem)) {
                if (!row.algorithm.starts_with("fft")) continue;
                // The last one is too long for one transform only.
                if (row.algorithm == "fft_tiling" && shape.src[0] > 5000) continue;
                EXPECT_FALSE(row.applicable) << row.algorithm << " " << text_of(problem);
                EXPECT_FALSE(row.reason.empty());
                EXPECT_EQ(row.workspace_bytes, 0u);
                ++refused_whole;
            }
    }
    EXPECT_GE(refused_whole, 28);
    auto whole_numbers = make_problem(shape_of(1, 4, 4, {9, 9}, {3, 3}));
    whole_numbers.src.type = whole_numbers.dst.type = DataType::i32;
    for (const char* name : both) EXPECT_FALSE(applicable(whole_numbers, name));
}

TEST(Fft, WorkspaceOfOneByteLessIsRefused) {
    const auto p = make_problem(shape_of(1, 20, 20, {9, 11}, {5, 5}, {1, 1}, {1, 1}));
    const ConvolutionData data = random_convolution_data(p, 600);
    for (const char* name : both) {
        const auto plan = make_plan(context(), p, {.algorithm = name});
        ASSERT_GT(plan->info().workspace_bytes, 0u);
        GuardedBuffer packed(plan->info().packed_bytes, 0), workspace(plan->info().workspace_bytes, 0);
        std::vector<float> dst(static_cast<std::size_t>(p.dst.elements()), -7.0f);
        const auto before = dst;
        const void* sources[] = {data.src.data(), nullptr, nullptr};
        EXPECT_THROW(
            execute(*plan, context(),
                    {sources, packed.data(), dst.data(), workspace.data(), plan->info().workspace_bytes - 1}),
            Error);
        EXPECT_EQ(dst, before);
    }
}

TEST(Fft, ExecutesFewerOperations) {
    const auto p = make_problem(shape_of(4, 64, 64, {56, 56}, {9, 9}, {4, 4}, {4, 4}));
    for (const char* name : both) {
        const Work work = make_plan(context(), p, {.algorithm = name})->info().work;
        EXPECT_EQ(work.flops, 2.0 * 4 * 64 * 64 * 81 * 56 * 56);
        EXPECT_GT(work.executed_flops, work.flops / 100) << name;
        EXPECT_LT(work.executed_flops, work.flops / 5) << name;
    }
}

// One large value beside small ones: an error is bounded by the largest sum, and nothing is visible beside it
// that a single f32 sum would not show.
TEST(Fft, NothingBesideALargeValue) {
    const auto p = make_problem(shape_of(1, 2, 2, {16, 16}, {5, 5}, {2, 2}, {2, 2}));
    ConvolutionData data;
    data.src.assign(2 * 16 * 16, 0.0f);
    data.weights.assign(2 * 2 * 25, 0.0f);
    for (std::size_t k = 0; k < 2; ++k) data.weights[(k * 2 + k) * 25 + 12] = 1;
    for (std::size_t place = 0; place < 16 * 16; place += 37) {
        data.src.assign(2 * 16 * 16, 0.0f);
        data.src[place] = 1000;
        for (const char* name : both) {
            const auto result = run_convolution(context(), p, name, data);
            for (std::size_t i = 0; i < result.size(); ++i)
                ASSERT_NEAR(result[i], i == place ? 1000 : 0, 1e-3) << name << " at " << i;
        }
    }
}

}  // namespace
}  // namespace convlens::test

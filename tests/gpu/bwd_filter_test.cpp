// Filter gradients by what is special about the CUDA rows: operands that lie so that they are read at once,
// in part, or one element at a time; few channels; parts of the sum; channels of very different scale.
#include "tests/primitives/convolution_directions.h"

namespace convlens::test {
namespace {

Context& context() {
    static Context shared(test_options(2));
    return shared;
}

// A filter gradient whose operands begin `shift` elements behind an aligned address.
std::vector<double> run_shifted(const Case& c, const TensorDesc& filter, const std::string& algorithm,
                                const DirectionData& data, std::size_t shift_src, std::size_t shift_diff,
                                std::size_t shift_dst) {
    const Problem problem = problem_of(c, Direction::bwd_filter, filter);
    const auto plan = make_plan(context(), problem, {.algorithm = algorithm});
    const TensorDesc &src = c.forward.src, &diff = c.forward.dst;
    const auto fill = [](GuardedBuffer& memory, const TensorDesc& desc, const std::vector<double>& values) {
        each_element(desc, [&](std::size_t at, std::size_t i) {
            kernels::store_element(static_cast<kernels::ElementType>(desc.type), memory.data(),
                                   static_cast<Index>(at), values[i]);
        });
    };
    GuardedBuffer x(src.bytes(), 0xFF, shift_src * size_of(src.type)),
        y(diff.bytes(), 0xFF, shift_diff * size_of(src.type));
    GuardedBuffer dst(filter.bytes(), 0xFF, shift_dst * size_of(filter.type));
    GuardedBuffer workspace(plan->info().workspace_bytes, 0xFF);
    fill(x, src, data.src);
    fill(y, diff, data.dst);
    const void* sources[] = {x.data(), y.data()};
    execute(
        *plan, context(),
        {sources, nullptr, dst.data(), workspace.bytes() ? workspace.data() : nullptr, workspace.bytes()});
    EXPECT_TRUE(dst.guards_intact() && workspace.guards_intact()) << algorithm;
    std::vector<double> result(static_cast<std::size_t>(filter.elements()));
    each_element(filter, [&](std::size_t at, std::size_t i) {
        result[i] = kernels::load_element(static_cast<kernels::ElementType>(filter.type), dst.data(),
                                          static_cast<Index>(at));
    });
    return result;
}

void expect_near(const Case& c, const Candidate& row, DataType result_type, const Reference& reference,
                 const std::vector<double>& result, const std::string& what) {
    const double terms = longest_sum(c.forward, Direction::bwd_filter);
    for (std::size_t i = 0; i < result.size(); ++i) {
        // Rows of scaled operands are as near as their class says where no channel has outliers.
        const ErrorClass error_class =
            row.error_class == ErrorClass::fft ? ErrorClass::fp32 : row.error_class;
        const double bound =
            direction_tolerance(terms, error_class, result_type, reference.scale[i], reference.value[i]);
        if (std::fabs(result[i] - reference.value[i]) <= bound) continue;
        ADD_FAILURE() << row.algorithm << ", " << what << ", src " << c.forward.src.text() << " diff "
                      << c.forward.dst.text() << ": element " << i << " is " << result[i] << ", should be "
                      << reference.value[i] << " within " << bound;
        return;
    }
}

// Rows that transform have bounds of their own, which convolution_directions_test.cpp holds.
bool transforms(const std::string& algorithm) {
    return algorithm.rfind("fft", 0) == 0 || algorithm.rfind("winograd", 0) == 0;
}

const ConvolutionShape special_shapes[] = {
    {3, 3, 40, 1, {23, 31}, {11, 9}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},   // a row of the window for channels
    {2, 3, 97, 1, {33, 29}, {7, 5}, {2, 3}, {1, 2}, {3, 2}, {1, 4}},    // the same with steps and dilation
    {2, 1, 16, 1, {19, 40}, {3, 13}, {1, 1}, {1, 1}, {1, 6}, {0, 6}},   // one channel
    {2, 24, 136, 1, {9, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},   // outputs beyond a tile
    {2, 136, 24, 1, {9, 14}, {2, 3}, {2, 1}, {1, 2}, {1, 2}, {0, 1}},   // channels beyond a block
    {5, 64, 64, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},     // images that end within a step
    {1, 64, 96, 1, {40, 33}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},   // parts of one image
    {70, 8, 8, 1, {3, 5}, {3, 3}, {1, 1}, {1, 1}, {2, 2}, {2, 2}},      // images of less than a step
    {2, 20, 36, 2, {12, 9}, {3, 2}, {2, 1}, {1, 2}, {1, 1}, {1, 0}},    // groups that are no whole tiles
    {2, 30, 45, 15, {12, 9}, {3, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 0}},   // groups of few channels
    {2, 33, 66, 33, {12, 21}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},  // depthwise with a multiplier
    {3, 40, 40, 40, {11, 17}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}},  // depthwise by rows
    {2, 40, 40, 40, {11, 17}, {7, 4}, {1, 3}, {2, 2}, {2, 2}, {4, 2}},  // depthwise by cells
    {2, 16, 24, 1, {50}, {9}, {2}, {3}, {4}, {8}},                      // one axis
    {2, 8, 12, 1, {5, 7, 9}, {2, 3, 4}, {1, 2, 1}, {2, 1, 1}, {1, 0, 2}, {0, 1, 2}},  // three axes
};

TEST(BwdFilter, EveryAlignment) {
    constexpr std::size_t shifts[][3] = {{0, 0, 0}, {1, 0, 1}, {2, 1, 0}};
    unsigned seed = 0;
    for (const ConvolutionShape& shape : special_shapes)
        for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
            Case c{make_problem(shape)};
            c.forward.src.type = c.forward.dst.type = type;
            const DirectionData data = random_direction_data(c, Direction::bwd_filter, type, ++seed);
            const Reference reference = reference_direction(c, Direction::bwd_filter, data);
            for (const Layout layout : {Layout::channels_last, Layout::packed, Layout::channels_last_gaps}) {
                if (layout == Layout::channels_last_gaps && type == DataType::bf16) continue;
                c.forward = make_problem(shape, layout, layout);
                c.forward.src.type = c.forward.dst.type = type;
                const TensorDesc filter = type == DataType::bf16
                                              ? TensorDesc::channels_last(c.forward.weights)
                                              : TensorDesc::packed(c.forward.weights);
                for (const Candidate& row :
                     candidates(context(), problem_of(c, Direction::bwd_filter, filter))) {
                    if (!row.applicable || transforms(row.algorithm)) continue;
                    for (const auto& [x, y, d] : shifts)
                        expect_near(c, row, filter.type, reference,
                                    run_shifted(c, filter, row.algorithm, data, x, y, d),
                                    std::string(to_string(type)) + " shifted by " + std::to_string(x) + ", " +
                                        std::to_string(y));
                }
                if (HasFailure()) return;
            }
        }
}

// Operands of each channel and each output have their own scale: rows that work on scaled operands hold the
// bound of each sum, not that of the largest.
TEST(BwdFilter, ChannelsOfVeryDifferentScale) {
    Case c{make_problem({2, 12, 20, 1, {13, 17}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}})};
    DirectionData data = random_direction_data(c, Direction::bwd_filter, DataType::f32, 5);
    const auto scale = [](std::vector<double>& values, Index channels, Index cells, int step) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto channel = static_cast<int>(static_cast<Index>(i) / cells % channels);
            values[i] =
                static_cast<float>(std::ldexp(values[i], (channel - static_cast<int>(channels) / 2) * step));
        }
    };
    scale(data.src, 12, 13 * 17, 7);
    scale(data.dst, 20, 13 * 17, -4);
    for (std::size_t i = 0; i < 13 * 17; ++i) data.src[i] = 0;  // a channel of zeros
    const Reference reference = reference_direction(c, Direction::bwd_filter, data);
    const TensorDesc filter = TensorDesc::packed(c.forward.weights);
    for (const Candidate& row : candidates(context(), problem_of(c, Direction::bwd_filter, filter)))
        if (row.applicable && !transforms(row.algorithm) && row.error_class != ErrorClass::fp16)
            expect_near(c, row, filter.type, reference, run_shifted(c, filter, row.algorithm, data, 0, 0, 0),
                        "scaled");
}

TEST(BwdFilter, DeterministicRowsGiveTheSameBits) {
    for (const ConvolutionShape& shape : {special_shapes[0], special_shapes[5], special_shapes[11]}) {
        Case c{make_problem(shape)};
        const DirectionData data = random_direction_data(c, Direction::bwd_filter, DataType::f32, 6);
        const TensorDesc filter = TensorDesc::packed(c.forward.weights);
        for (const Candidate& row : candidates(context(), problem_of(c, Direction::bwd_filter, filter))) {
            if (!row.applicable || !row.deterministic) continue;
            const auto first = run_shifted(c, filter, row.algorithm, data, 0, 0, 0);
            for (int i = 0; i < 20 && !HasFailure(); ++i)
                EXPECT_EQ(first, run_shifted(c, filter, row.algorithm, data, 0, 0, 0)) << row.algorithm;
        }
    }
}

// What is not a number where nothing reads it does not matter; where a sum reads it, that sum has none.
TEST(BwdFilter, NotANumberReachesWhatReadsIt) {
    // Column 0 of src is read by the first tap only.
    Case c{make_problem({1, 8, 8, 1, {6, 9}, {1, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}})};
    DirectionData data = random_direction_data(c, Direction::bwd_filter, DataType::f32, 7);
    data.src[0] = std::numeric_limits<double>::quiet_NaN();
    const TensorDesc filter = TensorDesc::packed(c.forward.weights);
    for (const Candidate& row : candidates(context(), problem_of(c, Direction::bwd_filter, filter))) {
        if (!row.applicable || transforms(row.algorithm)) continue;
        const auto result = run_shifted(c, filter, row.algorithm, data, 0, 0, 0);
        for (std::size_t i = 0; i < result.size(); ++i)
            EXPECT_EQ(std::isnan(result[i]), i / 3 % 8 == 0 && i % 3 == 0)
                << row.algorithm << ": element " << i;
    }
}

}  // namespace
}  // namespace convlens::test

// Tensors whose elements lie beyond 2^31 elements, in memory that is reserved but not used: every row of the
// processor in every direction is right, or refuses the problem with a reason.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/primitives/convolution_directions.h"

namespace convlens::test {
namespace {

constexpr Index beyond = (Index{1} << 31) + 5;

Context& context() {
    static Context two_threads(test_options(2));
    return two_threads;
}

// Address space without memory behind it until a page is touched.
class Reserved {
  public:
    explicit Reserved(std::size_t bytes) : bytes_(bytes) {
        data_ =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (data_ == MAP_FAILED) {
            why_not_ = std::string("the system reserves no ") + std::to_string(bytes) +
                       " bytes: " + std::strerror(errno);
            data_ = nullptr;
        }
    }
    ~Reserved() {
        if (data_ != nullptr) munmap(data_, bytes_);
    }
    Reserved(const Reserved&) = delete;
    Reserved& operator=(const Reserved&) = delete;
    float* floats() const { return static_cast<float*>(data_); }
    const std::string& why_not() const { return why_not_; }

  private:
    std::size_t bytes_;
    void* data_ = nullptr;
    std::string why_not_;
};

// A packed tensor with one axis stretched, so that its last index lies beyond 2^31 elements.
TensorDesc stretched(const Dims& dims, int axis) {
    TensorDesc desc = TensorDesc::packed(dims);
    if (axis >= 0) desc.strides[axis] = beyond / (dims[axis] - 1) + 1;
    return desc;
}

void put(const TensorDesc& desc, const std::vector<double>& dense, float* memory) {
    each_element(desc, [&](std::size_t at, std::size_t i) { memory[at] = static_cast<float>(dense[i]); });
}

// Every row that takes the problem, against the reference; refusals say why. Empty: memory was reserved.
std::string check_reserved(const Case& c, Direction direction, const TensorDesc& filter, unsigned seed) {
    const DirectionData data = random_direction_data(c, direction, DataType::f32, seed);
    const Reference reference = reference_direction(c, direction, data);
    const Problem problem = problem_of(c, direction, filter);
    const TensorDesc desc = std::visit([](const auto& p) { return p.dst; }, problem);
    int count = 0;
    for (const Candidate& candidate : candidates(context(), problem)) {
        if (!candidate.applicable) {
            EXPECT_FALSE(candidate.reason.empty()) << candidate.algorithm;
            continue;
        }
        ++count;
        const Reserved src(c.forward.src.bytes()), dst(c.forward.dst.bytes()), result(desc.bytes());
        for (const Reserved* memory : {&src, &dst, &result})
            if (memory->floats() == nullptr) return memory->why_not();
        put(c.forward.src, data.src, src.floats());
        put(c.forward.dst, data.dst, dst.floats());
        if (c.beta != 0) put(desc, data.old, result.floats());
        const auto plan = make_plan(context(), problem, {.algorithm = candidate.algorithm});
        EXPECT_LT(plan->info().workspace_bytes, std::size_t{1} << 28) << candidate.algorithm;
        GuardedBuffer packed(plan->info().packed_bytes, 0xFF), workspace(plan->info().workspace_bytes, 0xFF);
        TypedTensor weights(TensorDesc::packed(c.forward.weights), &data.filter);
        std::vector<const void*> sources;
        if (direction != Direction::bwd_data) sources.push_back(src.floats());
        if (direction != Direction::fwd) sources.push_back(dst.floats());
        if (direction != Direction::bwd_filter) plan->pack_weights(weights.data(), packed.data());
        execute(*plan, context(),
                {sources, packed.bytes() ? packed.data() : nullptr, result.floats(),
                 workspace.bytes() ? workspace.data() : nullptr, workspace.bytes()});
        // Transforms spread errors over all they see.
        const bool spreads =
            candidate.error_class == ErrorClass::winograd || candidate.error_class == ErrorClass::fft;
        const double largest = *std::max_element(reference.scale.begin(), reference.scale.end());
        bool right = true;
        each_element(desc, [&](std::size_t at, std::size_t i) {
            const double bound =
                direction_tolerance(longest_sum(c.forward, direction), candidate.error_class, DataType::f32,
                                    spreads ? largest : reference.scale[i], reference.value[i]);
            right = right && std::fabs(result.floats()[at] - reference.value[i]) <= bound;
        });
        EXPECT_TRUE(right) << candidate.algorithm << ": " << text_of(problem);
    }
    EXPECT_GE(count, 1);
    return {};
}

TEST(LargeOffsets, EveryTensorAndAxisInEveryDirection) {
    if (on_gpu) GTEST_SKIP() << "reserved memory is the processor's";
    const ConvolutionShape shapes[] = {
        {2, 3, 4, 1, {5, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
        {2, 3, 4, 1, {5, 7}, {3, 2}, {2, 1}, {1, 2}, {1, 0}, {0, 2}},
        {3, 4, 5, 1, {4, 6}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
        {2, 4, 4, 4, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 0}},
        {2, 3, 2, 1, {3, 4, 5}, {2, 3, 2}, {1, 2, 1}, {1, 1, 1}, {1, 1, 0}, {0, 1, 1}},
    };
    unsigned seed = 0;
    for (const auto& shape : shapes)
        for (const Direction direction : {Direction::fwd, Direction::bwd_data, Direction::bwd_filter})
            for (int tensor = 0; tensor < (direction == Direction::bwd_filter ? 3 : 2); ++tensor)
                for (int axis = 0; axis < shape.src.rank() + 2; ++axis) {
                    Case c{make_problem(shape)};
                    TensorDesc filter = TensorDesc::packed(c.forward.weights);
                    TensorDesc& desc = tensor == 0 ? c.forward.src : tensor == 1 ? c.forward.dst : filter;
                    if (desc.dims[axis] < 2) continue;
                    desc = stretched(desc.dims, axis);
                    c.beta = seed % 3 == 0 ? 1.0f : 0.0f;
                    const std::string why_not = check_reserved(c, direction, filter, ++seed);
                    if (!why_not.empty()) GTEST_SKIP() << why_not;
                }
}

// A line of 2^31 cells per channel, of which few windows read a few.
TEST(LargeOffsets, LinesOfTwoBillionCells) {
    if (on_gpu) GTEST_SKIP() << "reserved memory is the processor's";
    constexpr Index length = Index{1} << 31, stride = (Index{1} << 28) + 77, dilation = 12345;
    constexpr Index C = 3, K = 5, S = 3, Q = (length + 2 - 2 * dilation - 1) / stride + 1;
    ConvolutionProblem p;
    p.src = TensorDesc::packed({1, C, length});
    p.weights = {K, C, S};
    p.dst = TensorDesc::packed({1, K, Q});
    p.window = {{2}, {0}, {stride}, {dilation}};
    ConvolutionBwdFilterProblem gradient{p.src, p.dst, TensorDesc::packed(p.weights), p.window, 1, p.mode,
                                         1,     0};
    const Reserved src(p.src.bytes());
    if (src.floats() == nullptr) GTEST_SKIP() << src.why_not();
    const auto at = [&](Index c, Index q, Index s) { return c * length + q * stride - 2 + s * dilation; };
    const auto inside = [&](Index q, Index s) { return q * stride - 2 + s * dilation >= 0; };
    std::vector<float> weights(static_cast<std::size_t>(K * C * S)), dy(static_cast<std::size_t>(K * Q));
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 7) - 3;
    for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i % 5) - 2;
    for (Index c = 0; c < C; ++c)
        for (Index q = 0; q < Q; ++q)
            for (Index s = 0; s < S; ++s)
                if (inside(q, s))
                    src.floats()[at(c, q, s)] = static_cast<float>((c * 5 + q * 3 + s) % 11) - 5;
    // Small whole numbers: sums are exact in any order.
    const auto run = [&](const Problem& problem, const std::vector<const void*>& sources,
                         const std::vector<float>& expected) {
        int count = 0;
        for (const Candidate& candidate : candidates(context(), problem)) {
            if (!candidate.applicable) {
                EXPECT_FALSE(candidate.reason.empty());
                continue;
            }
            ++count;
            const auto plan = make_plan(context(), problem, {.algorithm = candidate.algorithm});
            ASSERT_LT(plan->info().workspace_bytes, std::size_t{1} << 24) << candidate.algorithm;
            GuardedBuffer packed(plan->info().packed_bytes, 0xFF),
                workspace(plan->info().workspace_bytes, 0xFF);
            if (packed.bytes() > 0) plan->pack_weights(weights.data(), packed.data());
            std::vector<float> result(expected.size(), NAN);
            execute(*plan, context(),
                    {sources, packed.bytes() ? packed.data() : nullptr, result.data(),
                     workspace.bytes() ? workspace.data() : nullptr, workspace.bytes()});
            EXPECT_EQ(result, expected) << candidate.algorithm;
        }
        EXPECT_GE(count, 3);
    };
    std::vector<float> y(dy.size()), dw(weights.size());
    for (Index k = 0; k < K; ++k)
        for (Index q = 0; q < Q; ++q)
            for (Index c = 0; c < C; ++c)
                for (Index s = 0; s < S; ++s) {
                    if (!inside(q, s)) continue;
                    const auto w = static_cast<std::size_t>((k * C + c) * S + s),
                               o = static_cast<std::size_t>(k * Q + q);
                    y[o] += src.floats()[at(c, q, s)] * weights[w];
                    dw[w] += src.floats()[at(c, q, s)] * dy[o];
                }
    run(p, {src.floats()}, y);
    run(gradient, {src.floats(), dy.data()}, dw);
    // A phase for each residue of the stride: refused with a reason instead of 2^28 launches.
    ConvolutionBwdDataProblem data{p.dst, p.weights, p.src, p.window, 1, p.mode, 1, 0};
    for (const Candidate& candidate : candidates(context(), data))
        EXPECT_TRUE(candidate.applicable || !candidate.reason.empty()) << candidate.algorithm;
}

// Sums longer than one chunk of a product, added to what dst holds, and the same bits for any number of
// threads.
TEST(LongSums, BetaAndThreads) {
    if (on_gpu) GTEST_SKIP() << "chunks and threads are the processor's";
    Context one(test_options(1)), three(test_options(3));
    const ConvolutionShape shapes[] = {
        {1, 240, 9, 1, {4, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
        {1, 2100, 7, 1, {2, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
        {1, 5, 2100, 1, {2, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
        {1, 7, 520, 1, {5, 4}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
        {3, 40, 33, 1, {14, 13}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    };
    unsigned seed = 40;
    for (const auto& shape : shapes)
        for (const Direction direction : {Direction::fwd, Direction::bwd_data, Direction::bwd_filter})
            for (const float beta : {1.0f, 0.5f}) {
                if (beta != 1 && shape.channels != 240) continue;
                Case c{make_problem(shape)};
                c.beta = beta;
                const TensorDesc filter = TensorDesc::packed(c.forward.weights);
                check_direction(three, c, direction, ++seed);
                const DirectionData data = random_direction_data(c, direction, DataType::f32, seed);
                for (const Candidate& row : candidates(one, problem_of(c, direction, filter))) {
                    if (!row.applicable || !row.deterministic) continue;
                    EXPECT_EQ(run_direction(one, c, direction, filter, row.algorithm, data),
                              run_direction(three, c, direction, filter, row.algorithm, data))
                        << row.algorithm;
                }
            }
}

}  // namespace
}  // namespace convlens::test

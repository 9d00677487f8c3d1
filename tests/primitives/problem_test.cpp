#include "harness.h"

namespace convlens::test {
namespace {

ConvolutionProblem convolution() {
    ConvolutionProblem p;
    p.src = TensorDesc::packed({2, 6, 9, 11});
    p.weights = {8, 3, 3, 5};
    p.groups = 2;
    p.window = {{1, 2}, {0, 1}, {2, 3}, {1, 1}};
    p.dst = TensorDesc::packed({2, 8, 4, 4});
    return p;
}

PoolingProblem pooling() {
    PoolingProblem p;
    p.src = TensorDesc::packed({2, 3, 7, 10});
    p.size = {3, 2};
    p.window = {{1, 0}, {1, 0}, {2, 2}, {1, 1}};
    p.dst = TensorDesc::packed({2, 3, 4, 5});
    return p;
}

// `change` makes a well-formed problem malformed; the message must hold `words`.
template <class P, class Change>
void expect_refused(P problem, const std::string& words, const Change& change) {
    EXPECT_NO_THROW(check(problem));
    change(problem);
    const std::string message = message_of(Status::bad_parameter, [&] { check(problem); });
    EXPECT_NE(message, "") << "accepted though " << words;
    EXPECT_NE(message.find(words), std::string::npos) << message;
}

TEST(Problem, ConvolutionArguments) {
    using P = ConvolutionProblem;
    expect_refused(convolution(), "groups: 0", [](P& p) { p.groups = 0; });
    expect_refused(convolution(), "groups: 4", [](P& p) { p.groups = 4; });
    expect_refused(convolution(), "weights", [](P& p) { p.weights[1] = 4; });
    expect_refused(convolution(), "weights", [](P& p) { p.weights = {8, 3, 3}; });
    expect_refused(convolution(), "weights", [](P& p) { p.weights = {}; });
    expect_refused(convolution(), "weights", [](P& p) { p.weights[2] = -3; });
    expect_refused(convolution(), "filters", [](P& p) { p.weights[0] = 7; });
    expect_refused(convolution(), "dst: 9 channels", [](P& p) { p.dst = TensorDesc::packed({2, 9, 4, 4}); });
    expect_refused(convolution(), "must be 4", [](P& p) { p.dst = TensorDesc::packed({2, 8, 5, 4}); });
    expect_refused(convolution(), "batch 3", [](P& p) { p.dst = TensorDesc::packed({3, 8, 4, 4}); });
    expect_refused(convolution(), "pads_begin: value -1", [](P& p) { p.window.pads_begin[1] = -1; });
    expect_refused(convolution(), "pads_end: value -2", [](P& p) { p.window.pads_end[0] = -2; });
    expect_refused(convolution(), "strides: value 0", [](P& p) { p.window.strides[0] = 0; });
    expect_refused(convolution(), "dilations: value 0", [](P& p) { p.window.dilations[1] = 0; });
    expect_refused(convolution(), "strides: 1 values for 2", [](P& p) { p.window.strides = {1}; });
    expect_refused(convolution(), "no output", [](P& p) { p.window.dilations[0] = 100; });
    expect_refused(convolution(), "rank 2", [](P& p) { p.src = TensorDesc::packed({2, 6}); });
    expect_refused(convolution(), "rank 6", [](P& p) { p.src = TensorDesc::packed({2, 6, 1, 1, 1, 1}); });
    expect_refused(convolution(), "type", [](P& p) { p.dst.type = DataType::f16; });
    expect_refused(convolution(), "type 77", [](P& p) { p.src.type = static_cast<DataType>(77); });
    expect_refused(convolution(), "activation",
                   [](P& p) { p.activation.kind = static_cast<ActivationKind>(99); });
    expect_refused(convolution(), "alpha", [](P& p) { p.activation.alpha = static_cast<float>(nan); });
    expect_refused(convolution(), "mode", [](P& p) { p.mode = static_cast<ConvolutionMode>(9); });
    expect_refused(convolution(), "destination", [](P& p) { p.dst.strides[1] = 0; });
    expect_refused(convolution(), "2^63", [](P& p) {
        p.weights = {std::int64_t{1} << 40, 3, 1 << 20, 1 << 20};
        p.window.pads_begin = p.window.pads_end = {1 << 20, 1 << 20};
        p.weights[0] = std::int64_t{1} << 40;
        p.dst = TensorDesc{DataType::f32, {2, std::int64_t{1} << 40, 1, 1}, {std::int64_t{1} << 41, 1, 1, 1}};
    });
    expect_refused(convolution(), "length", [](P& p) { p.src = TensorDesc::packed({2, 6, 0, 11}); });
    auto empty = convolution();
    empty.src.dims[0] = empty.dst.dims[0] = 0;
    EXPECT_NO_THROW(check(empty));
}

TEST(Problem, TransposedConvolutionOutputRange) {
    TransposedConvolutionProblem p;
    p.src = TensorDesc::packed({1, 4, 5, 6});
    p.weights = {4, 3, 4, 3};
    p.groups = 2;
    p.window = {{1, 0}, {1, 1}, {2, 3}, {1, 2}};
    // H: 2*4 + 4 - 2 = 10; W: 3*5 + 5 - 1 = 19; output pads below 2 and 3.
    for (const auto& [h, w, good] :
         {std::tuple{10, 19, true}, {11, 21, true}, {9, 19, false}, {12, 19, false}, {10, 22, false}}) {
        p.dst = TensorDesc::packed({1, 6, h, w});
        EXPECT_EQ(message_of(Status::bad_parameter, [&] { check(p); }).empty(), good) << h << "x" << w;
    }
    EXPECT_EQ(transposed_output_size(5, 4, 1, 1, 2, 1, 0), 10);
    EXPECT_EQ(transposed_output_size(6, 3, 0, 1, 3, 2, 2), 21);
}

TEST(Problem, PoolingArguments) {
    using P = PoolingProblem;
    expect_refused(pooling(), "kind", [](P& p) { p.kind = static_cast<PoolingKind>(5); });
    expect_refused(pooling(), "size: value 0", [](P& p) { p.size[0] = 0; });
    expect_refused(pooling(), "size: 3 values", [](P& p) { p.size = {3, 2, 1}; });
    expect_refused(pooling(), "channels", [](P& p) { p.dst = TensorDesc::packed({2, 4, 4, 5}); });
    expect_refused(pooling(), "must be 5", [](P& p) { p.dst = TensorDesc::packed({2, 3, 4, 6}); });
    expect_refused(pooling(), "pads_begin", [](P& p) { p.window.pads_begin = {}; });
    // Rounded up as well as down is right.
    auto p = pooling();
    p.src = TensorDesc::packed({2, 3, 7, 11});
    for (const auto& [length, good] : {std::pair{5, true}, {6, true}, {4, false}, {7, false}}) {
        p.dst = TensorDesc::packed({2, 3, 4, length});
        EXPECT_EQ(message_of(Status::bad_parameter, [&] { check(p); }).empty(), good) << length;
    }
}

TEST(Problem, FullyConnectedArguments) {
    using P = FullyConnectedProblem;
    const P good{TensorDesc::packed({3, 7}), 5, TensorDesc::packed({3, 5}), false, false, {}};
    expect_refused(good, "rank", [](P& p) { p.src = TensorDesc::packed({3, 7, 1}); });
    expect_refused(good, "outputs", [](P& p) { p.outputs = 0; });
    expect_refused(good, "dims 3x5", [](P& p) { p.outputs = 6; });
    expect_refused(good, "row length", [](P& p) { p.src = TensorDesc::packed({3, 0}); });
}

TEST(Problem, TheOthersArguments) {
    const TensorDesc x = TensorDesc::packed({2, 3, 4});
    const TensorDesc y = TensorDesc::packed({2, 3, 5});
    expect_refused(ActivationProblem{x, x, {}}, "2x3x5", [&](auto& p) { p.dst = y; });
    expect_refused(BatchNormalizationProblem{x, x, 0.1f, {}}, "epsilon", [&](auto& p) { p.epsilon = -1; });
    expect_refused(BatchNormalizationProblem{x, x, 0.1f, {}}, "channel",
                   [&](auto& p) { p.src = p.dst = TensorDesc::packed({3}); });
    expect_refused(SoftmaxProblem{x, x, 2, false}, "axis: 3", [&](auto& p) { p.axis = 3; });
    expect_refused(SoftmaxProblem{x, x, 0, false}, "axis: -1", [&](auto& p) { p.axis = -1; });
    expect_refused(LrnProblem{x, x, 5, 1, 1, 1}, "size: 0", [&](auto& p) { p.size = 0; });
    expect_refused(LrnProblem{x, x, 5, 1, 1, 1}, "beta", [&](auto& p) { p.beta = INFINITY; });
    using E = ElementwiseProblem;
    const E sum{ElementwiseKind::add, x, TensorDesc::packed({1, 3, 1}), x, {}};
    expect_refused(sum, "b: dim 1 is 2", [&](E& p) { p.b = TensorDesc::packed({1, 2, 1}); });
    expect_refused(sum, "b: rank 2", [&](E& p) { p.b = TensorDesc::packed({3, 1}); });
    expect_refused(sum, "kind", [&](E& p) { p.kind = static_cast<ElementwiseKind>(200); });
    expect_refused(sum, "type", [&](E& p) { p.b.type = DataType::i32; });
    using C = ConcatProblem;
    const C both{{x, y}, TensorDesc::packed({2, 3, 9}), 2};
    expect_refused(both, "there are none", [&](C& p) { p.srcs.clear(); });
    expect_refused(both, "must be 9", [&](C& p) { p.dst = TensorDesc::packed({2, 3, 8}); });
    expect_refused(both, "srcs[1]: dim 1", [&](C& p) { p.srcs[1] = TensorDesc::packed({2, 4, 5}); });
    expect_refused(both, "axis", [&](C& p) { p.axis = 7; });
    using T = TransformProblem;
    const T pad{x, TensorDesc::packed({2, 5, 5}), {0, 1, 0}, {0, 1, 1}, PadMode::reflect, 0};
    expect_refused(pad, "dim 2", [&](T& p) { p.dst = TensorDesc::packed({2, 5, 6}); });
    expect_refused(pad, "values for", [&](T& p) { p.pads_end = {0}; });
    expect_refused(pad, "pad_mode", [&](T& p) { p.pad_mode = static_cast<PadMode>(4); });
    expect_refused(pad, "reflection", [&](T& p) {
        p.pads_begin[2] = 4;
        p.dst = TensorDesc::packed({2, 5, 9});
    });
    expect_refused(pad, "dims", [&](T& p) { p.pads_begin = p.pads_end = {}; });
    expect_refused(T{x, x, {}, {}}, "before the pointer", [&](T& p) { p.src.strides[0] = -12; });
    expect_refused(T{x, x, {}, {}}, "strides", [&](T& p) { p.src.strides = {1, 1}; });
    expect_refused(T{x, x, {}, {}}, "2^63", [&](T& p) { p.src.strides[0] = INT64_MAX; });
}

TEST(Problem, SizesAtTheEdgeOf63Bits) {
    constexpr std::int64_t most = INT64_MAX;
    EXPECT_EQ(convolution_output_size(most, 1, most, most, 1, 1), most);
    EXPECT_EQ(convolution_output_size(most, most, most, most, most, most), 0);
    EXPECT_EQ(convolution_output_size(5, 3, 0, 0, 0, 1), 0);
    EXPECT_EQ(convolution_output_size(5, 3, 0, 0, 1, -1), 0);
    EXPECT_EQ(transposed_output_size(most, most, 0, 0, most, most, most), most);
    EXPECT_EQ(pooling_output_size(INT64_MIN, 2, 0, 0, 3, 1, true), 0);
    // Against the definition, by counting windows that start inside.
    for (std::int64_t in = 1; in <= 9; ++in)
        for (std::int64_t window = 1; window <= 4; ++window)
            for (std::int64_t pad = 0; pad <= 2; ++pad)
                for (std::int64_t stride = 1; stride <= 4; ++stride)
                    for (std::int64_t dilation = 1; dilation <= 2; ++dilation) {
                        std::int64_t count = 0;
                        const std::int64_t reach = dilation * (window - 1) + 1;
                        while (count * stride + reach <= in + pad + 1) ++count;
                        EXPECT_EQ(convolution_output_size(in, window, pad, 1, stride, dilation), count);
                    }
}

TEST(Problem, WorkCountsWhatTheDirectMethodDoes) {
    auto p = convolution();
    const auto row = candidates(context(), p).back();
    EXPECT_EQ(row.work.flops, 2.0 * 2 * 8 * 4 * 4 * 3 * 3 * 5);
    EXPECT_EQ(row.work.bytes, 4.0 * (2 * 6 * 9 * 11 + 8 * 3 * 3 * 5 + 2 * 8 * 4 * 4));
}

TEST(Plan, CallersMistakesAreNamed) {
    const TensorDesc x = TensorDesc::packed({2, 3, 4});
    const ElementwiseProblem p{ElementwiseKind::add, x, x, x, {}};
    Guarded a(x), dst(x);
    const auto plan = make_plan(context(), p);
    const auto refused = [&](std::vector<const void*> sources, void* to) {
        return message_of(Status::bad_parameter,
                          [&] { execute(*plan, context(), {.sources = sources, .dst = to}); });
    };
    EXPECT_NE(refused({a.data()}, dst.data()).find("sources"), std::string::npos);
    EXPECT_NE(refused({a.data(), nullptr}, dst.data()).find("source 1 is null"), std::string::npos);
    EXPECT_NE(refused({a.data(), a.data()}, nullptr).find("dst"), std::string::npos);
    EXPECT_NE(refused({a.data(), dst.data() + 4}, dst.data()).find("overlaps"), std::string::npos);
    EXPECT_EQ(dst.damage(), "");
    EXPECT_TRUE(std::isnan(dst.get({0, 0, 0})));
    EXPECT_NE(message_of(Status::bad_parameter, [&] { make_plan(context(), p, {.algorithm = "none"}); })
                  .find("direct"),
              std::string::npos);
}

TEST(Plan, SlicesOfOneBufferMayLieBetweenEachOther) {
    // Channels 0..2 are read and 3..5 written in the same channels-last buffer.
    TensorDesc whole = TensorDesc::channels_last({1, 6, 4, 5});
    Guarded buffer(whole);
    buffer.fill([](const Index& i) { return noise(i); });
    TensorDesc low = whole, high = whole;
    low.dims[1] = high.dims[1] = 3;
    high.offset = 3;
    execute(*make_plan(context(), ActivationProblem{low, high, {ActivationKind::relu}}), context(),
            {.sources = std::vector<const void*>{buffer.data()}, .dst = buffer.data()});
    for_each_index(low.dims, [&](const Index& i) {
        EXPECT_EQ(buffer.get({0, i[1] + 3, i[2], i[3]}), std::max(buffer.get(i), 0.0f));
    });
}

TEST(Plan, EmptyTensorsDoNothing) {
    for (const Dims& dims : {Dims{0, 3, 4}, Dims{2, 0, 4}, Dims{2, 3, 0}}) {
        const TensorDesc x = TensorDesc::packed(dims);
        for (const Problem& p :
             {Problem(ActivationProblem{x, x, {}}), Problem(SoftmaxProblem{x, x, 1, false}),
              Problem(LrnProblem{x, x, 5, 1, 1, 1}), Problem(TransformProblem{x, x, {}, {}}),
              Problem(BatchNormalizationProblem{x, x, 1, {}})})
            for (const auto& row : candidates(context(), p)) {
                const std::vector<const void*> none(std::holds_alternative<BatchNormalizationProblem>(p) ? 5
                                                                                                         : 1);
                EXPECT_NO_THROW(execute(*make_plan(context(), p, {.algorithm = row.algorithm}), context(),
                                        {.sources = none}));
            }
    }
}

TEST(Plan, BitsDoNotDependOnThreadsOrRepetition) {
    Context one(test_options(1)), many(test_options(4));
    const TensorDesc x = TensorDesc::channels_last({2, 70, 33, 31});
    PoolingProblem pool;
    pool.src = x;
    pool.kind = PoolingKind::average_include_pad;
    pool.size = {33, 31};
    pool.window = WindowDesc::unit(2);
    pool.dst = TensorDesc::packed({2, 70, 1, 1});
    for (const Problem& p :
         {Problem(SoftmaxProblem{x, x, 1, false}), Problem(LrnProblem{x, x, 5, 1, 0.75f, 1}), Problem(pool),
          Problem(ActivationProblem{x, x, {ActivationKind::tanh}})}) {
        Guarded src(x);
        src.fill([](const Index& i) { return noise(i); });
        const TensorDesc to = std::visit([](const auto& q) { return q.dst; }, p);
        Guarded first(to);
        for (const auto& row : candidates(one, p)) {
            if (!row.applicable) continue;
            execute(*make_plan(one, p, {.algorithm = row.algorithm}), one,
                    {.sources = std::vector<const void*>{src.data()}, .dst = first.data()});
            for (int repeat = 0; repeat < 10; ++repeat) {
                Guarded again(to);
                execute(*make_plan(many, p, {.algorithm = row.algorithm}), many,
                        {.sources = std::vector<const void*>{src.data()}, .dst = again.data()});
                ASSERT_EQ(std::memcmp(first.data(), again.data(), to.bytes()), 0) << row.algorithm;
            }
        }
    }
}

}  // namespace
}  // namespace convlens::test

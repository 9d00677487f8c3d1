#include <gtest/gtest.h>

#include <bit>

#include "tests/primitives/reference_convolution.h"
#include "tests/primitives/vector_targets.h"

namespace convlens::test {
namespace {

Context& context() {
    static Context three_threads(test_options(3));
    return three_threads;
}

struct Shape {
    Index batch, channels, outputs, groups;
    Dims src, window, strides, dilations, pads_begin, pads_end, output_pads;
};

TransposedConvolutionProblem make(const Shape& shape, Layout src = Layout::channels_last,
                                  Layout dst = Layout::channels_last) {
    TransposedConvolutionProblem p;
    Dims src_dims{shape.batch, shape.channels}, dst_dims{shape.batch, shape.outputs};
    p.weights = {shape.channels, shape.outputs / shape.groups};
    for (int i = 0; i < shape.src.rank(); ++i) {
        src_dims.push_back(shape.src[i]);
        p.weights.push_back(shape.window[i]);
        // Written out: the test does not take the library's word for the size.
        dst_dims.push_back(shape.strides[i] * (shape.src[i] - 1) +
                           shape.dilations[i] * (shape.window[i] - 1) + 1 - shape.pads_begin[i] -
                           shape.pads_end[i] + shape.output_pads[i]);
    }
    p.src = layout_desc(src_dims, src);
    p.dst = layout_desc(dst_dims, dst);
    p.window = {shape.pads_begin, shape.pads_end, shape.strides, shape.dilations};
    p.groups = shape.groups;
    return p;
}

struct Data {
    std::vector<float> src, weights, bias;
};

Data random_data(const TransposedConvolutionProblem& p, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    Data data;
    const auto fill = [&](std::vector<float>& values, Index count) {
        for (Index i = 0; i < count; ++i) values.push_back(uniform(generator));
    };
    fill(data.src, p.src.elements());
    fill(data.weights, p.weights.product());
    if (p.has_bias) fill(data.bias, p.dst.dims[1]);
    return data;
}

// Scatters every source cell through the window, in double.
ConvolutionReference reference(const TransposedConvolutionProblem& p, const Data& data) {
    const int rank = p.src.rank() - 2;
    const auto axis = [&](const Dims& dims, int a, int skip, Index none) {
        return a < 3 - rank ? none : dims[a - (3 - rank) + skip];
    };
    Index in[3], out[3], size[3], stride[3], dilation[3], pad[3];
    for (int a = 0; a < 3; ++a) {
        in[a] = axis(p.src.dims, a, 2, 1);
        out[a] = axis(p.dst.dims, a, 2, 1);
        size[a] = axis(p.weights, a, 2, 1);
        stride[a] = axis(p.window.strides, a, 0, 1);
        dilation[a] = axis(p.window.dilations, a, 0, 1);
        pad[a] = axis(p.window.pads_begin, a, 0, 0);
    }
    const Index N = p.src.dims[0], C = p.src.dims[1], K = p.dst.dims[1], Kg = K / p.groups, Cg = C / p.groups;
    const Index plane = out[0] * out[1] * out[2];
    ConvolutionReference result;
    result.value.assign(static_cast<std::size_t>(N * K * plane), 0.0);
    result.scale = result.value;
    std::size_t at = 0;
    for (Index n = 0; n < N; ++n)
        for (Index c = 0; c < C; ++c)
            for (Index d = 0; d < in[0]; ++d)
                for (Index h = 0; h < in[1]; ++h)
                    for (Index w = 0; w < in[2]; ++w, ++at)
                        for (Index k = 0; k < Kg; ++k)
                            for (Index i = 0; i < size[0] * size[1] * size[2]; ++i) {
                                const Index s = i % size[2], r = i / size[2] % size[1],
                                            t = i / (size[2] * size[1]);
                                const Index z = d * stride[0] + t * dilation[0] - pad[0];
                                const Index y = h * stride[1] + r * dilation[1] - pad[1];
                                const Index x = w * stride[2] + s * dilation[2] - pad[2];
                                if (z < 0 || y < 0 || x < 0 || z >= out[0] || y >= out[1] || x >= out[2])
                                    continue;
                                const double product = static_cast<double>(data.src[at]) *
                                                       data.weights[static_cast<std::size_t>(
                                                           (c * Kg + k) * size[0] * size[1] * size[2] + i)];
                                const auto to = static_cast<std::size_t>((n * K + c / Cg * Kg + k) * plane +
                                                                         (z * out[1] + y) * out[2] + x);
                                result.value[to] += product;
                                result.scale[to] += std::fabs(product);
                            }
    for (std::size_t i = 0; i < result.value.size(); ++i) {
        if (p.has_bias) {
            const double bias = data.bias[i / static_cast<std::size_t>(plane) % static_cast<std::size_t>(K)];
            result.value[i] += bias;
            result.scale[i] += std::fabs(bias);
        }
        result.value[i] = reference_activation(p.activation, result.value[i]);
    }
    return result;
}

std::vector<float> run(Context& where, const TransposedConvolutionProblem& p, const std::string& algorithm,
                       const Data& data) {
    const auto plan = make_plan(where, p, {.algorithm = algorithm});
    const PlanInfo& info = plan->info();
    GuardedBuffer plain(data.weights.size() * 4, 0xFF, 4), packed(info.packed_bytes, 0xFF);
    GuardedBuffer src(p.src.bytes(), 0xFF, 4), bias(data.bias.size() * 4, 0xFF, 4),
        dst(p.dst.bytes(), 0xFF, 4);
    GuardedBuffer workspace(info.workspace_bytes, 0xFF);
    std::copy(data.weights.begin(), data.weights.end(), plain.as<float>());
    std::copy(data.bias.begin(), data.bias.end(), bias.as<float>());
    each_element(p.src, [&](std::size_t at, std::size_t i) { src.as<float>()[at] = data.src[i]; });
    plan->pack_weights(plain.data(), packed.data());
    const void* sources[] = {src.data(), p.has_bias ? bias.data() : nullptr};
    if (info.workspace_bytes > 0) {
        EXPECT_THROW(
            execute(*plan, where,
                    {sources, packed.data(), dst.data(), workspace.data(), info.workspace_bytes - 1}),
            Error);
    }
    execute(*plan, where,
            {sources, packed.data(), dst.data(), info.workspace_bytes ? workspace.data() : nullptr,
             info.workspace_bytes});
    std::vector<float> result(static_cast<std::size_t>(p.dst.elements()));
    std::vector<bool> written(p.dst.bytes() / 4);
    each_element(p.dst, [&](std::size_t at, std::size_t i) {
        result[i] = dst.as<float>()[at];
        written[at] = true;
    });
    for (std::size_t i = 0; i < written.size(); ++i)
        EXPECT_TRUE(written[i] || std::bit_cast<std::uint32_t>(dst.as<float>()[i]) == untouched)
            << "gap " << i;
    EXPECT_TRUE(src.guards_intact() && dst.guards_intact() && workspace.guards_intact() &&
                packed.guards_intact())
        << algorithm;
    return result;
}

void check(const TransposedConvolutionProblem& p, unsigned seed) {
    const Data data = random_data(p, seed);
    const ConvolutionReference want = reference(p, data);
    const double terms = static_cast<double>(p.weights.product());
    int rows = 0;
    for (const Candidate& row : candidates(context(), p)) {
        if (!row.applicable) continue;
        ++rows;
        const auto got = run(context(), p, row.algorithm, data);
        for (std::size_t i = 0; i < got.size(); ++i) {
            const double bound = 6e-8 * (3 + std::sqrt(terms)) * (want.scale[i] + 1e-3) * 2;
            if (std::fabs(got[i] - want.value[i]) <= bound) continue;
            ADD_FAILURE() << row.algorithm << ": src " << p.src.text() << " weights " << p.weights.text()
                          << " dst " << p.dst.text() << " strides " << p.window.strides.text()
                          << " dilations " << p.window.dilations.text() << " groups " << p.groups
                          << ": element " << i << " is " << got[i] << ", should be " << want.value[i];
            return;
        }
    }
    EXPECT_GE(rows, 2);
}

TEST(Transposed, EveryChannelCountOnEveryVectorTarget) {
    for_each_vector_target([](const std::string& target) {
        SCOPED_TRACE(target);
        for (Index c = 1; c <= 33; ++c) {
            const Index k = (c * 7) % 34 == 0 ? 34 : (c * 7) % 34;
            auto p = make({2, c, k, 1, {3, 5}, {4, 3}, {2, 1}, {1, 1}, {1, 0}, {1, 1}, {0, 0}});
            p.has_bias = true;
            check(p, static_cast<unsigned>(c));
        }
    });
}

TEST(Transposed, AnyGeometryAndLayout) {
    std::mt19937 generator(40);
    const auto pick = [&](Index low, Index high) {
        return std::uniform_int_distribution<Index>(low, high)(generator);
    };
    for (int i = 0; i < 300 && !HasFailure(); ++i) {
        const int rank = i % 5 == 0 ? 1 : i % 5 == 1 ? 3 : 2;
        Shape shape;
        shape.batch = pick(1, 2);
        shape.groups = pick(0, 2) == 0 ? pick(2, 4) : 1;
        shape.channels = shape.groups * pick(1, 9);
        shape.outputs = shape.groups * pick(1, 9);
        for (int axis = 0; axis < rank; ++axis) {
            Index length = 0, window = 0, stride = 0, dilation = 0, begin = 0, end = 0, extra = 0;
            do {
                length = pick(1, rank == 3 ? 4 : 9);
                window = pick(1, rank == 3 ? 3 : 5);
                stride = pick(1, 4);
                dilation = pick(1, 3);
                begin = pick(0, 4);
                end = pick(0, 4);
                extra = pick(0, std::max(stride, dilation) - 1);
            } while (stride * (length - 1) + dilation * (window - 1) + 1 - begin - end < 1);
            shape.src.push_back(length);
            shape.window.push_back(window);
            shape.strides.push_back(stride);
            shape.dilations.push_back(dilation);
            shape.pads_begin.push_back(begin);
            shape.pads_end.push_back(end);
            shape.output_pads.push_back(extra);
        }
        auto p = make(shape, static_cast<Layout>(pick(0, 3)), static_cast<Layout>(pick(0, 3)));
        p.has_bias = pick(0, 1);
        if (pick(0, 1)) p.activation = {ActivationKind::clip, -0.5f, 1.5f};
        check(p, static_cast<unsigned>(i));
    }
}

TEST(Transposed, LargerThanOneTask) {
    for (const Layout layout : {Layout::channels_last, Layout::packed}) {
        auto p =
            make({1, 70, 3, 1, {37, 29}, {4, 4}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {0, 0}}, layout, layout);
        p.activation = {ActivationKind::relu, 0, 0};
        check(p, 1);
        check(make({1, 8, 140, 2, {20, 9}, {3, 3}, {2, 3}, {1, 1}, {1, 0}, {0, 1}, {1, 0}}, layout, layout),
              2);
    }
}

TEST(Transposed, BitsDoNotDependOnThreads) {
    Context one(test_options(1));
    const auto p = make({1, 40, 24, 1, {31, 29}, {4, 4}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {0, 0}});
    const Data data = random_data(p, 3);
    for (const char* name : {"col2im_gemm", "direct"})
        EXPECT_EQ(run(one, p, name, data), run(context(), p, name, data)) << name;
}

TEST(Transposed, WorkspaceHoldsColumnsAndACopyOnlyWhereNeeded) {
    const Shape shape{1, 16, 3, 1, {10, 12}, {4, 4}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {0, 0}};
    const std::size_t columns = 10 * 12 * 4 * 4 * 3 * 4;
    const auto bytes = [&](Layout layout) {
        return make_plan(context(), make(shape, layout), {.algorithm = "col2im_gemm"})
            ->info()
            .workspace_bytes;
    };
    EXPECT_EQ(bytes(Layout::channels_last), columns);
    EXPECT_EQ(bytes(Layout::packed), columns + 10 * 12 * 16 * 4);
}

TEST(Transposed, EmptyBatchAndOtherTypes) {
    const auto empty = make({0, 5, 3, 1, {4, 6}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    for (const char* name : {"col2im_gemm", "direct"}) {
        const auto plan = make_plan(context(), empty, {.algorithm = name});
        const void* sources[] = {nullptr, nullptr};
        EXPECT_NO_THROW(execute(*plan, context(), {sources, nullptr, nullptr, nullptr, 0})) << name;
    }
    auto half = make({1, 5, 3, 1, {4, 6}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    half.src.type = half.dst.type = DataType::f16;
    for (const Candidate& row : candidates(context(), half)) {
        EXPECT_FALSE(row.applicable);
        EXPECT_FALSE(row.reason.empty());
    }
}

void expect_row(const Index pad_begin, const Index pad_end, const std::vector<float>& want) {
    const auto p = make({1, 1, 1, 1, {1, 2}, {1, 3}, {1, 2}, {1, 1}, {0, pad_begin}, {0, pad_end}, {0, 0}});
    for (const char* name : {"col2im_gemm", "direct"})
        EXPECT_EQ(run(context(), p, name, {{1, 2}, {1, 10, 100}, {}}), want) << name;
}

// auto_pad SAME_UPPER and SAME_LOWER become a pad of 1 at the end or at the beginning.
TEST(TransposedBugCase, CT_01_PadOnOneSide) {
    expect_row(0, 1, {1, 10, 102, 20});
    expect_row(1, 0, {10, 102, 20, 200});
    expect_row(0, 0, {1, 10, 102, 20, 200});
}

// output_shape 3 becomes a pad of 1 on both sides.
TEST(TransposedBugCase, CT_03_PadsFromTheOutputShape) { expect_row(1, 1, {10, 102, 20}); }

}  // namespace
}  // namespace convlens::test

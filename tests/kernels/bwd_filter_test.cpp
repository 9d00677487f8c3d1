// The filter's gradient by every kernel of the processor against a double loop over dense arrays: random
// geometries of one to three axes, layouts with gaps, groups, types, alpha and beta, numbers of threads,
// vector targets.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/convolution/bwd_filter_depthwise.h"
#include "kernels/cpu/convolution/bwd_filter_gemm.h"
#include "kernels/cpu/convolution/bwd_filter_im2col.h"
#include "tests/primitives/guarded_buffer.h"
#include "tests/primitives/vector_targets.h"

namespace convlens::cpu {
namespace {

using test::GuardedBuffer;
using Index = std::int64_t;

struct Case {
    BwdFilterParams f;
    Index src_elements = 0, dst_elements = 0, filter_elements = 0;  // in memory, from the first
    std::string text;
};

// Strides of an array whose axes lie in `order`, innermost first, with gaps between them. Returns its
// elements.
Index lay_out(const std::array<Index, 5>& dims, const std::array<int, 5>& order, Index gap,
              Strides5& strides) {
    Index step = 1;
    for (const int axis : order) {
        strides[static_cast<std::size_t>(axis)] = step;
        step = step * dims[static_cast<std::size_t>(axis)] + gap;
    }
    Index last = 0;
    for (std::size_t i = 0; i < 5; ++i) last += (dims[i] - 1) * strides[i];
    return last + 1;
}

Case make_case(ConvolutionGeometry g, int layout, ElementType type, ElementType filter_type, float alpha,
               float beta) {
    constexpr std::array<int, 5> planar{4, 3, 2, 1, 0}, channels_last{1, 4, 3, 2, 0},
        images_first{0, 4, 1, 3, 2};
    const auto& order = layout % 3 == 0 ? planar : layout % 3 == 1 ? channels_last : images_first;
    const Index gap = layout >= 3 ? 2 : 0;
    Case t;
    t.src_elements = lay_out({g.batch, g.channels, g.src[0], g.src[1], g.src[2]}, order, gap, g.src_strides);
    t.dst_elements = lay_out({g.batch, g.outputs, g.dst[0], g.dst[1], g.dst[2]}, order, gap, g.dst_strides);
    t.f.geometry = g;
    t.filter_elements =
        lay_out({g.outputs, g.channels / g.groups, g.window[0], g.window[1], g.window[2]},
                layout == 4 ? channels_last : planar, layout == 5 ? 1 : 0, t.f.filter_strides);
    t.f.type = type;
    t.f.dst_type = filter_type;
    t.f.alpha = alpha;
    t.f.beta = beta;
    const auto axes = [](const Axes& a) {
        return std::to_string(a[0]) + "x" + std::to_string(a[1]) + "x" + std::to_string(a[2]);
    };
    t.text = "n " + std::to_string(g.batch) + " c " + std::to_string(g.channels) + " k " +
             std::to_string(g.outputs) + " groups " + std::to_string(g.groups) + " src " + axes(g.src) +
             " dst " + axes(g.dst) + " window " + axes(g.window) + " pads " + axes(g.pads) + " strides " +
             axes(g.strides) + " dilations " + axes(g.dilations) + (g.flipped ? " flipped" : "") +
             " layout " + std::to_string(layout);
    return t;
}

struct Sum {
    double value = 0, scale = 0;
};

template <class Read>
Sum reference(const Case& t, Index k, Index c, const Axes& tap, const Read& x, const Read& dy) {
    const ConvolutionGeometry& g = t.f.geometry;
    const Index channel = k / (g.outputs / g.groups) * (g.channels / g.groups) + c;
    Sum sum;
    for (Index n = 0; n < g.batch; ++n)
        for (Index o = 0; o < g.dst[0]; ++o)
            for (Index p = 0; p < g.dst[1]; ++p)
                for (Index q = 0; q < g.dst[2]; ++q) {
                    const Index d = o * g.strides[0] - g.pads[0] + tap[0] * g.dilations[0];
                    const Index h = p * g.strides[1] - g.pads[1] + tap[1] * g.dilations[1];
                    const Index w = q * g.strides[2] - g.pads[2] + tap[2] * g.dilations[2];
                    if (d < 0 || h < 0 || w < 0 || d >= g.src[0] || h >= g.src[1] || w >= g.src[2]) continue;
                    const Strides5 &a = g.src_strides, &b = g.dst_strides;
                    const double product = x(n * a[0] + channel * a[1] + d * a[2] + h * a[3] + w * a[4]) *
                                           dy(n * b[0] + k * b[1] + o * b[2] + p * b[3] + q * b[4]);
                    sum.value += product;
                    sum.scale += std::fabs(product);
                }
    return sum;
}

void fill(GuardedBuffer& buffer, ElementType type, Index count, std::mt19937& generator) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (Index i = 0; i < count; ++i) store_element(type, buffer.data(), i, uniform(generator));
}

enum class Kernel { gemm, precomputed, pointwise, im2col, depthwise };

void run(Kernel kernel, const BwdFilterParams& f, const void* x, const void* dy, void* dw, int threads) {
    ThreadPool pool(threads);
    std::vector<std::int64_t> table;
    std::size_t bytes = 0;
    std::optional<BwdFilterGemm> params;
    if (kernel <= Kernel::pointwise) {
        params = kernel == Kernel::pointwise ? bwd_filter_pointwise_params(f, threads)
                                             : bwd_filter_gemm_params(f, threads);
        bytes = params.value().workspace_bytes;
        if (kernel == Kernel::precomputed) {
            table.resize(bwd_filter_table_size(f.geometry));
            bwd_filter_fill_table(f.geometry, table);
        }
    } else if (kernel == Kernel::im2col) {
        bytes = bwd_filter_im2col_workspace(f).value();
    } else {
        bytes = bwd_filter_depthwise_workspace(f);
    }
    GuardedBuffer workspace(bytes, 0xFF);
    const auto* floats = static_cast<const float*>(x);
    if (params)
        bwd_filter_gemm(*params, x, dy, dw, table, workspace.data(), pool);
    else if (kernel == Kernel::im2col)
        bwd_filter_im2col(f, floats, static_cast<const float*>(dy), static_cast<float*>(dw), workspace.data(),
                          pool);
    else
        bwd_filter_depthwise(f, floats, static_cast<const float*>(dy), static_cast<float*>(dw),
                             workspace.data(), pool);
    ASSERT_TRUE(workspace.guards_intact());
}

bool takes(Kernel kernel, const BwdFilterParams& f) {
    const ConvolutionGeometry& g = f.geometry;
    if (kernel == Kernel::gemm || kernel == Kernel::precomputed) return true;
    if (kernel == Kernel::pointwise) {
        bool inside = true;
        for (std::size_t i = 0; i < 3; ++i)
            inside = inside && g.window[i] == 1 && g.pads[i] == 0 && (g.dst[i] - 1) * g.strides[i] < g.src[i];
        return inside;
    }
    if (f.type != ElementType::f32 || f.dst_type != ElementType::f32) return false;
    return kernel == Kernel::im2col || g.groups == g.channels;
}

void check(const Case& t, unsigned seed) {
    SCOPED_TRACE(t.text);
    const BwdFilterParams& f = t.f;
    const ConvolutionGeometry& g = f.geometry;
    const std::size_t size = size_of(f.type), filter_size = size_of(f.dst_type);
    std::mt19937 generator(seed);
    GuardedBuffer x(static_cast<std::size_t>(t.src_elements) * size, 0xFF, size);
    GuardedBuffer dy(static_cast<std::size_t>(t.dst_elements) * size, 0xFF, size);
    fill(x, f.type, t.src_elements, generator);
    fill(dy, f.type, t.dst_elements, generator);
    const std::size_t filter_bytes = static_cast<std::size_t>(t.filter_elements) * filter_size;
    GuardedBuffer before(filter_bytes, 0xFF, filter_size);
    if (f.beta != 0) fill(before, f.dst_type, t.filter_elements, generator);
    std::vector<std::vector<unsigned char>> results;
    for (const Kernel kernel :
         {Kernel::gemm, Kernel::precomputed, Kernel::pointwise, Kernel::im2col, Kernel::depthwise}) {
        if (!takes(kernel, f)) continue;
        SCOPED_TRACE("kernel " + std::to_string(static_cast<int>(kernel)));
        for (const int threads : {1, 3}) {
            GuardedBuffer dw(filter_bytes, 0xFF, filter_size);
            std::copy_n(before.as<unsigned char>(), filter_bytes, dw.as<unsigned char>());
            run(kernel, f, x.data(), dy.data(), dw.data(), threads);
            ASSERT_TRUE(dw.guards_intact());
            results.emplace_back(dw.as<unsigned char>(), dw.as<unsigned char>() + filter_bytes);
            if (threads > 1) {
                ASSERT_EQ(results.back(), results[results.size() - 2]) << "bits depend on threads";
                continue;
            }
            const auto read = [&](GuardedBuffer& buffer) {
                return [&buffer, type = f.type](Index at) { return load_element(type, buffer.data(), at); };
            };
            const auto of_x = read(x), of_dy = read(dy);
            // Long sums: a part of them, spread over all axes.
            const double work = static_cast<double>(g.outputs * (g.channels / g.groups) * g.taps()) *
                                static_cast<double>(g.batch * g.dst_cells());
            const auto step = static_cast<Index>(work / 4e6) * 2 + 1;
            Index count = 0;
            std::vector<bool> written(static_cast<std::size_t>(t.filter_elements));
            for (Index k = 0; k < g.outputs; ++k)
                for (Index c = 0; c < g.channels / g.groups; ++c)
                    for (Index z = 0; z < g.window[0]; ++z)
                        for (Index r = 0; r < g.window[1]; ++r)
                            for (Index s = 0; s < g.window[2]; ++s) {
                                const Axes tap = g.flipped ? Axes{g.window[0] - 1 - z, g.window[1] - 1 - r,
                                                                  g.window[2] - 1 - s}
                                                           : Axes{z, r, s};
                                const Strides5& to = f.filter_strides;
                                const Index at = k * to[0] + c * to[1] + z * to[2] + r * to[3] + s * to[4];
                                written[static_cast<std::size_t>(at)] = true;
                                if (count++ % step != 0) continue;
                                const Sum sum = reference(t, k, c, tap, of_x, of_dy);
                                double expected = f.alpha * sum.value, scale = std::fabs(f.alpha) * sum.scale;
                                if (f.beta != 0) {
                                    const double old = f.beta * load_element(f.dst_type, before.data(), at);
                                    expected += old;
                                    scale += std::fabs(old);
                                }
                                const double length = static_cast<double>(g.batch * g.dst_cells());
                                const double rounding = f.dst_type == ElementType::f16    ? 0x1p-11
                                                        : f.dst_type == ElementType::bf16 ? 0x1p-8
                                                                                          : 0;
                                const double bound = 6e-8 * (3 + std::sqrt(length)) * scale +
                                                     rounding * std::fabs(expected) +
                                                     0x1p-24 * (rounding > 0) + 1e-30;
                                ASSERT_NEAR(load_element(f.dst_type, dw.data(), at), expected, bound)
                                    << "k " << k << " c " << c << " tap " << z << " " << r << " " << s;
                            }
            for (std::size_t i = 0; i < written.size(); ++i) {
                if (written[i]) continue;

                ASSERT_TRUE(std::equal(dw.as<unsigned char>() + i * filter_size,
                                       dw.as<unsigned char>() + (i + 1) * filter_size,
                                       before.as<unsigned char>() + i * filter_size))
                    << "gap " << i;
            }
        }
    }
    ASSERT_TRUE(x.guards_intact() && dy.guards_intact());
}

ConvolutionGeometry random_geometry(std::mt19937& generator, bool depthwise) {
    const auto pick = [&](Index low, Index high) {
        return std::uniform_int_distribution<Index>(low, high)(generator);
    };
    ConvolutionGeometry g;
    g.batch = pick(1, 3);
    g.groups = pick(0, 2) == 0 ? pick(2, 3) : 1;
    g.channels = g.groups * pick(1, 24);
    g.outputs = g.groups * pick(1, 40);
    if (depthwise) {
        g.groups = g.channels = pick(2, 40);
        g.outputs = g.channels * (pick(0, 2) == 0 ? 2 : 1);
    }
    const bool point = pick(0, 4) == 0;
    const auto rank = static_cast<std::size_t>(pick(0, 5) == 0 ? pick(0, 1) * 2 + 1 : 2);
    for (std::size_t axis = 3 - rank; axis < 3; ++axis) {
        Index end = 0;
        do {
            g.src[axis] = pick(1, rank == 3 ? 6 : 15);
            g.window[axis] = point ? 1 : pick(1, rank == 3 ? 3 : 5);
            g.dilations[axis] = pick(0, 2) == 0 ? pick(2, 3) : 1;
            g.pads[axis] = point ? 0 : pick(0, 1) * pick(0, 4);
            end = point ? 0 : pick(0, 1) * pick(0, 4);
        } while (g.src[axis] + g.pads[axis] + end < g.dilations[axis] * (g.window[axis] - 1) + 1);
        g.strides[axis] = pick(0, 1) * pick(0, 3) + 1;
        g.dst[axis] = (g.src[axis] + g.pads[axis] + end - g.dilations[axis] * (g.window[axis] - 1) - 1) /
                          g.strides[axis] +
                      1;
    }
    g.flipped = pick(0, 3) == 0;
    return g;
}

TEST(BwdFilter, RandomGeometries) {
    std::mt19937 generator(31);
    for (unsigned i = 0; i < 120 && !::testing::Test::HasFatalFailure(); ++i) {
        const float alpha = i % 3 == 0 ? -0.5f : 1.0f, beta = i % 4 == 0 ? 0.75f : 0.0f;
        check(make_case(random_geometry(generator, i % 4 == 1), static_cast<int>(i % 6), ElementType::f32,
                        ElementType::f32, alpha, beta),
              i);
    }
}

TEST(BwdFilter, NarrowerVectorTargets) {
    test::for_each_vector_target([](const std::string& target) {
        SCOPED_TRACE(target);
        std::mt19937 generator(32);
        for (unsigned i = 0; i < 24 && !::testing::Test::HasFatalFailure(); ++i)
            check(make_case(random_geometry(generator, i % 4 == 1), static_cast<int>(i % 5), ElementType::f32,
                            ElementType::f32, 1, i % 4 == 0 ? -1.0f : 0.0f),
                  i);
    });
}

TEST(BwdFilter, SixteenBitTypes) {
    std::mt19937 generator(33);
    for (unsigned i = 0; i < 60 && !::testing::Test::HasFatalFailure(); ++i) {
        const ElementType type = i % 2 ? ElementType::f16 : ElementType::bf16;
        check(make_case(random_geometry(generator, false), static_cast<int>(i % 6), type,
                        i % 3 == 0 ? ElementType::f32 : type, i % 5 == 0 ? 2.0f : 1.0f,
                        i % 4 == 0 ? 0.5f : 0.0f),
              i);
    }
}

// Sizes that reach several blocks, panels, chunks along each axis, and splits.
TEST(BwdFilter, LargerThanOneChunk) {
    const auto geometry = [](Index n, Index c, Index k, Index h, Index w, Index r, Index s, Index stride,
                             Index pad) {
        ConvolutionGeometry g;
        g.batch = n;
        g.channels = c;
        g.outputs = k;
        g.src = {1, h, w};
        g.window = {1, r, s};
        g.pads = {0, pad, pad};
        g.strides = {1, stride, stride};
        g.dst = {1, (h + 2 * pad - r) / stride + 1, (w + 2 * pad - s) / stride + 1};
        return g;
    };
    unsigned seed = 100;
    for (const int layout : {0, 1, 4}) {
        for (const auto& g :
             {geometry(3, 3, 20, 61, 157, 5, 7, 2, 3), geometry(2, 150, 70, 19, 23, 1, 1, 1, 0),
              geometry(9, 40, 33, 30, 29, 1, 3, 1, 1), geometry(1, 1, 2, 1, 40000, 1, 3, 1, 1),
              geometry(1, 5, 16, 2, 9000, 2, 5, 3, 0), geometry(300, 7, 5, 4, 3, 3, 3, 1, 1),
              geometry(2, 40, 48, 25, 70, 1, 1, 2, 0)})
            check(make_case(g, layout, ElementType::f32, ElementType::f32, 1, 0), ++seed);
    }
    ConvolutionGeometry deep = geometry(2, 9, 35, 13, 40, 3, 3, 1, 1);
    deep.src[0] = deep.dst[0] = 21;
    deep.window[0] = 3;
    deep.pads[0] = 1;
    check(make_case(deep, 1, ElementType::f32, ElementType::f32, 1, 0), ++seed);
}

// Windows that lie apart or have wide gaps, so that most of src is read by none.
TEST(BwdFilter, WindowsApart) {
    unsigned seed = 200;
    for (const int layout : {0, 1, 4})
        for (const Axes& strides : {Axes{1, 9, 11}, Axes{1, 1, 13}, Axes{7, 9, 1}, Axes{1, 2, 3}})
            for (const Axes& dilations : {Axes{1, 1, 1}, Axes{3, 17, 23}, Axes{1, 2, 1}}) {
                ConvolutionGeometry g;
                g.batch = 2;
                g.channels = 5;
                g.outputs = 18;
                g.window = {2, 3, 2};
                g.strides = strides;
                g.dilations = dilations;
                g.pads = {1, 20, 3};
                g.src = {9, 31, 47};
                for (std::size_t i = 0; i < 3; ++i)
                    g.dst[i] = (g.src[i] + g.pads[i] - dilations[i] * (g.window[i] - 1) - 1) / strides[i] + 1;
                check(make_case(g, layout, ElementType::f32, ElementType::f32, 1, 0), ++seed);
            }
}

TEST(BwdFilter, NoCellsGiveZeros) {
    for (const float beta : {0.0f, 2.0f}) {
        std::mt19937 generator(34);
        for (unsigned i = 0; i < 10; ++i) {
            Case t =
                make_case(random_geometry(generator, i % 2), 0, ElementType::f32, ElementType::f32, 1, beta);
            t.f.geometry.batch = 0;
            check(t, i);
        }
    }
}

}  // namespace
}  // namespace convlens::cpu

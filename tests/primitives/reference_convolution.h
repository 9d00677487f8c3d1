// Convolution in double precision by its definition, and a run of one algorithm in poisoned, guarded memory.
// Shares no index code with the library: everything is a dense array in the order N C D H W.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "convlens/plan.h"
#include "tests/primitives/guarded_buffer.h"
#include "tests/support/backend.h"

namespace convlens::test {

using Index = std::int64_t;

// Dense data in the order N C [D] [H] W, K C/groups [R..] S.
struct ConvolutionData {
    std::vector<float> src, weights, bias, residual;
};

// Value and error scale of each output: dst before rounding, and the sum of all magnitudes that entered it.
struct ConvolutionReference {
    std::vector<double> value, scale;
};

inline double reference_activation(const ActivationDesc& a, double x) {
    const auto clamp = [](double v, double low, double high) { return v < low ? low : v > high ? high : v; };
    switch (a.kind) {
        case ActivationKind::identity:
            return x;
        case ActivationKind::relu:
            return x < 0 ? 0 : x;
        case ActivationKind::clip:
            return clamp(x, a.alpha, a.beta);
        case ActivationKind::leaky_relu:
            return x < 0 ? a.alpha * x : x;
        case ActivationKind::elu:
            return x < 0 ? a.alpha * (std::exp(x) - 1) : x;
        case ActivationKind::sigmoid:
            return 1 / (1 + std::exp(-x));
        case ActivationKind::tanh:
            return std::tanh(x);
        case ActivationKind::swish:
            return x / (1 + std::exp(-double(a.alpha) * x));
        case ActivationKind::hard_sigmoid:
            return clamp(double(a.alpha) * x + a.beta, 0, 1);
        case ActivationKind::hard_swish:
            return x * clamp(x / 6 + 0.5, 0, 1);
    }
    return NAN;
}

inline ConvolutionReference reference_convolution(const ConvolutionProblem& p, const ConvolutionData& data) {
    const int spatial = p.src.rank() - 2;
    const auto dim = [&](const Dims& dims, int from_last) {
        return from_last < spatial ? dims[dims.rank() - 1 - from_last] : 1;
    };
    const auto par = [&](const Dims& dims, int from_last, Index none) {
        return from_last < spatial ? dims[spatial - 1 - from_last] : none;
    };
    const Index N = p.src.dims[0], C = p.src.dims[1], K = p.dst.dims[1], Cg = C / p.groups, Kg = K / p.groups;
    const Index D = dim(p.src.dims, 2), H = dim(p.src.dims, 1), W = dim(p.src.dims, 0);
    const Index O = dim(p.dst.dims, 2), P = dim(p.dst.dims, 1), Q = dim(p.dst.dims, 0);
    const Index T = dim(p.weights, 2), R = dim(p.weights, 1), S = dim(p.weights, 0);
    const WindowDesc& win = p.window;
    ConvolutionReference out;
    for (Index n = 0; n < N; ++n)
        for (Index k = 0; k < K; ++k)
            for (Index o = 0; o < O; ++o)
                for (Index y = 0; y < P; ++y)
                    for (Index x = 0; x < Q; ++x) {
                        double sum = 0, scale = 0;
                        for (Index c = 0; c < Cg; ++c)
                            for (Index t = 0; t < T; ++t)
                                for (Index r = 0; r < R; ++r)
                                    for (Index s = 0; s < S; ++s) {
                                        const Index d = o * par(win.strides, 2, 1) -
                                                        par(win.pads_begin, 2, 0) +
                                                        t * par(win.dilations, 2, 1);
                                        const Index h = y * par(win.strides, 1, 1) -
                                                        par(win.pads_begin, 1, 0) +
                                                        r * par(win.dilations, 1, 1);
                                        const Index w = x * par(win.strides, 0, 1) -
                                                        par(win.pads_begin, 0, 0) +
                                                        s * par(win.dilations, 0, 1);
                                        if (d < 0 || d >= D || h < 0 || h >= H || w < 0 || w >= W) continue;
                                        const bool flip = p.mode == ConvolutionMode::convolution;
                                        const Index ft = flip ? T - 1 - t : t, fr = flip ? R - 1 - r : r,
                                                    fs = flip ? S - 1 - s : s;
                                        const double a = data.src[static_cast<std::size_t>(
                                            (((n * C + k / Kg * Cg + c) * D + d) * H + h) * W + w)];
                                        const double b = data.weights[static_cast<std::size_t>(
                                            (((k * Cg + c) * T + ft) * R + fr) * S + fs)];
                                        sum += a * b;
                                        scale += std::fabs(a * b);
                                    }
                        const std::size_t at = out.value.size();
                        if (p.has_bias) {
                            sum += data.bias[static_cast<std::size_t>(k)];
                            scale += std::fabs(data.bias[static_cast<std::size_t>(k)]);
                        }
                        if (p.has_residual) {
                            sum += data.residual[at];
                            scale += std::fabs(data.residual[at]);
                        }
                        out.value.push_back(reference_activation(p.activation, sum));
                        out.scale.push_back(scale);
                    }
    return out;
}

inline ConvolutionData random_convolution_data(const ConvolutionProblem& p, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto fill = [&](std::vector<float>& v, Index count) {
        v.resize(static_cast<std::size_t>(count));
        for (float& x : v) x = uniform(generator);
    };
    ConvolutionData data;
    fill(data.src, p.src.elements());
    fill(data.weights, p.weights.product());
    if (p.has_bias) fill(data.bias, p.dst.dims[1]);
    if (p.has_residual) fill(data.residual, p.dst.elements());
    return data;
}

// Calls body(element in memory, element in the dense array) over all indices.
template <class Body>
void each_element(const TensorDesc& desc, const Body& body) {
    const Index count = desc.elements();
    for (Index dense = 0; dense < count; ++dense) {
        Index rest = dense, at = desc.offset;
        for (int axis = desc.rank() - 1; axis >= 0; --axis) {
            at += rest % desc.dims[axis] * desc.strides[axis];
            rest /= desc.dims[axis];
        }
        body(static_cast<std::size_t>(at), static_cast<std::size_t>(dense));
    }
}

// Gaps of dst hold this NaN before and must hold it after; 0xFF bytes everywhere else that is not data.
inline constexpr std::uint32_t untouched = 0xffffffffu;

// The plan's answer in dense order. Every buffer is guarded and begins one element (`shift` bytes) off its
// alignment; gaps in sources, dst and workspace are NaN before.
inline std::vector<float> run_convolution(Context& context, const ConvolutionProblem& p,
                                          const std::string& algorithm, const ConvolutionData& data,
                                          unsigned char workspace_fill = 0xFF, std::size_t shift = 4) {
    const auto plan = make_plan(context, p, {.algorithm = algorithm});
    const auto& info = plan->info();
    GuardedBuffer plain(data.weights.size() * 4, 0xFF, 4), packed(info.packed_bytes, 0xFF);
    std::copy(data.weights.begin(), data.weights.end(), plain.as<float>());
    plan->pack_weights(plain.data(), packed.data());
    GuardedBuffer src(p.src.bytes(), 0xFF, shift), bias(data.bias.size() * 4, 0xFF, 4),
        residual(p.dst.bytes(), 0xFF, shift);
    GuardedBuffer dst(p.dst.bytes(), 0xFF, shift), workspace(info.workspace_bytes, workspace_fill);
    each_element(p.src, [&](std::size_t at, std::size_t dense) { src.as<float>()[at] = data.src[dense]; });
    std::copy(data.bias.begin(), data.bias.end(), bias.as<float>());
    if (p.has_residual)
        each_element(p.dst, [&](std::size_t at, std::size_t dense) {
            residual.as<float>()[at] = data.residual[dense];
        });
    const void* sources[] = {src.data(), p.has_bias ? bias.data() : nullptr,
                             p.has_residual ? residual.data() : nullptr};
    execute(*plan, context,
            {sources, packed.data(), dst.data(), info.workspace_bytes ? workspace.data() : nullptr,
             info.workspace_bytes});
    std::vector<float> result(static_cast<std::size_t>(p.dst.elements()));
    std::vector<bool> written(p.dst.bytes() / 4);
    each_element(p.dst, [&](std::size_t at, std::size_t dense) {
        result[dense] = dst.as<float>()[at];
        written[at] = true;
    });
    for (std::size_t i = 0; i < written.size(); ++i)
        if (!written[i] && std::bit_cast<std::uint32_t>(dst.as<float>()[i]) != untouched) {
            ADD_FAILURE() << algorithm << " wrote into a gap of dst at element " << i;
            break;
        }
    EXPECT_TRUE(src.guards_intact() && bias.guards_intact() && residual.guards_intact() &&
                plain.guards_intact())
        << algorithm;
    EXPECT_TRUE(dst.guards_intact()) << algorithm << ": dst";
    EXPECT_TRUE(workspace.guards_intact()) << algorithm << ": workspace";
    EXPECT_TRUE(packed.guards_intact()) << algorithm << ": packed weights";
    return result;
}

// Largest admitted error of one output. Random signs make rounding errors grow as the root of the length.
inline double convolution_tolerance(const ConvolutionProblem& p, ErrorClass error_class, double scale) {
    const double k = static_cast<double>(p.weights.product()) / static_cast<double>(p.weights[0]);
    const double factor = error_class == ErrorClass::winograd ? 60.0 : 1.0;
    const double by_exp = p.activation.kind > ActivationKind::leaky_relu ? 1e-6 : 0;
    const double slope = 1 + std::fabs(static_cast<double>(p.activation.alpha));
    // Both operands of each product are rounded to 11 or 8 bits; f16 has a least difference of 2^-24 besides.
    const double rounding = error_class == ErrorClass::tf32 || error_class == ErrorClass::fp16 ? 0x1p-10
                            : error_class == ErrorClass::bf16                                  ? 0x1p-7
                                                                                               : 0;
    const double least = error_class == ErrorClass::fp16 ? k * 0x1p-24 : 0;
    return ((factor * 6e-8 * (3 + std::sqrt(k)) + rounding) * scale + least + by_exp) * slope + 1e-30;
}

// Of the class fft: 16 units of f32, of the largest sum of magnitudes of all outputs, since a tile's values
// are mixed.
inline double fft_tolerance(const std::vector<double>& scales) {
    return 16 * 0x1p-24 * (1 + (scales.empty() ? 0 : *std::max_element(scales.begin(), scales.end())));
}

inline void expect_matches(const ConvolutionProblem& p, ErrorClass error_class, const std::string& algorithm,
                           const ConvolutionReference& reference, const std::vector<float>& result) {
    ASSERT_EQ(reference.value.size(), result.size());
    const double mixed = fft_tolerance(reference.scale);
    for (std::size_t i = 0; i < result.size(); ++i) {
        const double error = std::fabs(result[i] - reference.value[i]);
        double bound = convolution_tolerance(p, error_class, reference.scale[i]);
        if (error_class == ErrorClass::fft)
            bound += mixed * (1 + std::fabs(static_cast<double>(p.activation.alpha)));
        if (error <= bound) continue;
        ADD_FAILURE() << algorithm << ": src " << p.src.text() << " weights " << p.weights.text() << " dst "
                      << p.dst.text() << " strides " << p.window.strides.text() << " pads "
                      << p.window.pads_begin.text() << "/" << p.window.pads_end.text() << " dilations "
                      << p.window.dilations.text() << " groups " << p.groups << ": element " << i << " is "
                      << result[i] << ", should be " << reference.value[i];
        return;
    }
}

// Every applicable algorithm against the reference. Returns how many there were.
inline int check_all_algorithms(Context& context, const ConvolutionProblem& p, unsigned seed,
                                std::size_t shift = 4) {
    const ConvolutionData data = random_convolution_data(p, seed);
    const ConvolutionReference reference = reference_convolution(p, data);
    int count = 0;
    for (const Candidate& candidate : candidates(context, p)) {
        if (!candidate.applicable) continue;
        expect_matches(p, candidate.error_class, candidate.algorithm, reference,
                       run_convolution(context, p, candidate.algorithm, data, 0xFF, shift));
        ++count;
    }
    return count;
}

enum class Layout { packed, channels_last, packed_gaps, channels_last_gaps };

// Dense, or with gaps after each channel group, row and image, and an offset.
inline TensorDesc layout_desc(const Dims& dims, Layout layout) {
    if (layout == Layout::packed) return TensorDesc::packed(dims);
    if (layout == Layout::channels_last) return TensorDesc::channels_last(dims);
    TensorDesc desc = TensorDesc::packed(dims);
    desc.offset = 3;
    Index step = 1;
    std::vector<int> order;  // innermost first
    if (layout == Layout::channels_last_gaps) order.push_back(1);
    for (int axis = dims.rank() - 1; axis >= 2; --axis) order.push_back(axis);
    if (layout == Layout::packed_gaps) order.push_back(1);
    order.push_back(0);
    Index gap = 1;
    for (const int axis : order) {
        desc.strides[axis] = step;
        step = step * dims[axis] + gap++;
    }
    return desc;
}

// Spatial arguments have one entry an axis. dst's size follows.
struct ConvolutionShape {
    Index batch, channels, outputs, groups;
    Dims src, window, strides, dilations, pads_begin, pads_end;
};

inline ConvolutionProblem make_problem(const ConvolutionShape& shape, Layout src = Layout::channels_last,
                                       Layout dst = Layout::channels_last) {
    ConvolutionProblem p;
    Dims src_dims{shape.batch, shape.channels}, dst_dims{shape.batch, shape.outputs};
    p.weights = {shape.outputs, shape.channels / shape.groups};
    for (int i = 0; i < shape.src.rank(); ++i) {
        src_dims.push_back(shape.src[i]);
        p.weights.push_back(shape.window[i]);
        dst_dims.push_back(convolution_output_size(shape.src[i], shape.window[i], shape.pads_begin[i],
                                                   shape.pads_end[i], shape.strides[i], shape.dilations[i]));
    }
    p.src = layout_desc(src_dims, src);
    p.dst = layout_desc(dst_dims, dst);
    p.window = {shape.pads_begin, shape.pads_end, shape.strides, shape.dilations};
    p.groups = shape.groups;
    return p;
}

}  // namespace convlens::test

// One or more small problems of each operation, with other values on every axis.
#pragma once

#include <vector>

#include "harness.h"

namespace convlens::test {

inline WindowDesc odd_window() { return {{1, 2}, {2, 0}, {2, 1}, {1, 2}}; }

inline Dims conv_output(const Dims& src, std::int64_t outputs, const Dims& size, const WindowDesc& w) {
    Dims out{src[0], outputs};
    for (int i = 0; i < size.rank(); ++i)
        out.push_back((src[i + 2] + w.pads_begin[i] + w.pads_end[i] - (w.dilations[i] * (size[i] - 1) + 1)) /
                          w.strides[i] +
                      1);
    return out;
}

inline std::vector<Problem> convolution_samples() {
    std::vector<Problem> list;
    const Dims x{2, 6, 11, 9};
    ConvolutionProblem forward;
    forward.src = make_desc(x, Lay::channels_last);
    forward.weights = {4, 3, 3, 2};
    forward.window = odd_window();
    forward.groups = 2;
    forward.mode = ConvolutionMode::convolution;
    forward.dst = make_desc(conv_output(x, 4, {3, 2}, forward.window), Lay::packed);
    forward.has_bias = true;
    forward.has_residual = true;
    forward.activation = {ActivationKind::clip, -0.5f, 2.0f};
    forward.alpha = 0.75f;
    list.emplace_back(forward);
    forward.has_residual = false;
    forward.mode = ConvolutionMode::cross_correlation;
    list.emplace_back(forward);

    ConvolutionBwdDataProblem data;
    data.src = forward.dst;
    data.weights = forward.weights;
    data.dst = forward.src;
    data.window = forward.window;
    data.groups = forward.groups;
    data.mode = ConvolutionMode::convolution;
    data.alpha = 1.5f;
    list.emplace_back(data);

    ConvolutionBwdFilterProblem filter;
    filter.src = forward.src;
    filter.diff = forward.dst;
    filter.dst = make_desc(forward.weights, Lay::odd);
    filter.window = forward.window;
    filter.groups = forward.groups;
    filter.mode = ConvolutionMode::convolution;
    filter.alpha = 0.5f;
    list.emplace_back(filter);

    ConvolutionBwdBiasProblem bias;
    bias.src = forward.dst;
    bias.dst = make_desc({4}, Lay::packed);
    bias.alpha = 2.0f;
    list.emplace_back(bias);

    TransposedConvolutionProblem transposed;
    transposed.src = make_desc({2, 6, 4, 5}, Lay::packed);
    transposed.weights = {6, 2, 3, 2};
    transposed.window = {{1, 0}, {0, 1}, {2, 3}, {1, 2}};
    transposed.groups = 3;
    transposed.dst = make_desc({2, 6, 8, 14}, Lay::channels_last);
    transposed.has_bias = true;
    transposed.activation = {ActivationKind::leaky_relu, 0.25f, 0};
    list.emplace_back(transposed);
    return list;
}

inline std::vector<Problem> sample_problems() {
    std::vector<Problem> list = convolution_samples();
    const Dims x{2, 6, 11, 9};
    const TensorDesc odd = make_desc(x, Lay::odd), last = make_desc(x, Lay::channels_last);

    FullyConnectedProblem connected;
    connected.src = make_desc({3, 10}, Lay::packed);
    connected.outputs = 7;
    connected.dst = make_desc({3, 7}, Lay::odd);
    connected.has_bias = true;
    connected.has_residual = true;
    connected.activation = {ActivationKind::relu};
    list.emplace_back(connected);

    PoolingProblem pool;
    pool.src = last;
    pool.kind = PoolingKind::average_exclude_pad;
    pool.size = {3, 4};
    pool.window = odd_window();
    pool.dst = make_desc(conv_output(x, 6, pool.size, pool.window), Lay::packed);
    list.emplace_back(pool);
    pool.kind = PoolingKind::max;
    list.emplace_back(pool);

    list.emplace_back(ActivationProblem{odd, last, {ActivationKind::swish, 1.5f, 0}});
    list.emplace_back(
        BatchNormalizationProblem{last, odd, 1e-3f, {ActivationKind::hard_sigmoid, 0.2f, 0.5f}});
    list.emplace_back(ElementwiseProblem{
        ElementwiseKind::sub, odd, make_desc({2, 1, 11, 1}, Lay::packed), last, {ActivationKind::relu}});
    list.emplace_back(ElementwiseProblem{ElementwiseKind::abs, odd, {}, last, {}});
    list.emplace_back(SoftmaxProblem{last, odd, 2, true});
    list.emplace_back(LrnProblem{last, last, 3, 0.5f, 0.6f, 1.25f});

    ConcatProblem concat;
    concat.srcs = {make_desc({2, 3, 2, 9}, Lay::odd), make_desc({2, 3, 5, 9}, Lay::channels_last)};
    concat.axis = 2;
    concat.dst = make_desc({2, 3, 7, 9}, Lay::packed);
    list.emplace_back(concat);

    TransformProblem transform;
    transform.src = last;
    transform.pads_begin = {0, 1, -2, 3};
    transform.pads_end = {0, 0, 1, 2};
    transform.dst = make_desc({2, 7, 10, 14}, Lay::odd);
    transform.pad_value = 0.5f;
    list.emplace_back(transform);
    transform.pads_begin = {0, 1, 2, 3};
    transform.dst = make_desc({2, 7, 14, 14}, Lay::packed);
    transform.pad_mode = PadMode::reflect;
    list.emplace_back(transform);
    return list;
}

inline const TensorDesc& destination_of(const Problem& problem) {
    return std::visit([](const auto& p) -> const TensorDesc& { return p.dst; }, problem);
}

}  // namespace convlens::test

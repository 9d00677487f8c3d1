// A problem of the C++ interface made through the C one: its struct is filled field by field, by code of the
// tests' own.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "convlens/convlens.h"
#include "convlens/convlens.hpp"

namespace convlens::test {

inline convlens_dims c_dims(const Dims& dims) {
    convlens_dims result{};
    result.rank = dims.rank();
    for (int i = 0; i < dims.rank(); ++i) result.values[i] = dims[i];
    return result;
}

inline convlens_tensor c_tensor(const TensorDesc& desc) {
    convlens_tensor result{};
    result.type = static_cast<int>(desc.type);
    result.dims = c_dims(desc.dims);
    result.strides = c_dims(desc.strides);
    result.offset = desc.offset;
    return result;
}

inline convlens_window c_window(const WindowDesc& window) {
    convlens_window result{};
    result.pads_begin = c_dims(window.pads_begin);
    result.pads_end = c_dims(window.pads_end);
    result.strides = c_dims(window.strides);
    result.dilations = c_dims(window.dilations);
    return result;
}

inline convlens_activation c_activation(const ActivationDesc& activation) {
    return {static_cast<int>(activation.kind), activation.alpha, activation.beta, 0};
}

struct CreateFromC {
    convlens_problem** made;
    // Called with each struct before it is used, in memory that is zero as far as a struct_size may say.
    std::function<void(std::byte* desc, std::size_t size)> spoil = {};

    template <class D>
    convlens_status create(const D& desc, convlens_status (*function)(const D*, convlens_problem**)) const {
        if (!spoil) return function(&desc, made);
        const auto large = std::make_unique<Large>();
        std::memcpy(large->bytes, &desc, sizeof desc);
        spoil(large->bytes, sizeof desc);
        auto& spoilt = *reinterpret_cast<D*>(large->bytes);
        if constexpr (requires { desc.srcs; }) {  // pointers to nowhere can't be refused
            spoilt.srcs = desc.srcs;
            spoilt.src_count = std::min(spoilt.src_count, desc.src_count);
        }
        return function(&spoilt, made);
    }
    struct Large {
        alignas(64) std::byte bytes[(1 << 16) + 64]{};
    };

    convlens_status operator()(const ConvolutionProblem& p) const {
        convlens_convolution_desc d = convlens_convolution_default();
        d.src = c_tensor(p.src);
        d.weights = c_dims(p.weights);
        d.dst = c_tensor(p.dst);
        d.window = c_window(p.window);
        d.groups = p.groups;
        d.mode = static_cast<int>(p.mode);
        d.has_bias = p.has_bias ? 1 : 0;
        d.has_residual = p.has_residual ? 1 : 0;
        d.alpha = p.alpha;
        d.beta = p.beta;
        d.activation = c_activation(p.activation);
        return create(d, &convlens_problem_create_convolution);
    }
    convlens_status operator()(const ConvolutionBwdDataProblem& p) const {
        convlens_convolution_bwd_data_desc d = convlens_convolution_bwd_data_default();
        d.src = c_tensor(p.src);
        d.weights = c_dims(p.weights);
        d.dst = c_tensor(p.dst);
        d.window = c_window(p.window);
        d.groups = p.groups;
        d.mode = static_cast<int>(p.mode);
        d.alpha = p.alpha;
        d.beta = p.beta;
        return create(d, &convlens_problem_create_convolution_bwd_data);
    }
    convlens_status operator()(const ConvolutionBwdFilterProblem& p) const {
        convlens_convolution_bwd_filter_desc d = convlens_convolution_bwd_filter_default();
        d.src = c_tensor(p.src);
        d.diff = c_tensor(p.diff);
        d.dst = c_tensor(p.dst);
        d.window = c_window(p.window);
        d.groups = p.groups;
        d.mode = static_cast<int>(p.mode);
        d.alpha = p.alpha;
        d.beta = p.beta;
        return create(d, &convlens_problem_create_convolution_bwd_filter);
    }
    convlens_status operator()(const ConvolutionBwdBiasProblem& p) const {
        convlens_convolution_bwd_bias_desc d = convlens_convolution_bwd_bias_default();
        d.src = c_tensor(p.src);
        d.dst = c_tensor(p.dst);
        d.alpha = p.alpha;
        d.beta = p.beta;
        return create(d, &convlens_problem_create_convolution_bwd_bias);
    }
    convlens_status operator()(const TransposedConvolutionProblem& p) const {
        convlens_transposed_convolution_desc d = convlens_transposed_convolution_default();
        d.src = c_tensor(p.src);
        d.weights = c_dims(p.weights);
        d.dst = c_tensor(p.dst);
        d.window = c_window(p.window);
        d.groups = p.groups;
        d.has_bias = p.has_bias ? 1 : 0;
        d.activation = c_activation(p.activation);
        return create(d, &convlens_problem_create_transposed_convolution);
    }
    convlens_status operator()(const FullyConnectedProblem& p) const {
        convlens_fully_connected_desc d = convlens_fully_connected_default();
        d.src = c_tensor(p.src);
        d.outputs = p.outputs;
        d.dst = c_tensor(p.dst);
        d.has_bias = p.has_bias ? 1 : 0;
        d.has_residual = p.has_residual ? 1 : 0;
        d.activation = c_activation(p.activation);
        return create(d, &convlens_problem_create_fully_connected);
    }
    convlens_status operator()(const PoolingProblem& p) const {
        convlens_pooling_desc d = convlens_pooling_default();
        d.src = c_tensor(p.src);
        d.dst = c_tensor(p.dst);
        d.size = c_dims(p.size);
        d.window = c_window(p.window);
        d.kind = static_cast<int>(p.kind);
        return create(d, &convlens_problem_create_pooling);
    }
    convlens_status operator()(const ActivationProblem& p) const {
        convlens_activation_desc d = convlens_activation_default();
        d.src = c_tensor(p.src);
        d.dst = c_tensor(p.dst);
        d.activation = c_activation(p.activation);
        return create(d, &convlens_problem_create_activation);
    }
    convlens_status operator()(const BatchNormalizationProblem& p) const {
        convlens_batch_normalization_desc d = convlens_batch_normalization_default();
        d.src = c_tensor(p.src);
        d.dst = c_tensor(p.dst);
        d.epsilon = p.epsilon;
        d.activation = c_activation(p.activation);
        return create(d, &convlens_problem_create_batch_normalization);
    }
    convlens_status operator()(const ElementwiseProblem& p) const {
        convlens_elementwise_desc d = convlens_elementwise_default();
        d.a = c_tensor(p.a);
        d.b = c_tensor(p.b);
        d.dst = c_tensor(p.dst);
        d.kind = static_cast<int>(p.kind);
        d.activation = c_activation(p.activation);
        return create(d, &convlens_problem_create_elementwise);
    }
    convlens_status operator()(const SoftmaxProblem& p) const {
        convlens_softmax_desc d = convlens_softmax_default();
        d.src = c_tensor(p.src);
        d.dst = c_tensor(p.dst);
        d.axis = p.axis;
        d.logarithm = p.logarithm ? 1 : 0;
        return create(d, &convlens_problem_create_softmax);
    }
    convlens_status operator()(const LrnProblem& p) const {
        convlens_lrn_desc d = convlens_lrn_default();
        d.src = c_tensor(p.src);
        d.dst = c_tensor(p.dst);
        d.size = p.size;
        d.alpha = p.alpha;
        d.beta = p.beta;
        d.k = p.k;
        return create(d, &convlens_problem_create_lrn);
    }
    convlens_status operator()(const ConcatProblem& p) const {
        convlens_concat_desc d = convlens_concat_default();
        std::vector<convlens_tensor> srcs;
        for (const TensorDesc& src : p.srcs) srcs.push_back(c_tensor(src));
        d.srcs = srcs.data();
        d.src_count = srcs.size();
        d.dst = c_tensor(p.dst);
        d.axis = p.axis;
        return create(d, &convlens_problem_create_concat);
    }
    convlens_status operator()(const TransformProblem& p) const {
        convlens_transform_desc d = convlens_transform_default();
        d.src = c_tensor(p.src);
        d.dst = c_tensor(p.dst);
        d.pads_begin = c_dims(p.pads_begin);
        d.pads_end = c_dims(p.pads_end);
        d.pad_mode = static_cast<int>(p.pad_mode);
        d.pad_value = p.pad_value;
        return create(d, &convlens_problem_create_transform);
    }
};

inline convlens_status create_from_c(const Problem& problem, convlens_problem** made) {
    return std::visit(CreateFromC{made}, problem);
}

}  // namespace convlens::test

// Problems of the C interface but the convolutions' gradients.
#include "primitives/c/problem.h"
#include "primitives/algorithm.h"

using namespace convlens;
using namespace convlens::c;

int64_t convlens_convolution_output_size(int64_t in, int64_t window, int64_t pad_begin, int64_t pad_end,
                                         int64_t stride, int64_t dilation) {
    return convolution_output_size(in, window, pad_begin, pad_end, stride, dilation);
}

int64_t convlens_pooling_output_size(int64_t in, int64_t window, int64_t pad_begin, int64_t pad_end,
                                     int64_t stride, int64_t dilation, int32_t ceil_mode) {
    return pooling_output_size(in, window, pad_begin, pad_end, stride, dilation, ceil_mode != 0);
}

int64_t convlens_transposed_output_size(int64_t in, int64_t window, int64_t pad_begin, int64_t pad_end,
                                        int64_t stride, int64_t dilation, int64_t output_pad) {
    return transposed_output_size(in, window, pad_begin, pad_end, stride, dilation, output_pad);
}

convlens_status convlens_problem_create_transposed_convolution(
    const convlens_transposed_convolution_desc* desc, convlens_problem** problem) {
    return create(desc, convlens_transposed_convolution_default(), problem, [](const auto& d) {
        check_reserved(d.reserved, "desc");
        TransposedConvolutionProblem p;
        p.src = to_tensor(d.src, "src");
        p.weights = to_dims(d.weights, "weights");
        p.dst = to_tensor(d.dst, "dst");
        p.window = to_window(d.window);
        p.groups = d.groups;
        p.has_bias = d.has_bias != 0;
        p.activation = to_activation(d.activation);
        return p;
    });
}

convlens_status convlens_problem_create_fully_connected(const convlens_fully_connected_desc* desc,
                                                        convlens_problem** problem) {
    return create(desc, convlens_fully_connected_default(), problem, [](const auto& d) {
        FullyConnectedProblem p;
        p.src = to_tensor(d.src, "src");
        p.outputs = d.outputs;
        p.dst = to_tensor(d.dst, "dst");
        p.has_bias = d.has_bias != 0;
        p.has_residual = d.has_residual != 0;
        p.activation = to_activation(d.activation);
        return p;
    });
}

convlens_status convlens_problem_create_pooling(const convlens_pooling_desc* desc,
                                                convlens_problem** problem) {
    return create(desc, convlens_pooling_default(), problem, [](const auto& d) {
        check_reserved(d.reserved, "desc");
        PoolingProblem p;
        p.src = to_tensor(d.src, "src");
        p.dst = to_tensor(d.dst, "dst");
        p.kind = to_enum<PoolingKind>(d.kind);
        p.size = to_dims(d.size, "size");
        p.window = to_window(d.window);
        return p;
    });
}

convlens_status convlens_problem_create_activation(const convlens_activation_desc* desc,
                                                   convlens_problem** problem) {
    return create(desc, convlens_activation_default(), problem, [](const auto& d) {
        return ActivationProblem{to_tensor(d.src, "src"), to_tensor(d.dst, "dst"),
                                 to_activation(d.activation)};
    });
}

convlens_status convlens_problem_create_batch_normalization(const convlens_batch_normalization_desc* desc,
                                                            convlens_problem** problem) {
    return create(desc, convlens_batch_normalization_default(), problem, [](const auto& d) {
        check_reserved(d.reserved, "desc");
        return BatchNormalizationProblem{to_tensor(d.src, "src"), to_tensor(d.dst, "dst"), d.epsilon,
                                         to_activation(d.activation)};
    });
}

convlens_status convlens_problem_create_elementwise(const convlens_elementwise_desc* desc,
                                                    convlens_problem** problem) {
    return create(desc, convlens_elementwise_default(), problem, [](const auto& d) {
        check_reserved(d.reserved, "desc");
        ElementwiseProblem p;
        p.kind = to_enum<ElementwiseKind>(d.kind);
        p.a = to_tensor(d.a, "a");
        p.b = to_tensor(d.b, "b");
        p.dst = to_tensor(d.dst, "dst");
        p.activation = to_activation(d.activation);
        return p;
    });
}

convlens_status convlens_problem_create_softmax(const convlens_softmax_desc* desc,
                                                convlens_problem** problem) {
    return create(desc, convlens_softmax_default(), problem, [](const auto& d) {
        return SoftmaxProblem{to_tensor(d.src, "src"), to_tensor(d.dst, "dst"), d.axis, d.logarithm != 0};
    });
}

convlens_status convlens_problem_create_lrn(const convlens_lrn_desc* desc, convlens_problem** problem) {
    return create(desc, convlens_lrn_default(), problem, [](const auto& d) {
        check_reserved(d.reserved, "desc");
        return LrnProblem{to_tensor(d.src, "src"), to_tensor(d.dst, "dst"), d.size, d.alpha, d.beta, d.k};
    });
}

convlens_status convlens_problem_create_concat(const convlens_concat_desc* desc, convlens_problem** problem) {
    return create(desc, convlens_concat_default(), problem, [](const auto& d) {
        check_reserved(d.reserved, "desc");
        if (d.src_count > 0) need(d.srcs, "srcs");
        // Each has a share of the axis, so that more would be a count that was never set.
        constexpr std::size_t most = 1 << 20;
        if (d.src_count > most)
            throw Error(Status::bad_parameter,
                        "src_count: " + std::to_string(d.src_count) + " is above " + std::to_string(most));
        ConcatProblem p;
        p.dst = to_tensor(d.dst, "dst");
        p.axis = d.axis;
        for (std::size_t i = 0; i < d.src_count; ++i)
            p.srcs.push_back(to_tensor(d.srcs[i], "srcs[" + std::to_string(i) + "]"));
        return p;
    });
}

convlens_status convlens_problem_create_transform(const convlens_transform_desc* desc,
                                                  convlens_problem** problem) {
    return create(desc, convlens_transform_default(), problem, [](const auto& d) {
        TransformProblem p;
        p.src = to_tensor(d.src, "src");
        p.dst = to_tensor(d.dst, "dst");
        p.pads_begin = to_dims(d.pads_begin, "pads_begin");
        p.pads_end = to_dims(d.pads_end, "pads_end");
        p.pad_mode = to_enum<PadMode>(d.pad_mode);
        p.pad_value = d.pad_value;
        return p;
    });
}

convlens_status convlens_problem_destroy(convlens_problem* problem) { return destroy(problem); }

const char* convlens_problem_operation(const convlens_problem* problem) {
    const char* name = nullptr;
    guarded([&] { name = operation_name(object(problem)); });
    return name;
}

convlens_status convlens_problem_source_count(const convlens_problem* problem, size_t* count) {
    return guarded([&] {
        const Problem& asked = object(problem);
        need(count, "count");
        *count = source_count(asked);
    });
}

convlens_status convlens_problem_source(const convlens_problem* problem, size_t index,
                                        convlens_tensor* source, int32_t* absent) {
    return guarded([&] {
        const Problem& asked = object(problem);
        need(absent, "absent");
        if (index >= source_count(asked))
            throw Error(Status::bad_parameter, "index: " + std::to_string(index) + " is not below the " +
                                                   std::to_string(source_count(asked)) + " sources of " +
                                                   operation_name(asked));
        const auto desc = source_desc(asked, index);
        if (desc) {
            need(source, "source");
            *source = from_tensor(*desc);
        }
        *absent = desc ? 0 : 1;
    });
}

// The convolutions of the C interface: forward and the three gradients.
#include "primitives/c/problem.h"

using namespace convlens;
using namespace convlens::c;

convlens_status convlens_problem_create_convolution(const convlens_convolution_desc* desc,
                                                    convlens_problem** problem) {
    return create(desc, convlens_convolution_default(), problem, [](const auto& d) {
        check_reserved(d.reserved, "desc");
        ConvolutionProblem p;
        p.src = to_tensor(d.src, "src");
        p.weights = to_dims(d.weights, "weights");
        p.dst = to_tensor(d.dst, "dst");
        p.window = to_window(d.window);
        p.groups = d.groups;
        p.mode = to_enum<ConvolutionMode>(d.mode);
        p.has_bias = d.has_bias != 0;
        p.has_residual = d.has_residual != 0;
        p.activation = to_activation(d.activation);
        p.alpha = d.alpha;
        p.beta = d.beta;
        return p;
    });
}

convlens_status convlens_problem_create_convolution_bwd_data(const convlens_convolution_bwd_data_desc* desc,
                                                             convlens_problem** problem) {
    return create(desc, convlens_convolution_bwd_data_default(), problem, [](const auto& d) {
        check_reserved(d.reserved, "desc");
        ConvolutionBwdDataProblem p;
        p.src = to_tensor(d.src, "src");
        p.weights = to_dims(d.weights, "weights");
        p.dst = to_tensor(d.dst, "dst");
        p.window = to_window(d.window);
        p.groups = d.groups;
        p.mode = to_enum<ConvolutionMode>(d.mode);
        p.alpha = d.alpha;
        p.beta = d.beta;
        return p;
    });
}

convlens_status convlens_problem_create_convolution_bwd_filter(
    const convlens_convolution_bwd_filter_desc* desc, convlens_problem** problem) {
    return create(desc, convlens_convolution_bwd_filter_default(), problem, [](const auto& d) {
        check_reserved(d.reserved, "desc");
        ConvolutionBwdFilterProblem p;
        p.src = to_tensor(d.src, "src");
        p.diff = to_tensor(d.diff, "diff");
        p.dst = to_tensor(d.dst, "dst");
        p.window = to_window(d.window);
        p.groups = d.groups;
        p.mode = to_enum<ConvolutionMode>(d.mode);
        p.alpha = d.alpha;
        p.beta = d.beta;
        return p;
    });
}

convlens_status convlens_problem_create_convolution_bwd_bias(const convlens_convolution_bwd_bias_desc* desc,
                                                             convlens_problem** problem) {
    return create(desc, convlens_convolution_bwd_bias_default(), problem, [](const auto& d) {
        ConvolutionBwdBiasProblem p;
        p.src = to_tensor(d.src, "src");
        p.dst = to_tensor(d.dst, "dst");
        p.alpha = d.alpha;
        p.beta = d.beta;
        return p;
    });
}

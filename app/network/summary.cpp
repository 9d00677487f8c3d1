// Category and summary of a layer, as the window shows them.
#include <cstdio>

#include "app/network/program.h"

namespace convlens::network {

namespace {

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
}

std::string times(const Dims& dims, int from = 0) {
    std::string text;
    for (int i = from; i < dims.rank(); ++i) text += (i > from ? "×" : "") + std::to_string(dims[i]);
    return text;
}

bool all(const Dims& dims, std::int64_t value) {
    for (const std::int64_t dim : dims)
        if (dim != value) return false;
    return true;
}

// "2", or "2×1" where the axes differ.
std::string short_list(const Dims& dims) {
    return all(dims, dims[0]) ? std::to_string(dims[0]) : times(dims);
}

std::string window_text(const Dims& size, const WindowDesc& window) {
    std::string text = times(size);
    if (!all(window.strides, 1)) text += ", stride " + short_list(window.strides);
    if (!all(window.dilations, 1)) text += ", dilation " + short_list(window.dilations);
    return text;
}

std::string activation_text(const ActivationDesc& a) {
    switch (a.kind) {
        case ActivationKind::identity:
            return "";
        case ActivationKind::clip:
            return "clip " + number(static_cast<double>(a.alpha)) + " to " +
                   number(static_cast<double>(a.beta));
        case ActivationKind::leaky_relu:
            return "leaky ReLU " + number(static_cast<double>(a.alpha));
        case ActivationKind::relu:
            return "ReLU";
        case ActivationKind::elu:
            return "ELU " + number(static_cast<double>(a.alpha));
        case ActivationKind::hard_sigmoid:
            return "hard sigmoid";
        case ActivationKind::hard_swish:
            return "hard swish";
        default:
            return to_string(a.kind);
    }
}

void append(std::string& text, const std::string& part) {
    if (part.empty()) return;
    text += (text.empty() ? "" : ", ") + part;
}

}  // namespace

std::string category_of(const Problem& problem) {
    struct Visitor {
        std::string operator()(const ConvolutionProblem& p) const {
            return p.groups > 1 && p.groups == p.src.dims[1] ? "depthwise" : "convolution";
        }
        std::string operator()(const TransposedConvolutionProblem&) const { return "convolution"; }
        std::string operator()(const ConvolutionBwdDataProblem&) const { return "convolution"; }
        std::string operator()(const ConvolutionBwdFilterProblem&) const { return "convolution"; }
        std::string operator()(const ConvolutionBwdBiasProblem&) const { return "convolution"; }
        std::string operator()(const FullyConnectedProblem&) const { return "fully_connected"; }
        std::string operator()(const PoolingProblem&) const { return "pooling"; }
        std::string operator()(const ActivationProblem&) const { return "activation"; }
        std::string operator()(const BatchNormalizationProblem&) const { return "normalisation"; }
        std::string operator()(const ElementwiseProblem& p) const {
            return p.kind == ElementwiseKind::prelu ? "activation" : "elementwise";
        }
        std::string operator()(const SoftmaxProblem&) const { return "softmax"; }
        std::string operator()(const LrnProblem&) const { return "normalisation"; }
        std::string operator()(const ConcatProblem&) const { return "concat"; }
        std::string operator()(const TransformProblem&) const { return "transform"; }
    };
    return std::visit(Visitor{}, problem);
}

std::string summary_of(const Operation& operation) {
    struct Visitor {
        std::string operator()(const ConvolutionProblem& p) const {
            Dims size;
            for (int i = 2; i < p.weights.rank(); ++i) size.push_back(p.weights[i]);
            std::string text = window_text(size, p.window);
            if (p.groups > 1) append(text, std::to_string(p.groups) + " groups");
            if (p.has_residual) append(text, "+ residual");
            append(text, activation_text(p.activation));
            return text;
        }
        std::string operator()(const TransposedConvolutionProblem& p) const {
            Dims size;
            for (int i = 2; i < p.weights.rank(); ++i) size.push_back(p.weights[i]);
            std::string text = window_text(size, p.window) + ", transposed";
            if (p.groups > 1) append(text, std::to_string(p.groups) + " groups");
            append(text, activation_text(p.activation));
            return text;
        }
        std::string operator()(const ConvolutionBwdDataProblem& p) const {
            Dims size;
            for (int i = 2; i < p.weights.rank(); ++i) size.push_back(p.weights[i]);
            return window_text(size, p.window) + ", data gradient";
        }
        std::string operator()(const ConvolutionBwdFilterProblem& p) const {
            Dims size;
            for (int i = 2; i < p.dst.rank(); ++i) size.push_back(p.dst.dims[i]);
            return window_text(size, p.window) + ", filter gradient";
        }
        std::string operator()(const ConvolutionBwdBiasProblem&) const { return "bias gradient"; }
        std::string operator()(const FullyConnectedProblem& p) const {
            std::string text = std::to_string(p.src.dims[1]) + " to " + std::to_string(p.outputs);
            if (p.has_residual) append(text, "+ residual");
            append(text, activation_text(p.activation));
            return text;
        }
        std::string operator()(const PoolingProblem& p) const {
            const std::string kind = p.kind == PoolingKind::max ? "max" : "average";
            Dims whole;
            for (int i = 2; i < p.src.rank(); ++i) whole.push_back(p.src.dims[i]);
            if (p.size == whole && all(p.window.pads_begin, 0) && all(p.window.pads_end, 0))
                return "global " + kind;
            return kind + ' ' + window_text(p.size, p.window);
        }
        std::string operator()(const ActivationProblem& p) const { return activation_text(p.activation); }
        std::string operator()(const BatchNormalizationProblem& p) const {
            std::string text = std::to_string(p.src.dims[1]) + " channels";
            append(text, activation_text(p.activation));
            return text;
        }
        std::string operator()(const ElementwiseProblem& p) const {
            std::string text = p.kind == ElementwiseKind::prelu ? "PReLU" : to_string(p.kind);
            append(text, activation_text(p.activation));
            return text;
        }
        std::string operator()(const SoftmaxProblem& p) const {
            return std::string(p.logarithm ? "logarithm, " : "") + "axis " + std::to_string(p.axis);
        }
        std::string operator()(const LrnProblem& p) const {
            return "over " + std::to_string(p.size) + " channels";
        }
        std::string operator()(const ConcatProblem& p) const {
            return std::to_string(p.srcs.size()) + " parts, axis " + std::to_string(p.axis);
        }
        std::string operator()(const TransformProblem& p) const {
            if (!p.pads_begin.empty())
                return std::string("pad, ") + (p.pad_mode == PadMode::constant ? "constant"
                                               : p.pad_mode == PadMode::edge   ? "edge"
                                                                               : "reflect");
            if (p.src.dims == p.dst.dims && p.dst.is_packed() && !p.src.is_packed()) return "to packed order";
            if (p.src.dims == p.dst.dims && p.dst.is_channels_last() && !p.src.is_channels_last())
                return "to channels-last";
            return "copy";
        }
    };
    return std::visit(Visitor{}, operation.problem);
}

}  // namespace convlens::network

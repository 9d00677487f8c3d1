// Names, sizes and work of the problems. The checks are in problem_check.cpp.
#include "convlens/problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "primitives/algorithm.h"

namespace convlens {
namespace {

// Wide enough for any sum and product of two 63-bit arguments.
__extension__ typedef __int128 Wide;

Wide dilated_length(std::int64_t window, std::int64_t dilation) { return Wide(dilation) * (window - 1) + 1; }

Wide floor_div(Wide a, Wide b) { return a / b - ((a % b != 0 && a < 0) ? 1 : 0); }

std::int64_t narrow(Wide value) {
    if (value <= 0) return 0;
    constexpr Wide most = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::min(value, most));
}

double product(const Dims& dims, int from = 0) {
    double result = 1;
    for (int i = from; i < dims.rank(); ++i) result *= static_cast<double>(dims[i]);
    return result;
}

// Bytes of the distinct elements of a tensor: broadcast axes count once.
double traffic(const TensorDesc& desc) {
    double elements = 1;
    for (int i = 0; i < desc.rank(); ++i)
        if (desc.dims[i] == 0 || (i < desc.strides.rank() && desc.strides[i] != 0))
            elements *= static_cast<double>(desc.dims[i]);
    return elements * static_cast<double>(size_of(desc.type));
}

// Operations of an activation on one element, as the direct formula counts them.
double activation_flops(const ActivationDesc& activation) {
    switch (activation.kind) {
        case ActivationKind::identity:
            return 0;
        case ActivationKind::relu:
        case ActivationKind::leaky_relu:
            return 1;
        case ActivationKind::clip:
            return 2;
        case ActivationKind::elu:
        case ActivationKind::hard_sigmoid:
        case ActivationKind::hard_swish:
        case ActivationKind::sigmoid:
        case ActivationKind::tanh:
        case ActivationKind::swish:
            return 4;
    }
    return 0;
}

struct WorkOf {
    Work operator()(const ConvolutionProblem& p) const {
        return {2.0 * product(p.dst.dims) * product(p.weights, 1), 0,
                traffic(p.src) + weights(p.weights, p.src.type) +
                    traffic(p.dst) * (p.has_residual || p.beta != 0 ? 2 : 1)};
    }
    Work operator()(const ConvolutionBwdDataProblem& p) const {
        return {2.0 * product(p.src.dims) * product(p.weights, 1), 0,
                traffic(p.src) + weights(p.weights, p.src.type) + traffic(p.dst) * (p.beta != 0 ? 2 : 1)};
    }
    Work operator()(const ConvolutionBwdFilterProblem& p) const {
        return {2.0 * product(p.diff.dims) * product(p.dst.dims, 1), 0,
                traffic(p.src) + traffic(p.diff) + traffic(p.dst) * (p.beta != 0 ? 2 : 1)};
    }
    Work operator()(const ConvolutionBwdBiasProblem& p) const {
        return {product(p.src.dims), 0, traffic(p.src) + traffic(p.dst)};
    }
    Work operator()(const TransposedConvolutionProblem& p) const {
        return {2.0 * product(p.src.dims) * product(p.weights, 1), 0,
                traffic(p.src) + weights(p.weights, p.src.type) + traffic(p.dst)};
    }
    Work operator()(const FullyConnectedProblem& p) const {
        const double k = p.src.rank() == 2 ? static_cast<double>(p.src.dims[1]) : 0.0;
        return {2.0 * product(p.dst.dims) * k, 0,
                traffic(p.src) +
                    k * static_cast<double>(p.outputs) * static_cast<double>(size_of(p.src.type)) +
                    traffic(p.dst) * (p.has_residual ? 2 : 1)};
    }
    Work operator()(const PoolingProblem& p) const {
        return {product(p.dst.dims) * product(p.size), 0, traffic(p.src) + traffic(p.dst)};
    }
    Work operator()(const ActivationProblem& p) const {
        return {product(p.dst.dims) * activation_flops(p.activation), 0, traffic(p.src) + traffic(p.dst)};
    }
    Work operator()(const BatchNormalizationProblem& p) const {
        return {product(p.dst.dims) * (3 + activation_flops(p.activation)), 0,
                traffic(p.src) + traffic(p.dst)};
    }
    Work operator()(const ElementwiseProblem& p) const {
        return {product(p.dst.dims) * (1 + activation_flops(p.activation)), 0,
                traffic(p.a) + (is_unary(p.kind) ? 0.0 : traffic(p.b)) + traffic(p.dst)};
    }
    Work operator()(const SoftmaxProblem& p) const {
        return {product(p.dst.dims) * 5, 0, traffic(p.src) + traffic(p.dst)};
    }
    Work operator()(const LrnProblem& p) const {
        return {product(p.dst.dims) * (2.0 * static_cast<double>(p.size) + 4), 0,
                traffic(p.src) + traffic(p.dst)};
    }
    Work operator()(const ConcatProblem& p) const {
        double bytes = traffic(p.dst);
        for (const auto& src : p.srcs) bytes += traffic(src);
        return {0, 0, bytes};
    }
    Work operator()(const TransformProblem& p) const { return {0, 0, traffic(p.src) + traffic(p.dst)}; }

  private:
    static double weights(const Dims& dims, DataType type) {
        return product(dims) * static_cast<double>(size_of(type));
    }
};

struct SourceDesc {
    std::size_t index;
    TensorDesc operator()(const ConvolutionProblem& p) const { return common(p); }
    TensorDesc operator()(const ConvolutionBwdDataProblem& p) const { return p.src; }
    TensorDesc operator()(const ConvolutionBwdFilterProblem& p) const { return index == 0 ? p.src : p.diff; }
    TensorDesc operator()(const ConvolutionBwdBiasProblem& p) const { return p.src; }
    TensorDesc operator()(const TransposedConvolutionProblem& p) const {
        return index == 0 ? p.src : TensorDesc::packed({p.dst.dims[1]}, p.src.type);
    }
    TensorDesc operator()(const FullyConnectedProblem& p) const { return common(p); }
    TensorDesc operator()(const BatchNormalizationProblem& p) const {
        return index == 0 ? p.src : TensorDesc::packed({p.src.dims[1]}, DataType::f32);
    }
    TensorDesc operator()(const ElementwiseProblem& p) const { return index == 0 ? p.a : p.b; }
    TensorDesc operator()(const ConcatProblem& p) const { return p.srcs[index]; }
    TensorDesc operator()(const PoolingProblem& p) const { return p.src; }
    TensorDesc operator()(const ActivationProblem& p) const { return p.src; }
    TensorDesc operator()(const SoftmaxProblem& p) const { return p.src; }
    TensorDesc operator()(const LrnProblem& p) const { return p.src; }
    TensorDesc operator()(const TransformProblem& p) const { return p.src; }

  private:
    template <class P>
    TensorDesc common(const P& p) const {
        if (index == 0) return p.src;
        return index == 1 ? TensorDesc::packed({p.dst.dims[1]}, p.src.type) : p.dst;
    }
};

}  // namespace

const char* to_string(ActivationKind kind) noexcept {
    switch (kind) {
        case ActivationKind::identity:
            return "identity";
        case ActivationKind::relu:
            return "relu";
        case ActivationKind::clip:
            return "clip";
        case ActivationKind::leaky_relu:
            return "leaky_relu";
        case ActivationKind::elu:
            return "elu";
        case ActivationKind::sigmoid:
            return "sigmoid";
        case ActivationKind::tanh:
            return "tanh";
        case ActivationKind::swish:
            return "swish";
        case ActivationKind::hard_sigmoid:
            return "hard_sigmoid";
        case ActivationKind::hard_swish:
            return "hard_swish";
    }
    return "unknown";
}

const char* to_string(PoolingKind kind) noexcept {
    switch (kind) {
        case PoolingKind::max:
            return "max";
        case PoolingKind::average_include_pad:
            return "average_include_pad";
        case PoolingKind::average_exclude_pad:
            return "average_exclude_pad";
    }
    return "unknown";
}

bool is_unary(ElementwiseKind kind) noexcept { return kind >= ElementwiseKind::abs; }

const char* to_string(ElementwiseKind kind) noexcept {
    static constexpr const char* names[] = {
        "add", "sub",  "mul",        "div",   "pow",  "min",   "max",  "prelu", "abs",      "neg", "exp",
        "log", "sqrt", "reciprocal", "floor", "ceil", "round", "sign", "erf",   "softplus", "sin", "cos"};
    static_assert(std::size(names) == static_cast<std::size_t>(ElementwiseKind::cos) + 1);
    const auto index = static_cast<std::size_t>(kind);
    return index < std::size(names) ? names[index] : "unknown";
}

WindowDesc WindowDesc::unit(int spatial_rank) {
    return {Dims::filled(spatial_rank, 0), Dims::filled(spatial_rank, 0), Dims::filled(spatial_rank, 1),
            Dims::filled(spatial_rank, 1)};
}

std::int64_t convolution_output_size(std::int64_t in, std::int64_t window, std::int64_t pad_begin,
                                     std::int64_t pad_end, std::int64_t stride, std::int64_t dilation) {
    if (stride < 1 || dilation < 1 || window < 1) return 0;
    const Wide room = Wide(in) + pad_begin + pad_end - dilated_length(window, dilation);
    return room < 0 ? 0 : narrow(room / stride + 1);
}

std::int64_t pooling_output_size(std::int64_t in, std::int64_t window, std::int64_t pad_begin,
                                 std::int64_t pad_end, std::int64_t stride, std::int64_t dilation,
                                 bool ceil_mode) {
    if (!ceil_mode) return convolution_output_size(in, window, pad_begin, pad_end, stride, dilation);
    if (stride < 1 || dilation < 1 || window < 1) return 0;
    const Wide room = Wide(in) + pad_begin + pad_end - dilated_length(window, dilation);
    Wide out = -floor_div(-room, stride) + 1;
    if (out > 0 && (out - 1) * stride >= Wide(in) + pad_begin) --out;
    return narrow(out);
}

std::int64_t transposed_output_size(std::int64_t in, std::int64_t window, std::int64_t pad_begin,
                                    std::int64_t pad_end, std::int64_t stride, std::int64_t dilation,
                                    std::int64_t output_pad) {
    if (in < 1 || stride < 1 || dilation < 1 || window < 1) return 0;
    return narrow(Wide(stride) * (in - 1) + dilated_length(window, dilation) - pad_begin - pad_end +
                  output_pad);
}

const char* operation_name(const Problem& problem) noexcept {
    static constexpr const char* names[] = {"convolution",
                                            "transposed_convolution",
                                            "fully_connected",
                                            "pooling",
                                            "activation",
                                            "batch_normalization",
                                            "elementwise",
                                            "softmax",
                                            "lrn",
                                            "concat",
                                            "transform",
                                            "convolution_bwd_data",
                                            "convolution_bwd_filter",
                                            "convolution_bwd_bias"};
    static_assert(std::size(names) == std::variant_size_v<Problem>);
    return problem.valueless_by_exception() ? "nothing" : names[problem.index()];
}

Work direct_work(const Problem& problem) {
    Work work = std::visit(WorkOf{}, problem);
    work.executed_flops = work.flops;
    return work;
}

std::size_t weights_bytes(const Problem& problem) {
    if (const auto* p = std::get_if<ConvolutionProblem>(&problem))
        return static_cast<std::size_t>(p->weights.product()) * size_of(p->src.type);
    if (const auto* p = std::get_if<ConvolutionBwdDataProblem>(&problem))
        return static_cast<std::size_t>(p->weights.product()) * size_of(p->src.type);
    if (const auto* p = std::get_if<TransposedConvolutionProblem>(&problem))
        return static_cast<std::size_t>(p->weights.product()) * size_of(p->src.type);
    if (const auto* p = std::get_if<FullyConnectedProblem>(&problem))
        return static_cast<std::size_t>(Dims{p->outputs, p->src.dims[1]}.product()) * size_of(p->src.type);
    return 0;
}

std::size_t source_count(const Problem& problem) {
    struct Count {
        std::size_t operator()(const ConvolutionProblem&) const { return 3; }
        std::size_t operator()(const ConvolutionBwdDataProblem&) const { return 1; }
        std::size_t operator()(const ConvolutionBwdFilterProblem&) const { return 2; }
        std::size_t operator()(const ConvolutionBwdBiasProblem&) const { return 1; }
        std::size_t operator()(const TransposedConvolutionProblem&) const { return 2; }
        std::size_t operator()(const FullyConnectedProblem&) const { return 3; }
        std::size_t operator()(const PoolingProblem&) const { return 1; }
        std::size_t operator()(const ActivationProblem&) const { return 1; }
        std::size_t operator()(const BatchNormalizationProblem&) const { return 5; }
        std::size_t operator()(const ElementwiseProblem&) const { return 2; }
        std::size_t operator()(const SoftmaxProblem&) const { return 1; }
        std::size_t operator()(const LrnProblem&) const { return 1; }
        std::size_t operator()(const ConcatProblem& p) const { return p.srcs.size(); }
        std::size_t operator()(const TransformProblem&) const { return 1; }
    };
    return std::visit(Count{}, problem);
}

std::optional<TensorDesc> source_desc(const Problem& problem, std::size_t index) {
    if (index >= source_count(problem) || source_is_absent(problem, index)) return std::nullopt;
    return std::visit(SourceDesc{index}, problem);
}

bool source_is_absent(const Problem& problem, std::size_t index) {
    if (const auto* p = std::get_if<ConvolutionProblem>(&problem))
        return (index == 1 && !p->has_bias) || (index == 2 && !p->has_residual);
    if (const auto* p = std::get_if<TransposedConvolutionProblem>(&problem))
        return index == 1 && !p->has_bias;
    if (const auto* p = std::get_if<FullyConnectedProblem>(&problem))
        return (index == 1 && !p->has_bias) || (index == 2 && !p->has_residual);
    if (const auto* p = std::get_if<ElementwiseProblem>(&problem)) return index == 1 && is_unary(p->kind);
    return false;
}

}  // namespace convlens

// What a well-formed problem is. Every message names the argument and its value.
#include <algorithm>
#include <cmath>
#include <string>

#include "convlens/error.h"
#include "convlens/problem.h"

namespace convlens {
namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(Status::bad_parameter, text); }

// Longest window, pad, stride, dilation and padded axis: keeps all index arithmetic far from 63 bits.
constexpr std::int64_t longest = std::int64_t{1} << 31;

void check_type(DataType type, const char* name) {
    if (size_of(type) == 0)
        refuse(std::string(name) + ": type " + std::to_string(static_cast<int>(type)) + " does not exist");
}

void check_tensors(const TensorDesc& src, const TensorDesc& dst) {
    check_type(src.type, "src");
    check_type(dst.type, "dst");
    check_tensor(src, "src", false);
    check_tensor(dst, "dst", true);
}

void check_same_type(const TensorDesc& src, const TensorDesc& dst, const char* name = "src") {
    if (src.type != dst.type)
        refuse(std::string("dst: type ") + to_string(dst.type) + " differs from " + name + "'s " +
               to_string(src.type));
}

void check_same_dims(const TensorDesc& src, const TensorDesc& dst) {
    if (src.dims != dst.dims) refuse("dst: dims " + dst.dims.text() + " must equal src's " + src.dims.text());
}

void check_activation(const ActivationDesc& activation) {
    if (activation.kind > ActivationKind::hard_swish)
        refuse("activation: kind " + std::to_string(static_cast<int>(activation.kind)) + " does not exist");
    if (std::isnan(activation.alpha)) refuse("activation: alpha is not a number");
    if (std::isnan(activation.beta)) refuse("activation: beta is not a number");
}

void check_values(const Dims& values, int rank, std::int64_t least, const char* name) {
    if (values.rank() != rank)
        refuse(std::string(name) + ": " + std::to_string(values.rank()) + " values for " +
               std::to_string(rank) + " spatial axes");
    for (int i = 0; i < rank; ++i)
        if (values[i] < least || values[i] > longest)
            refuse(std::string(name) + ": value " + std::to_string(values[i]) + " of spatial axis " +
                   std::to_string(i) + " is not in " + std::to_string(least) + " to " +
                   std::to_string(longest));
}

// What the arguments of a problem call the input, the output and the window of the forward operation.
struct Roles {
    std::string input = "src", output = "dst", window = "weights";
};

void check_spatial_rank(const TensorDesc& desc, const std::string& name) {
    if (desc.rank() < 3 || desc.rank() > 5)
        refuse(name + ": rank " + std::to_string(desc.rank()) +
               "; N C and one to three spatial axes are needed");
}

// Spatial axes 1 to 3, lengths at least 1, geometry in range. Returns the number of spatial axes.
int check_window(const TensorDesc& src, const TensorDesc& dst, const Dims& size, const WindowDesc& window,
                 const Roles& roles) {
    check_spatial_rank(src, roles.input);
    if (dst.rank() != src.rank())
        refuse(roles.output + ": rank " + std::to_string(dst.rank()) + " must equal " + roles.input + "'s " +
               std::to_string(src.rank()));
    const int spatial = src.rank() - 2;
    check_values(size, spatial, 1, roles.window.c_str());
    check_values(window.pads_begin, spatial, 0, "pads_begin");
    check_values(window.pads_end, spatial, 0, "pads_end");
    check_values(window.strides, spatial, 1, "strides");
    check_values(window.dilations, spatial, 1, "dilations");
    for (int i = 0; i < spatial; ++i)
        if (src.dims[i + 2] < 1 || src.dims[i + 2] > longest)
            refuse(roles.input + ": length " + std::to_string(src.dims[i + 2]) + " of spatial axis " +
                   std::to_string(i) + " is not in 1 to " + std::to_string(longest));
    if (dst.dims[0] != src.dims[0])
        refuse(roles.output + ": batch " + std::to_string(dst.dims[0]) + " must equal " + roles.input +
               "'s " + std::to_string(src.dims[0]));
    return spatial;
}

void check_output_size(const TensorDesc& dst, int axis, std::int64_t expected,
                       const std::string& name = "dst") {
    if (expected < 1)
        refuse("window: spatial axis " + std::to_string(axis) +
               " leaves no output; the window is larger than the padded input");
    if (dst.dims[axis + 2] != expected)
        refuse(name + ": length " + std::to_string(dst.dims[axis + 2]) + " of spatial axis " +
               std::to_string(axis) + " must be " + std::to_string(expected));
}

Dims spatial_part(const Dims& weights) {
    Dims size;
    for (int i = 2; i < weights.rank(); ++i) size.push_back(weights[i]);
    return size;
}

void check_size(const Dims& dims, DataType type, const char* name) {
    try {
        (void)TensorDesc::packed(dims, type).bytes();
    } catch (const Error& error) {
        refuse(std::string(name) + ": " + error.what());
    }
}

void check_filter(const TensorDesc& src, const Dims& weights, std::int64_t groups, const Roles& roles = {}) {
    if (weights.rank() != src.rank())
        refuse(roles.window + ": rank " + std::to_string(weights.rank()) + " must equal " + roles.input +
               "'s " + std::to_string(src.rank()));
    for (int i = 0; i < weights.rank(); ++i)
        if (weights[i] < 1)
            refuse(roles.window + ": dim " + std::to_string(i) + " is " + std::to_string(weights[i]) +
                   "; it must be at least 1");
    check_size(weights, src.type, roles.window.c_str());
    if (groups < 1) refuse("groups: " + std::to_string(groups) + " is below 1");
    if (src.dims[1] < 1)
        refuse(roles.input + ": " + std::to_string(src.dims[1]) + " channels; at least 1 is needed");
    if (src.dims[1] % groups != 0)
        refuse("groups: " + std::to_string(groups) + " does not divide the " + std::to_string(src.dims[1]) +
               " channels of " + roles.input);
}

// The shapes of a convolution in any direction: src, dst and filter are the forward operation's.
void check_convolution(const TensorDesc& src, const Dims& weights, const TensorDesc& dst,
                       const WindowDesc& window, std::int64_t groups, ConvolutionMode mode,
                       const Roles& roles) {
    if (weights.rank() < 2) refuse(roles.window + ": rank " + std::to_string(weights.rank()) + " is below 3");
    const Dims size = spatial_part(weights);
    const int spatial = check_window(src, dst, size, window, roles);
    check_filter(src, weights, groups, roles);
    if (weights[1] != src.dims[1] / groups)
        refuse(roles.window + ": " + std::to_string(weights[1]) + " channels a group must be " +
               std::to_string(src.dims[1] / groups) + " (" + roles.input + "'s channels / groups)");
    if (weights[0] % groups != 0)
        refuse("groups: " + std::to_string(groups) + " does not divide the " + std::to_string(weights[0]) +
               " filters");
    if (dst.dims[1] != weights[0])
        refuse(roles.output + ": " + std::to_string(dst.dims[1]) + " channels must be " +
               std::to_string(weights[0]) + ", the number of filters");
    if (mode > ConvolutionMode::convolution)
        refuse("mode: " + std::to_string(static_cast<int>(mode)) + " does not exist");
    for (int i = 0; i < spatial; ++i)
        check_output_size(dst, i,
                          convolution_output_size(src.dims[i + 2], size[i], window.pads_begin[i],
                                                  window.pads_end[i], window.strides[i], window.dilations[i]),
                          roles.output);
}

void check_scales(float alpha, float beta) {
    if (std::isnan(alpha)) refuse("alpha: it is not a number");
    if (std::isnan(beta)) refuse("beta: it is not a number");
}

// A gradient of parameters has the type of the data, or f32.
void check_gradient_type(const TensorDesc& src, const TensorDesc& dst) {
    const bool narrow = src.type == DataType::f16 || src.type == DataType::bf16;
    if (!(narrow && dst.type == DataType::f32)) check_same_type(src, dst);
}

void check_one(const ConvolutionProblem& p) {
    check_tensors(p.src, p.dst);
    check_same_type(p.src, p.dst);
    check_convolution(p.src, p.weights, p.dst, p.window, p.groups, p.mode, {});
    check_activation(p.activation);
    check_scales(p.alpha, p.beta);
    if (p.has_residual && p.beta != 0) refuse("beta: it must be 0 where there is a residual");
}

void check_one(const ConvolutionBwdDataProblem& p) {
    check_tensors(p.src, p.dst);
    check_same_type(p.src, p.dst);
    check_convolution(p.dst, p.weights, p.src, p.window, p.groups, p.mode, {"dst", "src", "weights"});
    check_scales(p.alpha, p.beta);
}

void check_one(const ConvolutionBwdFilterProblem& p) {
    check_tensors(p.src, p.dst);
    check_type(p.diff.type, "diff");
    check_tensor(p.diff, "diff", false);
    if (p.diff.type != p.src.type)
        refuse(std::string("diff: type ") + to_string(p.diff.type) + " differs from src's " +
               to_string(p.src.type));
    check_gradient_type(p.src, p.dst);
    check_convolution(p.src, p.dst.dims, p.diff, p.window, p.groups, p.mode, {"src", "diff", "dst"});
    check_scales(p.alpha, p.beta);
}

void check_one(const ConvolutionBwdBiasProblem& p) {
    check_tensors(p.src, p.dst);
    check_gradient_type(p.src, p.dst);
    check_spatial_rank(p.src, "src");
    if (p.dst.rank() != 1 || p.dst.dims[0] != p.src.dims[1])
        refuse("dst: dims " + p.dst.dims.text() + " must be " + std::to_string(p.src.dims[1]) +
               ", the channels of src");
    check_scales(p.alpha, p.beta);
}

void check_one(const TransposedConvolutionProblem& p) {
    check_tensors(p.src, p.dst);
    check_same_type(p.src, p.dst);
    if (p.weights.rank() < 2) refuse("weights: rank " + std::to_string(p.weights.rank()) + " is below 3");
    const Dims size = spatial_part(p.weights);
    const int spatial = check_window(p.src, p.dst, size, p.window, Roles{});
    check_filter(p.src, p.weights, p.groups);
    if (p.weights[0] != p.src.dims[1])
        refuse("weights: dim 0 is " + std::to_string(p.weights[0]) + "; it must be src's " +
               std::to_string(p.src.dims[1]) + " channels");
    std::int64_t outputs = 0;
    if (__builtin_mul_overflow(p.weights[1], p.groups, &outputs) || p.dst.dims[1] != outputs)
        refuse("dst: " + std::to_string(p.dst.dims[1]) + " channels must be " + std::to_string(p.weights[1]) +
               " x " + std::to_string(p.groups) + " groups");
    for (int i = 0; i < spatial; ++i) {
        const std::int64_t least =
            transposed_output_size(p.src.dims[i + 2], size[i], p.window.pads_begin[i], p.window.pads_end[i],
                                   p.window.strides[i], p.window.dilations[i], 0);
        // Output pads below the stride or the dilation are what the forward convolution's rounding hides.
        const std::int64_t most = least + std::max(p.window.strides[i], p.window.dilations[i]) - 1;
        const std::int64_t length = p.dst.dims[i + 2];
        if (length < 1 || length < least || length > most)
            refuse("dst: length " + std::to_string(length) + " of spatial axis " + std::to_string(i) +
                   " is not in " + std::to_string(least) + " to " + std::to_string(most));
    }
    check_activation(p.activation);
}

void check_one(const FullyConnectedProblem& p) {
    check_tensors(p.src, p.dst);
    check_same_type(p.src, p.dst);
    if (p.src.rank() != 2) refuse("src: rank " + std::to_string(p.src.rank()) + " must be 2");
    if (p.dst.rank() != 2) refuse("dst: rank " + std::to_string(p.dst.rank()) + " must be 2");
    if (p.src.dims[1] < 1) refuse("src: row length " + std::to_string(p.src.dims[1]) + " is below 1");
    if (p.outputs < 1) refuse("outputs: " + std::to_string(p.outputs) + " is below 1");
    check_size({p.outputs, p.src.dims[1]}, p.src.type, "weights");
    if (p.dst.dims[0] != p.src.dims[0] || p.dst.dims[1] != p.outputs)
        refuse("dst: dims " + p.dst.dims.text() + " must be " + Dims{p.src.dims[0], p.outputs}.text());
    check_activation(p.activation);
}

void check_one(const PoolingProblem& p) {
    check_tensors(p.src, p.dst);
    check_same_type(p.src, p.dst);
    if (p.kind > PoolingKind::average_exclude_pad)
        refuse("kind: " + std::to_string(static_cast<int>(p.kind)) + " does not exist");
    const int spatial = check_window(p.src, p.dst, p.size, p.window, {.window = "size"});
    if (p.dst.dims[1] != p.src.dims[1])
        refuse("dst: " + std::to_string(p.dst.dims[1]) + " channels must equal src's " +
               std::to_string(p.src.dims[1]));
    for (int i = 0; i < spatial; ++i) {
        const auto length = [&](bool ceil_mode) {
            return pooling_output_size(p.src.dims[i + 2], p.size[i], p.window.pads_begin[i],
                                       p.window.pads_end[i], p.window.strides[i], p.window.dilations[i],
                                       ceil_mode);
        };
        if (p.dst.dims[i + 2] < 1 || p.dst.dims[i + 2] != length(true))
            check_output_size(p.dst, i, length(false));
    }
}

void check_one(const ActivationProblem& p) {
    check_tensors(p.src, p.dst);
    check_same_type(p.src, p.dst);
    check_same_dims(p.src, p.dst);
    check_activation(p.activation);
}

void check_one(const BatchNormalizationProblem& p) {
    check_tensors(p.src, p.dst);
    check_same_type(p.src, p.dst);
    check_same_dims(p.src, p.dst);
    if (p.src.rank() < 2) refuse("src: rank " + std::to_string(p.src.rank()) + " has no channel axis");
    if (!(p.epsilon >= 0.0f) || std::isinf(p.epsilon))
        refuse("epsilon: " + std::to_string(p.epsilon) + " must be finite and not negative");
    check_activation(p.activation);
}

void check_broadcast(const TensorDesc& src, const TensorDesc& dst, const char* name) {
    check_type(src.type, name);
    check_tensor(src, name, false);
    check_same_type(src, dst, name);
    if (src.rank() != dst.rank())
        refuse(std::string(name) + ": rank " + std::to_string(src.rank()) + " must equal dst's " +
               std::to_string(dst.rank()));
    for (int i = 0; i < src.rank(); ++i)
        if (src.dims[i] != dst.dims[i] && src.dims[i] != 1)
            refuse(std::string(name) + ": dim " + std::to_string(i) + " is " + std::to_string(src.dims[i]) +
                   "; it must be 1 or dst's " + std::to_string(dst.dims[i]));
}

void check_one(const ElementwiseProblem& p) {
    if (p.kind > ElementwiseKind::cos)
        refuse("kind: " + std::to_string(static_cast<int>(p.kind)) + " does not exist");
    check_type(p.dst.type, "dst");
    check_tensor(p.dst, "dst", true);
    check_broadcast(p.a, p.dst, "a");
    if (!is_unary(p.kind)) check_broadcast(p.b, p.dst, "b");
    check_activation(p.activation);
}

void check_one(const SoftmaxProblem& p) {
    check_tensors(p.src, p.dst);
    check_same_type(p.src, p.dst);
    check_same_dims(p.src, p.dst);
    if (p.axis < 0 || p.axis >= p.src.rank())
        refuse("axis: " + std::to_string(p.axis) + " is not an axis of " + p.src.dims.text());
}

void check_one(const LrnProblem& p) {
    check_tensors(p.src, p.dst);
    check_same_type(p.src, p.dst);
    check_same_dims(p.src, p.dst);
    if (p.src.rank() < 2) refuse("src: rank " + std::to_string(p.src.rank()) + " has no channel axis");
    if (p.size < 1 || p.size > longest)
        refuse("size: " + std::to_string(p.size) + " is not in 1 to " + std::to_string(longest));
    if (!std::isfinite(p.alpha)) refuse("alpha: " + std::to_string(p.alpha) + " is not finite");
    if (!std::isfinite(p.beta)) refuse("beta: " + std::to_string(p.beta) + " is not finite");
    if (!std::isfinite(p.k)) refuse("k: " + std::to_string(p.k) + " is not finite");
}

void check_one(const ConcatProblem& p) {
    check_type(p.dst.type, "dst");
    check_tensor(p.dst, "dst", true);
    if (p.srcs.empty()) refuse("srcs: there are none");
    if (p.axis < 0 || p.axis >= p.dst.rank())
        refuse("axis: " + std::to_string(p.axis) + " is not an axis of " + p.dst.dims.text());
    std::int64_t length = 0;
    for (std::size_t i = 0; i < p.srcs.size(); ++i) {
        const std::string name = "srcs[" + std::to_string(i) + "]";
        const TensorDesc& src = p.srcs[i];
        check_type(src.type, name.c_str());
        check_tensor(src, name.c_str(), false);
        check_same_type(src, p.dst, name.c_str());
        if (src.rank() != p.dst.rank())
            refuse(name + ": rank " + std::to_string(src.rank()) + " must equal dst's " +
                   std::to_string(p.dst.rank()));
        for (int a = 0; a < src.rank(); ++a)
            if (a != p.axis && src.dims[a] != p.dst.dims[a])
                refuse(name + ": dim " + std::to_string(a) + " is " + std::to_string(src.dims[a]) +
                       "; it must be dst's " + std::to_string(p.dst.dims[a]));
        if (__builtin_add_overflow(length, src.dims[p.axis], &length))
            refuse("srcs: their lengths along the axis leave 63 bits");
    }
    if (length != p.dst.dims[p.axis])
        refuse("dst: length " + std::to_string(p.dst.dims[p.axis]) + " along the axis must be " +
               std::to_string(length) + ", the sum of the sources'");
}

void check_pad_axis(const TransformProblem& p, int axis) {
    const std::int64_t begin = p.pads_begin[axis];
    const std::int64_t end = p.pads_end[axis];
    const std::int64_t length = p.src.dims[axis];
    for (const std::int64_t pad : {begin, end})
        if (pad < -longest || pad > longest)
            refuse("pads: value " + std::to_string(pad) + " of axis " + std::to_string(axis) +
                   " is out of range");
    std::int64_t padded = 0;
    if (__builtin_add_overflow(length, begin + end, &padded) || padded != p.dst.dims[axis])
        refuse("dst: dim " + std::to_string(axis) + " is " + std::to_string(p.dst.dims[axis]) +
               "; it must be src's " + std::to_string(length) + " with pads " + std::to_string(begin) +
               " and " + std::to_string(end));
    const std::int64_t most = std::max(begin, end);
    if (p.pad_mode == PadMode::edge && most > 0 && length < 1)
        refuse("pads: edge padding of axis " + std::to_string(axis) + " needs a value to repeat");
    if (p.pad_mode == PadMode::reflect && most > 0 && most >= length)
        refuse("pads: reflection by " + std::to_string(most) + " on axis " + std::to_string(axis) +
               " needs a length above that, it is " + std::to_string(length));
}

void check_one(const TransformProblem& p) {
    check_tensors(p.src, p.dst);
    if (p.pad_mode > PadMode::reflect)
        refuse("pad_mode: " + std::to_string(static_cast<int>(p.pad_mode)) + " does not exist");
    if (p.pads_begin.empty() && p.pads_end.empty()) {
        check_same_dims(p.src, p.dst);
        return;
    }
    const int rank = p.src.rank();
    if (p.dst.rank() != rank)
        refuse("dst: rank " + std::to_string(p.dst.rank()) + " must equal src's " + std::to_string(rank));
    if (p.pads_begin.rank() != rank || p.pads_end.rank() != rank)
        refuse("pads: " + std::to_string(p.pads_begin.rank()) + " and " + std::to_string(p.pads_end.rank()) +
               " values for " + std::to_string(rank) + " axes");
    for (int axis = 0; axis < rank; ++axis) check_pad_axis(p, axis);
}

}  // namespace

void check(const Problem& problem) {
    if (problem.valueless_by_exception()) refuse("problem: holds nothing");
    std::visit([](const auto& p) { check_one(p); }, problem);
}

}  // namespace convlens

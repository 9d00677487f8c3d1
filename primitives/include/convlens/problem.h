// Problems: one checked value for each operation, which says everything that a plan must know.
//
// Arithmetic order of fused parts: dst = activation(alpha * operation + bias + residual + beta * dst). With
// beta = 0 the old dst is never read (it may hold NaN). The order of sources and weights that a plan's
// execute() takes stands beside each problem.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "convlens/tensor.h"

#pragma GCC visibility push(default)
namespace convlens {

enum class ActivationKind : std::uint8_t {
    identity,
    relu,        // max(x, 0); NaN stays NaN
    clip,        // min(max(x, alpha), beta): ReLU6 is clip with 0 and 6
    leaky_relu,  // x < 0 ? alpha * x : x
    elu,         // x < 0 ? alpha * (exp(x) - 1) : x
    sigmoid,     // 1 / (1 + exp(-x))
    tanh,
    swish,         // x * sigmoid(alpha * x); SiLU is alpha = 1
    hard_sigmoid,  // min(max(alpha * x + beta, 0), 1)
    hard_swish,    // x * min(max(x / 6 + 1 / 2, 0), 1)
};
const char* to_string(ActivationKind kind) noexcept;

struct ActivationDesc {
    ActivationKind kind = ActivationKind::identity;
    float alpha = 0.0f;
    float beta = 0.0f;
    bool operator==(const ActivationDesc&) const = default;
};

// Window geometry over the spatial axes (1 to 3 of them, in the order [D] [H] W).
struct WindowDesc {
    Dims pads_begin;  // >= 0
    Dims pads_end;    // >= 0
    Dims strides;     // >= 1
    Dims dilations;   // >= 1
    // All strides and dilations 1, all pads 0.
    static WindowDesc unit(int spatial_rank);
    int rank() const noexcept { return strides.rank(); }
    bool operator==(const WindowDesc&) const = default;
};

enum class ConvolutionMode : std::uint8_t { cross_correlation, convolution };  // convolution flips the filter

// Output length of one axis: floor((in + pad_begin + pad_end - (dilation * (window - 1) + 1)) / stride) + 1,
// or 0 when the window is larger than the padded input. The one place of this formula: query, plan and
// importer use it.
std::int64_t convolution_output_size(std::int64_t in, std::int64_t window, std::int64_t pad_begin,
                                     std::int64_t pad_end, std::int64_t stride, std::int64_t dilation);
// The same for pooling. With ceil_mode the division rounds up, and a last window that would start at or after
// in + pad_begin (entirely in the trailing pad) is dropped.
std::int64_t pooling_output_size(std::int64_t in, std::int64_t window, std::int64_t pad_begin,
                                 std::int64_t pad_end, std::int64_t stride, std::int64_t dilation,
                                 bool ceil_mode);
// Output length of transposed convolution: stride * (in - 1) + dilation * (window - 1) + 1 - pads +
// output_pad.
std::int64_t transposed_output_size(std::int64_t in, std::int64_t window, std::int64_t pad_begin,
                                    std::int64_t pad_end, std::int64_t stride, std::int64_t dilation,
                                    std::int64_t output_pad);

// src N C [D] [H] W, weights K C/groups [R..] S, dst N K P.. Q.  Output channel k reads input channels of
// group k / (K / groups).  Sources: src, bias (K values, packed; null without), residual (dst's desc; null
// without). Weights: filter, packed KCRS; alpha is packed with them.  A residual and beta exclude each other.
struct ConvolutionProblem {
    TensorDesc src;
    Dims weights;
    TensorDesc dst;
    WindowDesc window;
    std::int64_t groups = 1;
    ConvolutionMode mode = ConvolutionMode::cross_correlation;
    bool has_bias = false;
    bool has_residual = false;
    ActivationDesc activation;
    float alpha = 1.0f;
    float beta = 0.0f;
};

// The data gradient: dst[n][c][h][w] = alpha * sum of src[n][k][p][q] * weights[k][c][r][s] over all outputs
// that read the cell + beta * dst.  src N K P Q is the gradient of the forward dst, dst N C H W that of the
// forward src; weights, window, groups and mode are the forward convolution's.  Cells that no output reads
// get beta * dst. Sources: src. Weights: filter, packed K C/groups R S as in forward.
struct ConvolutionBwdDataProblem {
    TensorDesc src;
    Dims weights;
    TensorDesc dst;
    WindowDesc window;
    std::int64_t groups = 1;
    ConvolutionMode mode = ConvolutionMode::cross_correlation;
    float alpha = 1.0f;
    float beta = 0.0f;
};

// The filter gradient: dst[k][c][r][s] = alpha * sum over n, p, q of diff[n][k][p][q] * src[n][c][h][w] +
// beta * dst.  src N C H W is the forward src, diff N K P Q the gradient of the forward dst, dst K C/groups R
// S that of the filter, with any strides; its type is src's, or f32 where src is of a 16-bit type.  An empty
// batch gives beta * dst.  Sources: src, diff.
struct ConvolutionBwdFilterProblem {
    TensorDesc src;
    TensorDesc diff;
    TensorDesc dst;
    WindowDesc window;
    std::int64_t groups = 1;
    ConvolutionMode mode = ConvolutionMode::cross_correlation;
    float alpha = 1.0f;
    float beta = 0.0f;
};

// The bias gradient: dst[k] = alpha * sum of src over N and space + beta * dst.  src N K P Q (any number of
// spatial axes up to three), dst K values, rank 1, of src's type, or f32 where src is of a 16-bit type.
// Sources: src.
struct ConvolutionBwdBiasProblem {
    TensorDesc src;
    TensorDesc dst;
    float alpha = 1.0f;
    float beta = 0.0f;
};

// src N C H W, weights C K/groups R S (ONNX ConvTranspose), dst N K P Q with P = transposed_output_size(...).
// Sources: src, bias (K values; null without).  Weights: filter, packed CKRS.
struct TransposedConvolutionProblem {
    TensorDesc src;
    Dims weights;
    TensorDesc dst;
    WindowDesc window;
    std::int64_t groups = 1;
    bool has_bias = false;
    ActivationDesc activation;
};

// dst[m][n] = sum over k of src[m][k] * weights[n][k].  src M K, dst M N.  Sources: src, bias (N values; null
// without), residual (dst's desc; null without).  Weights: N K, packed.
struct FullyConnectedProblem {
    TensorDesc src;
    std::int64_t outputs = 0;
    TensorDesc dst;
    bool has_bias = false;
    bool has_residual = false;
    ActivationDesc activation;
};

// How average pooling counts: every cell inside [-pad_begin, size + pad_end), or real cells only.  The
// overhang of a rounded-up last window beyond the trailing pad never counts.
enum class PoolingKind : std::uint8_t { max, average_include_pad, average_exclude_pad };
const char* to_string(PoolingKind kind) noexcept;

// src N C H W, dst N C P Q.  Max starts from the first real cell and yields NaN when one cell is NaN; a
// window without a real cell yields -infinity (max) or 0 (average).  Global pooling is a window of the whole
// input.  Sources: src.
struct PoolingProblem {
    TensorDesc src;
    TensorDesc dst;
    PoolingKind kind = PoolingKind::max;
    Dims size;  // window lengths, one a spatial axis
    WindowDesc window;
};

// dst = activation(src).  dst may be src when both descriptors are equal.  Sources: src.
struct ActivationProblem {
    TensorDesc src;
    TensorDesc dst;
    ActivationDesc activation;
};

// Inference: dst = activation((src - mean) / sqrt(variance + epsilon) * scale + bias), by channel (axis 1).
// dst may be src when both descriptors are equal.  Sources: src, scale, bias, mean, variance (C values each,
// f32, packed).
struct BatchNormalizationProblem {
    TensorDesc src;
    TensorDesc dst;
    float epsilon = 1e-5f;
    ActivationDesc activation;
};

enum class ElementwiseKind : std::uint8_t {
    add,
    sub,
    mul,
    div,
    pow,
    min,
    max,
    prelu,  // binary; prelu: a < 0 ? b * a : a
    abs,
    neg,
    exp,
    log,
    sqrt,
    reciprocal,
    floor,
    ceil,
    round,
    sign,
    erf,
    softplus,
    sin,
    cos  // unary: b is empty
};
bool is_unary(ElementwiseKind kind) noexcept;
const char* to_string(ElementwiseKind kind) noexcept;

// dst = activation(a OP b).  Each dim of a and of b equals dst's or is 1 (broadcast), ranks are equal.
// dst may be a or b when the descriptors are equal.  Sources: a, b (absent for unary operations).
struct ElementwiseProblem {
    ElementwiseKind kind = ElementwiseKind::add;
    TensorDesc a;
    TensorDesc b;
    TensorDesc dst;
    ActivationDesc activation;
};

// Over `axis`, minus the maximum first.  logarithm: x - max - log(sum).  Sources: src.
struct SoftmaxProblem {
    TensorDesc src;
    TensorDesc dst;
    int axis = 1;
    bool logarithm = false;
};

// dst = src / (k + alpha / size * sum of squares)^beta over channels c - floor((size-1)/2) .. c +
// ceil((size-1)/2): for an even size the extra channel comes after (ONNX, cuDNN).  Sources: src.
struct LrnProblem {
    TensorDesc src;
    TensorDesc dst;
    std::int64_t size = 5;
    float alpha = 1e-4f;
    float beta = 0.75f;
    float k = 1.0f;
};

// Sources: srcs in order; all dims but `axis` equal dst's.
struct ConcatProblem {
    std::vector<TensorDesc> srcs;
    TensorDesc dst;
    int axis = 1;
};

enum class PadMode : std::uint8_t { constant, edge, reflect };

// A copy between any strides and types: layout change, transpose and slice are descriptors (strides, offset).
// With pads: dst dims = src dims + pads_begin + pads_end (negative pads crop).  Sources: src.
// Float to integer truncates toward zero and saturates; to f16 and bf16 rounds to nearest even.
struct TransformProblem {
    TensorDesc src;
    TensorDesc dst;
    Dims pads_begin;  // empty: none
    Dims pads_end;
    PadMode pad_mode = PadMode::constant;
    float pad_value = 0.0f;
};

using Problem =
    std::variant<ConvolutionProblem, TransposedConvolutionProblem, FullyConnectedProblem, PoolingProblem,
                 ActivationProblem, BatchNormalizationProblem, ElementwiseProblem, SoftmaxProblem, LrnProblem,
                 ConcatProblem, TransformProblem, ConvolutionBwdDataProblem, ConvolutionBwdFilterProblem,
                 ConvolutionBwdBiasProblem>;

// "convolution", "convolution_bwd_data", "convolution_bwd_filter", "convolution_bwd_bias",
// "transposed_convolution", "fully_connected", "pooling", "activation", "batch_normalization", "elementwise",
// "softmax", "lrn", "concat", "transform".
const char* operation_name(const Problem& problem) noexcept;

// Throws Error(bad_parameter) naming the argument, unless the problem is well formed: ranks, dims, the output
// size, groups that divide the channels, pads and strides in range, types, axis.  Empty batches are well
// formed.
void check(const Problem& problem);

}  // namespace convlens
#pragma GCC visibility pop

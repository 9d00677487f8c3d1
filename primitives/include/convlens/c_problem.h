/* The C interface, part 2: problems, one for each operation. Include convlens/convlens.h.
 *
 * A problem is one operation with everything that a plan must know: fill the operation's struct from its _default()
 * function, create the problem from it (it is copied; nothing of the struct is kept), make plans, destroy it. Creating
 * checks everything; where the problem is not well formed:
 *   CONVLENS_BAD_PARAMETER   desc or problem is null, struct_size was not set, or an argument is wrong: ranks, dims, the
 *                            output size, groups that do not divide, a pad, stride or dilation out of range, types, an
 *                            axis, numbers that are not finite; the text names the argument and its value
 *   CONVLENS_NOT_SUPPORTED   the struct is larger than this library's and uses what the library does not know
 *   CONVLENS_RUNTIME_FAILURE memory is exhausted
 * and *problem becomes null. Empty tensors (a batch of 0) are well formed, and executing succeeds: it does nothing where dst is
 * empty, and sums of nothing are 0 (a filter gradient of an empty batch is beta dst).
 *
 * Letters: N batch; C channels of src; H W its height and width; K channels of dst; R S filter height and width; P Q
 * height and width of dst. One to three spatial axes, in the order [D] [H] W, wherever H W stands.
 * `sources` is the order of convlens_arguments.sources, `weights` the plain form that convlens_plan_pack_weights reads.
 * Aliasing: dst may not overlap a source unless it is said here. Sums of f16 and bf16 are f32.
 * dst = activation(operation + bias + residual) where an operation has these.
 */
#ifndef CONVLENS_C_PROBLEM_H
#define CONVLENS_C_PROBLEM_H

#include "convlens/c_tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct convlens_problem convlens_problem;

typedef int32_t convlens_activation_kind;
enum {
    CONVLENS_IDENTITY = 0,
    CONVLENS_RELU = 1,         /* max(x, 0); NaN stays NaN */
    CONVLENS_CLIP = 2,         /* min(max(x, alpha), beta): ReLU6 is 0 and 6 */
    CONVLENS_LEAKY_RELU = 3,   /* x < 0 ? alpha x : x */
    CONVLENS_ELU = 4,          /* x < 0 ? alpha (exp(x) - 1) : x */
    CONVLENS_SIGMOID = 5,      /* 1 / (1 + exp(-x)) */
    CONVLENS_TANH = 6,
    CONVLENS_SWISH = 7,        /* x sigmoid(alpha x); SiLU is alpha = 1 */
    CONVLENS_HARD_SIGMOID = 8, /* min(max(alpha x + beta, 0), 1) */
    CONVLENS_HARD_SWISH = 9    /* x min(max(x / 6 + 1 / 2, 0), 1) */
};
typedef struct convlens_activation {
    convlens_activation_kind kind;
    float alpha;
    float beta;
    int32_t reserved; /* 0 */
} convlens_activation;

/* Window geometry: one value a spatial axis. */
typedef struct convlens_window {
    convlens_dims pads_begin; /* >= 0 */
    convlens_dims pads_end;   /* >= 0 */
    convlens_dims strides;    /* >= 1 */
    convlens_dims dilations;  /* >= 1 */
} convlens_window;
/* Pads 0, strides and dilations 1 on `spatial_rank` axes (1 to 3). */
static inline convlens_window convlens_window_unit(int32_t spatial_rank) {
    const int64_t zeros[3] = {0, 0, 0};
    const int64_t ones[3] = {1, 1, 1};
    convlens_window window;
    const int32_t rank = spatial_rank < 0 ? 0 : spatial_rank > 3 ? 3 : spatial_rank;
    window.pads_begin = window.pads_end = convlens_dims_from(rank, zeros);
    window.strides = window.dilations = convlens_dims_from(rank, ones);
    return window;
}

/* Output length of one axis: floor((in + pad_begin + pad_end - (dilation (window - 1) + 1)) / stride) + 1, or 0 when the
 * window is larger than the padded input. All in elements; a stride below 1 gives 0. */
CONVLENS_API int64_t convlens_convolution_output_size(int64_t in, int64_t window, int64_t pad_begin, int64_t pad_end,
                                                      int64_t stride, int64_t dilation);
/* The same for pooling. With ceil_mode the division rounds up, and a last window that would start at or after
 * in + pad_begin is dropped. */
CONVLENS_API int64_t convlens_pooling_output_size(int64_t in, int64_t window, int64_t pad_begin, int64_t pad_end,
                                                  int64_t stride, int64_t dilation, int32_t ceil_mode);
/* stride (in - 1) + dilation (window - 1) + 1 - pad_begin - pad_end + output_pad. */
CONVLENS_API int64_t convlens_transposed_output_size(int64_t in, int64_t window, int64_t pad_begin, int64_t pad_end,
                                                     int64_t stride, int64_t dilation, int64_t output_pad);

typedef int32_t convlens_convolution_mode;
enum {
    CONVLENS_CROSS_CORRELATION = 0,
    CONVLENS_TRUE_CONVOLUTION = 1 /* the filter is flipped */
};

/* Forward convolution. dst = activation(alpha conv(src, weights) + bias + residual + beta dst); with beta = 0 the old dst is
 * not read. src N C H W, weights K C/groups R S, dst N K P Q of src's type; output channel k reads the input channels of
 * group k / (K / groups). sources: src, bias (K values, packed; with has_bias), residual (as dst; with has_residual).
 * weights: K C/groups R S, packed, of src's type. beta other than 0 together with has_residual is refused.
 * As ONNX Conv, cuDNN cudnnConvolutionForward and cudnnConvolutionBiasActivationForward. */
typedef struct convlens_convolution_desc {
    size_t struct_size;
    convlens_tensor src;
    convlens_dims weights;
    convlens_tensor dst;
    convlens_window window;
    int64_t groups; /* 1 */
    convlens_convolution_mode mode;
    int32_t has_bias;
    int32_t has_residual;
    float alpha; /* 1 */
    float beta;  /* 0 */
    int32_t reserved; /* 0 */
    convlens_activation activation;
} convlens_convolution_desc;
static inline convlens_convolution_desc convlens_convolution_default(void) {
    convlens_convolution_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.struct_size = sizeof desc;
    desc.groups = 1;
    desc.alpha = 1.0f;
    return desc;
}
CONVLENS_API convlens_status convlens_problem_create_convolution(const convlens_convolution_desc* desc,
                                                                 convlens_problem** problem);

/* The gradient with respect to the forward src: dst = alpha (its sum) + beta dst. src N K P Q is the gradient of the
 * forward dst, dst N C H W the gradient of the forward src; weights, window, groups and mode as forward.
 * sources: src. weights: as forward. As cuDNN cudnnConvolutionBackwardData. */
typedef struct convlens_convolution_bwd_data_desc {
    size_t struct_size;
    convlens_tensor src;
    convlens_dims weights;
    convlens_tensor dst;
    convlens_window window;
    int64_t groups; /* 1 */
    convlens_convolution_mode mode;
    float alpha;      /* 1 */
    float beta;       /* 0 */
    int32_t reserved; /* 0 */
} convlens_convolution_bwd_data_desc;
static inline convlens_convolution_bwd_data_desc convlens_convolution_bwd_data_default(void) {
    convlens_convolution_bwd_data_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.struct_size = sizeof desc;
    desc.groups = 1;
    desc.alpha = 1.0f;
    return desc;
}
CONVLENS_API convlens_status convlens_problem_create_convolution_bwd_data(
    const convlens_convolution_bwd_data_desc* desc, convlens_problem** problem);

/* The gradient with respect to the filter: dst = alpha (its sum) + beta dst. src N C H W is the forward src, diff N K P Q
 * the gradient of the forward dst, dst K C/groups R S of any strides, of src's type, or f32 for 16-bit src.
 * sources: src, diff. weights: none. As cuDNN cudnnConvolutionBackwardFilter. */
typedef struct convlens_convolution_bwd_filter_desc {
    size_t struct_size;
    convlens_tensor src;
    convlens_tensor diff;
    convlens_tensor dst;
    convlens_window window;
    int64_t groups; /* 1 */
    convlens_convolution_mode mode;
    float alpha;      /* 1 */
    float beta;       /* 0 */
    int32_t reserved; /* 0 */
} convlens_convolution_bwd_filter_desc;
static inline convlens_convolution_bwd_filter_desc convlens_convolution_bwd_filter_default(void) {
    convlens_convolution_bwd_filter_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.struct_size = sizeof desc;
    desc.groups = 1;
    desc.alpha = 1.0f;
    return desc;
}
CONVLENS_API convlens_status convlens_problem_create_convolution_bwd_filter(
    const convlens_convolution_bwd_filter_desc* desc, convlens_problem** problem);

/* The gradient with respect to the bias: dst[k] = alpha (sum of src over N and space) + beta dst[k]. src N K P Q, dst K values
 * (rank 1). sources: src. weights: none. As cuDNN cudnnConvolutionBackwardBias. */
typedef struct convlens_convolution_bwd_bias_desc {
    size_t struct_size;
    convlens_tensor src;
    convlens_tensor dst;
    float alpha; /* 1 */
    float beta;  /* 0 */
} convlens_convolution_bwd_bias_desc;
static inline convlens_convolution_bwd_bias_desc convlens_convolution_bwd_bias_default(void) {
    convlens_convolution_bwd_bias_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.struct_size = sizeof desc;
    desc.alpha = 1.0f;
    return desc;
}
CONVLENS_API convlens_status convlens_problem_create_convolution_bwd_bias(
    const convlens_convolution_bwd_bias_desc* desc, convlens_problem** problem);

/* Transposed convolution: src N C H W, weights C K/groups R S, dst N K P Q with P = convlens_transposed_output_size(...).
 * sources: src, bias (K values, packed; with has_bias). weights: C K/groups R S, packed. As ONNX ConvTranspose. */
typedef struct convlens_transposed_convolution_desc {
    size_t struct_size;
    convlens_tensor src;
    convlens_dims weights;
    convlens_tensor dst;
    convlens_window window;
    int64_t groups; /* 1 */
    int32_t has_bias;
    int32_t reserved; /* 0 */
    convlens_activation activation;
} convlens_transposed_convolution_desc;
static inline convlens_transposed_convolution_desc convlens_transposed_convolution_default(void) {
    convlens_transposed_convolution_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.struct_size = sizeof desc;
    desc.groups = 1;
    return desc;
}
CONVLENS_API convlens_status convlens_problem_create_transposed_convolution(
    const convlens_transposed_convolution_desc* desc, convlens_problem** problem);

/* dst[m][n] = activation(sum over k of src[m][k] weights[n][k] + bias[n] + residual[m][n]). src M K, dst M N with
 * N = outputs. sources: src, bias (N values, packed; with has_bias), residual (as dst; with has_residual). weights: N K,
 * packed. As ONNX Gemm with transB = 1. */
typedef struct convlens_fully_connected_desc {
    size_t struct_size;
    convlens_tensor src;
    int64_t outputs;
    convlens_tensor dst;
    int32_t has_bias;
    int32_t has_residual;
    convlens_activation activation;
} convlens_fully_connected_desc;
static inline convlens_fully_connected_desc convlens_fully_connected_default(void) {
    convlens_fully_connected_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.struct_size = sizeof desc;
    return desc;
}
CONVLENS_API convlens_status convlens_problem_create_fully_connected(const convlens_fully_connected_desc* desc,
                                                                     convlens_problem** problem);

typedef int32_t convlens_pooling_kind;
enum {
    CONVLENS_POOLING_MAX = 0,
    CONVLENS_POOLING_AVERAGE_INCLUDE_PAD = 1, /* counts every cell inside [-pad_begin, length + pad_end) */
    CONVLENS_POOLING_AVERAGE_EXCLUDE_PAD = 2  /* counts real cells only */
};
/* src N C H W, dst N C P Q, of either rounding. Max starts from the first real cell and yields NaN when one is NaN; a window
 * without a real cell yields -infinity (max) or 0. sources: src. As ONNX MaxPool and AveragePool. */
typedef struct convlens_pooling_desc {
    size_t struct_size;
    convlens_tensor src;
    convlens_tensor dst;
    convlens_dims size; /* window lengths, one a spatial axis */
    convlens_window window;
    convlens_pooling_kind kind;
    int32_t reserved; /* 0 */
} convlens_pooling_desc;
static inline convlens_pooling_desc convlens_pooling_default(void) {
    convlens_pooling_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.struct_size = sizeof desc;
    return desc;
}
CONVLENS_API convlens_status convlens_problem_create_pooling(const convlens_pooling_desc* desc,
                                                             convlens_problem** problem);

/* dst = activation(src), same dims. dst may be src's memory when both tensors are equal. sources: src. */
typedef struct convlens_activation_desc {
    size_t struct_size;
    convlens_tensor src;
    convlens_tensor dst;
    convlens_activation activation;
} convlens_activation_desc;
static inline convlens_activation_desc convlens_activation_default(void) {
    convlens_activation_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.struct_size = sizeof desc;
    return desc;
}
CONVLENS_API convlens_status convlens_problem_create_activation(const convlens_activation_desc* desc,
                                                                convlens_problem** problem);

/* Inference: dst = activation((src - mean) / sqrt(variance + epsilon) scale + bias) by channel (axis 1). dst may be src's
 * memory when both tensors are equal. sources: src, scale, bias, mean, variance (C values each, f32, packed).
 * As ONNX BatchNormalization, cuDNN cudnnBatchNormalizationForwardInference (spatial). */
typedef struct convlens_batch_normalization_desc {
    size_t struct_size;
    convlens_tensor src;
    convlens_tensor dst;
    float epsilon;    /* 1e-5 */
    int32_t reserved; /* 0 */
    convlens_activation activation;
} convlens_batch_normalization_desc;
static inline convlens_batch_normalization_desc convlens_batch_normalization_default(void) {
    convlens_batch_normalization_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.struct_size = sizeof desc;
    desc.epsilon = 1e-5f;
    return desc;
}
CONVLENS_API convlens_status convlens_problem_create_batch_normalization(
    const convlens_batch_normalization_desc* desc, convlens_problem** problem);

typedef int32_t convlens_elementwise_kind;
enum { /* of two sources a and b */
    CONVLENS_ADD = 0,
    CONVLENS_SUB = 1,
    CONVLENS_MUL = 2,
    CONVLENS_DIV = 3,
    CONVLENS_POW = 4,
    CONVLENS_MIN = 5,
    CONVLENS_MAX = 6,
    CONVLENS_PRELU = 7, /* a < 0 ? b a : a */
    /* of a alone */
    CONVLENS_ABS = 8,
    CONVLENS_NEG = 9,
    CONVLENS_EXP = 10,
    CONVLENS_LOG = 11,
    CONVLENS_SQRT = 12,
    CONVLENS_RECIPROCAL = 13,
    CONVLENS_FLOOR = 14,
    CONVLENS_CEIL = 15,
    CONVLENS_ROUND = 16,
    CONVLENS_SIGN = 17,
    CONVLENS_ERF = 18,
    CONVLENS_SOFTPLUS = 19,
    CONVLENS_SIN = 20,
    CONVLENS_COS = 21
};
/* dst = activation(a OP b). Ranks are equal; each dim of a and b is dst's or 1 (broadcast). dst may be a's or b's memory when
 * the tensors are equal. sources: a, b (b is ignored by operations of one source). As the ONNX operators of these names. */
typedef struct convlens_elementwise_desc {
    size_t struct_size;
    convlens_tensor a;
    convlens_tensor b;
    convlens_tensor dst;
    convlens_elementwise_kind kind;
    int32_t reserved; /* 0 */
    convlens_activation activation;
} convlens_elementwise_desc;
static inline convlens_elementwise_desc convlens_elementwise_default(void) {
    convlens_elementwise_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.struct_size = sizeof desc;
    return desc;
}
CONVLENS_API convlens_status convlens_problem_create_elementwise(const convlens_elementwise_desc* desc,
                                                                 convlens_problem** problem);

/* Over `axis` (0 to rank - 1), minus the maximum first; with `logarithm` x - max - log(sum). Same dims. sources: src.
 * As ONNX Softmax and LogSoftmax of opset 13, cuDNN CUDNN_SOFTMAX_ACCURATE and CUDNN_SOFTMAX_LOG. */
typedef struct convlens_softmax_desc {
    size_t struct_size;
    convlens_tensor src;
    convlens_tensor dst;
    int32_t axis; /* 1 */
    int32_t logarithm;
} convlens_softmax_desc;
static inline convlens_softmax_desc convlens_softmax_default(void) {
    convlens_softmax_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.struct_size = sizeof desc;
    desc.axis = 1;
    return desc;
}
CONVLENS_API convlens_status convlens_problem_create_softmax(const convlens_softmax_desc* desc,
                                                             convlens_problem** problem);

/* dst = src / (k + alpha / size (sum of squares))^beta over the channels c - floor((size - 1) / 2) to
 * c + ceil((size - 1) / 2). Same dims. sources: src. As ONNX LRN, cuDNN cudnnLRNCrossChannelForward. */
typedef struct convlens_lrn_desc {
    size_t struct_size;
    convlens_tensor src;
    convlens_tensor dst;
    int64_t size;     /* 5 */
    float alpha;      /* 1e-4 */
    float beta;       /* 0.75 */
    float k;          /* 1 */
    int32_t reserved; /* 0 */
} convlens_lrn_desc;
static inline convlens_lrn_desc convlens_lrn_default(void) {
    convlens_lrn_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.struct_size = sizeof desc;
    desc.size = 5;
    desc.alpha = 1e-4f;
    desc.beta = 0.75f;
    desc.k = 1.0f;
    return desc;
}
CONVLENS_API convlens_status convlens_problem_create_lrn(const convlens_lrn_desc* desc, convlens_problem** problem);

/* One behind the other along `axis`: all dims of the sources but that one equal dst's. sources: srcs in order.
 * `srcs` is host memory that is read while the problem is created. As ONNX Concat. */
typedef struct convlens_concat_desc {
    size_t struct_size;
    const convlens_tensor* srcs;
    size_t src_count; /* 1 or more */
    convlens_tensor dst;
    int32_t axis;     /* 1 */
    int32_t reserved; /* 0 */
} convlens_concat_desc;
static inline convlens_concat_desc convlens_concat_default(void) {
    convlens_concat_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.struct_size = sizeof desc;
    desc.axis = 1;
    return desc;
}
CONVLENS_API convlens_status convlens_problem_create_concat(const convlens_concat_desc* desc,
                                                            convlens_problem** problem);

typedef int32_t convlens_pad_mode;
enum { CONVLENS_PAD_CONSTANT = 0, CONVLENS_PAD_EDGE = 1, CONVLENS_PAD_REFLECT = 2 };
/* A copy between any strides and types: layout change, transpose and slice are tensors. With pads, one value an axis,
 * dst's dims are src's + pads_begin + pads_end (negative pads crop); without (rank 0) they are equal. Float to integer
 * truncates toward zero and saturates; to f16 and bf16 rounds to nearest even. sources: src. As ONNX Pad, Transpose, Cast,
 * Slice; cuDNN cudnnTransformTensor. */
typedef struct convlens_transform_desc {
    size_t struct_size;
    convlens_tensor src;
    convlens_tensor dst;
    convlens_dims pads_begin;
    convlens_dims pads_end;
    convlens_pad_mode pad_mode;
    float pad_value;
} convlens_transform_desc;
static inline convlens_transform_desc convlens_transform_default(void) {
    convlens_transform_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.struct_size = sizeof desc;
    return desc;
}
CONVLENS_API convlens_status convlens_problem_create_transform(const convlens_transform_desc* desc,
                                                               convlens_problem** problem);

/* Null does nothing. Plans live on. CONVLENS_BAD_PARAMETER: destroyed already, or a handle of another kind. */
CONVLENS_API convlens_status convlens_problem_destroy(convlens_problem* problem);
/* The operation's name, e.g. "convolution_bwd_data"; null for a handle that is none. Static text. */
CONVLENS_API const char* convlens_problem_operation(const convlens_problem* problem);
/* Number of entries of convlens_arguments.sources; the last ones may be left out where they are absent. */
CONVLENS_API convlens_status convlens_problem_source_count(const convlens_problem* problem, size_t* count);
/* The tensor of source `index`; with *absent = 1 (has_bias or has_residual is 0) it stays unwritten and the pointer may be
 * null. CONVLENS_BAD_PARAMETER: a null pointer, an index beyond the last. */
CONVLENS_API convlens_status convlens_problem_source(const convlens_problem* problem, size_t index,
                                                     convlens_tensor* source, int32_t* absent);

#ifdef __cplusplus
}
#endif

#endif

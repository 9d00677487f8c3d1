/* The C interface, part 1: status codes, types, dims and tensors. Include convlens/convlens.h. */
#ifndef CONVLENS_C_TENSOR_H
#define CONVLENS_C_TENSOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "convlens/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a function returns: one of the codes below. Codes may be added; treat unknown ones as failures. */
typedef int32_t convlens_status;
enum {
    CONVLENS_SUCCESS = 0,
    CONVLENS_BAD_PARAMETER = 1,   /* the caller's mistake; the text names the argument and its value */
    CONVLENS_NOT_SUPPORTED = 2,   /* a valid request that nothing here can do; the text says why */
    CONVLENS_RUNTIME_FAILURE = 3  /* memory exhausted, a device lost */
};
/* "success", "bad_parameter", "not_supported", "runtime_failure", or "unknown". Static text. */
CONVLENS_API const char* convlens_status_text(convlens_status status);
/* What the last function that failed on this thread had to say: one sentence, UTF-8. Empty before the first failure;
 * valid until the next failure on the same thread. Successes leave it as it is. */
CONVLENS_API const char* convlens_last_error(void);

typedef int32_t convlens_data_type;
enum {
    CONVLENS_F32 = 0,
    CONVLENS_F64 = 1,
    CONVLENS_F16 = 2,  /* IEEE binary16 */
    CONVLENS_BF16 = 3, /* the upper half of an f32 */
    CONVLENS_I8 = 4,
    CONVLENS_U8 = 5,
    CONVLENS_I32 = 6,
    CONVLENS_I64 = 7,
    CONVLENS_BOOL = 8 /* one byte, 0 or 1 */
};
/* Bytes of one element; 0 for a type that does not exist. */
CONVLENS_API size_t convlens_data_type_size(convlens_data_type type);

#define CONVLENS_MAX_RANK 8

/* A list of up to eight integers, one an axis: dims, strides, pads. Entries at and beyond `rank` are ignored. */
typedef struct convlens_dims {
    int32_t rank;
    int32_t reserved; /* 0 */
    int64_t values[CONVLENS_MAX_RANK];
} convlens_dims;

/* `rank` values from an array; a rank above CONVLENS_MAX_RANK is kept as it is, and refused where the dims are used. */
static inline convlens_dims convlens_dims_from(int32_t rank, const int64_t* values) {
    convlens_dims dims;
    int32_t i;
    memset(&dims, 0, sizeof dims);
    dims.rank = rank;
    for (i = 0; i < rank && i < CONVLENS_MAX_RANK; ++i) dims.values[i] = values[i];
    return dims;
}
static inline convlens_dims convlens_dims1(int64_t a) { return convlens_dims_from(1, &a); }
static inline convlens_dims convlens_dims2(int64_t a, int64_t b) {
    const int64_t values[2] = {a, b};
    return convlens_dims_from(2, values);
}
static inline convlens_dims convlens_dims3(int64_t a, int64_t b, int64_t c) {
    const int64_t values[3] = {a, b, c};
    return convlens_dims_from(3, values);
}
static inline convlens_dims convlens_dims4(int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t values[4] = {a, b, c, d};
    return convlens_dims_from(4, values);
}
static inline convlens_dims convlens_dims5(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e) {
    const int64_t values[5] = {a, b, c, d, e};
    return convlens_dims_from(5, values);
}

/* Where the elements of a tensor lie; a plain value. Dims are logical and always in the order N C [D] [H] W, whatever
 * lies next to what in memory; the strides say how it lies. Strides are in elements and may be zero (broadcast) or
 * negative (backwards) in sources only. `offset` is the element that index 0 0 ... 0 addresses, counted from the pointer
 * that convlens_plan_execute receives. */
typedef struct convlens_tensor {
    convlens_data_type type;
    int32_t reserved; /* 0 */
    convlens_dims dims;
    convlens_dims strides;
    int64_t offset;
} convlens_tensor;

/* A dense tensor with the last axis contiguous (NCHW for rank 4). `tensor` is host memory, and untouched on failure.
 * CONVLENS_BAD_PARAMETER: tensor null, a rank outside 0 to 8, a negative dim, more than 2^63 elements, an unknown type. */
CONVLENS_API convlens_status convlens_tensor_packed(convlens_tensor* tensor, convlens_data_type type,
                                                    convlens_dims dims);
/* The same with axis 1 contiguous and the others in order around it (NHWC for rank 4); packed for rank 2 and below. */
CONVLENS_API convlens_status convlens_tensor_channels_last(convlens_tensor* tensor, convlens_data_type type,
                                                           convlens_dims dims);
/* Bytes from the pointer to the end of the last element, 0 for an empty tensor: what the caller must own.
 * CONVLENS_BAD_PARAMETER: a null pointer, a tensor that no operation could take. */
CONVLENS_API convlens_status convlens_tensor_bytes(const convlens_tensor* tensor, size_t* bytes);

#ifdef __cplusplus
}
#endif

#endif

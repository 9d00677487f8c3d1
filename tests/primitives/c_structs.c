#include "c_structs.h"

#include <convlens/convlens.h>

/* name, default's function */
#define EACH_STRUCT(X)                                                               \
    X(convlens_convolution_desc, convlens_convolution_default)                       \
    X(convlens_convolution_bwd_data_desc, convlens_convolution_bwd_data_default)     \
    X(convlens_convolution_bwd_filter_desc, convlens_convolution_bwd_filter_default) \
    X(convlens_convolution_bwd_bias_desc, convlens_convolution_bwd_bias_default)     \
    X(convlens_transposed_convolution_desc, convlens_transposed_convolution_default) \
    X(convlens_fully_connected_desc, convlens_fully_connected_default)               \
    X(convlens_pooling_desc, convlens_pooling_default)                               \
    X(convlens_activation_desc, convlens_activation_default)                         \
    X(convlens_batch_normalization_desc, convlens_batch_normalization_default)       \
    X(convlens_elementwise_desc, convlens_elementwise_default)                       \
    X(convlens_softmax_desc, convlens_softmax_default)                               \
    X(convlens_lrn_desc, convlens_lrn_default)                                       \
    X(convlens_concat_desc, convlens_concat_default)                                 \
    X(convlens_transform_desc, convlens_transform_default)                           \
    X(convlens_device_info, convlens_device_info_default)                            \
    X(convlens_context_options, convlens_context_options_default)                    \
    X(convlens_plan_options, convlens_plan_options_default)                          \
    X(convlens_plan_info, convlens_plan_info_default)                                \
    X(convlens_arguments, convlens_arguments_default)                                \
    X(convlens_candidate, convlens_candidate_default)                                \
    X(convlens_find_options, convlens_find_options_default)

size_t c_struct_sizes(size_t* sizes, size_t most) {
    size_t count = 0;
#define SIZE(name, make) \
    if (count < most) sizes[count++] = sizeof(name);
    EACH_STRUCT(SIZE)
#undef SIZE
    return count;
}

size_t c_default_sizes(size_t* sizes, size_t most) {
    size_t count = 0;
#define DEFAULT(name, make) \
    if (count < most) sizes[count++] = make().struct_size;
    EACH_STRUCT(DEFAULT)
#undef DEFAULT
    return count;
}

int c_small_convolution(void) {
    /* 1x1x2x3 with a 1x1x1x2 filter on the processor: differences of neighbours along W. */
    const float src[6] = {1, 4, 9, 16, 25, 36};
    const float filter[2] = {-1, 1};
    const float expected[4] = {3, 5, 9, 11};
    float dst[4] = {0, 0, 0, 0};
    const void* sources[1];
    int i;
    convlens_context* context = NULL;
    convlens_problem* problem = NULL;
    convlens_plan* plan = NULL;
    void* packed = NULL;
    convlens_plan_options options = convlens_plan_options_default();
    convlens_plan_info info = convlens_plan_info_default();
    convlens_arguments arguments = convlens_arguments_default();
    convlens_convolution_desc desc = convlens_convolution_default();
    if (convlens_tensor_packed(&desc.src, CONVLENS_F32, convlens_dims4(1, 1, 2, 3))) return 1;
    if (convlens_tensor_packed(&desc.dst, CONVLENS_F32, convlens_dims4(1, 1, 2, 2))) return 2;
    desc.weights = convlens_dims4(1, 1, 1, 2);
    desc.window = convlens_window_unit(2);
    if (convlens_context_create(NULL, &context)) return 3;
    if (convlens_problem_create_convolution(&desc, &problem)) return 4;
    options.algorithm = "direct";
    if (convlens_plan_create(context, problem, &options, &plan)) return 5;
    if (convlens_plan_get_info(plan, &info)) return 6;
    if (info.workspace_bytes != 0 || info.weights_bytes != sizeof filter) return 7;
    if (convlens_allocate(context, info.packed_bytes, &packed)) return 8;
    if (convlens_plan_pack_weights(plan, context, filter, packed)) return 9;
    sources[0] = src;
    arguments.sources = sources;
    arguments.source_count = 1;
    arguments.weights = packed;
    arguments.dst = dst;
    if (convlens_plan_execute(plan, context, &arguments)) return 10;
    for (i = 0; i < 4; ++i)
        if (dst[i] < expected[i] || dst[i] > expected[i]) return 11;
    if (convlens_release(context, packed)) return 12;
    if (convlens_plan_destroy(plan) || convlens_problem_destroy(problem)) return 13;
    return convlens_context_destroy(context) ? 14 : 0;
}

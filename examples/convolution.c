/* A convolution forward and both its gradients through the C interface, in memory and workspace of the
 * caller.
 *
 *   convolution [cpu|cuda]
 *
 * Prints what each candidate says, runs the library's choice, and compares three numbers that must be equal:
 * <dy, conv(x, w)>, <dx, x> and <dw, w>. Exit status 0 when they are. */
#include <convlens/convlens.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(convlens_status status) {
    if (status == CONVLENS_SUCCESS) return;
    fprintf(stderr, "convolution: %s: %s\n", convlens_status_text(status), convlens_last_error());
    exit(1);
}

/* `count` numbers from -1 to 1, always the same. */
static float* random_numbers(size_t count, uint32_t seed) {
    float* numbers = malloc(count * sizeof *numbers);
    size_t i;
    if (numbers == NULL) exit(1);
    for (i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        numbers[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
    return numbers;
}

static double dot(const float* a, const float* b, size_t count) {
    double sum = 0;
    size_t i;
    for (i = 0; i < count; ++i) sum += (double)a[i] * (double)b[i];
    return sum;
}

static void* to_backend(convlens_context* context, const void* host, size_t bytes) {
    void* memory = NULL;
    check(convlens_allocate(context, bytes, &memory));
    check(convlens_upload(context, memory, host, bytes));
    return memory;
}

static void print_candidates(convlens_context* context, const convlens_problem* problem) {
    convlens_candidates* list = NULL;
    size_t count = 0, i;
    check(convlens_candidates_create(context, problem, &list));
    check(convlens_candidates_count(list, &count));
    printf("%s\n", convlens_problem_operation(problem));
    for (i = 0; i < count; ++i) {
        convlens_candidate row = convlens_candidate_default();
        check(convlens_candidates_get(list, i, &row));
        if (row.applicable)
            printf("  %-24s yes, workspace %zu bytes%s\n", row.algorithm, row.workspace_bytes,
                   row.preferred ? "" : ", not preferred here");
        else
            printf("  %-24s no: %s\n", row.algorithm, row.reason);
    }
    check(convlens_candidates_destroy(list));
}

/* Makes a plan for the problem, runs it once and returns dst (`bytes` of it) in host memory. The problem is
 * destroyed. */
static float* run(convlens_context* context, convlens_problem* problem, const void* const* sources,
                  size_t source_count, const float* filter, size_t bytes) {
    convlens_plan* plan = NULL;
    convlens_plan_info info = convlens_plan_info_default();
    convlens_arguments arguments = convlens_arguments_default();
    void *packed = NULL, *workspace = NULL, *dst = NULL;
    float* result = malloc(bytes);
    if (result == NULL) exit(1);

    print_candidates(context, problem);
    check(convlens_plan_create(context, problem, NULL, &plan));
    check(convlens_plan_get_info(plan, &info));
    printf("  -> %s\n", info.algorithm);

    check(convlens_allocate(context, info.packed_bytes, &packed));
    check(convlens_plan_pack_weights(plan, context, filter, packed)); /* once */
    check(convlens_allocate(context, info.workspace_bytes, &workspace));
    check(convlens_allocate(context, bytes, &dst));

    arguments.sources = sources;
    arguments.source_count = source_count;
    arguments.weights = packed;
    arguments.dst = dst;
    arguments.workspace = workspace;
    arguments.workspace_bytes = info.workspace_bytes;
    check(convlens_plan_execute(plan, context, &arguments)); /* many times */
    check(convlens_download(context, result, dst, bytes));

    check(convlens_release(context, dst));
    check(convlens_release(context, workspace));
    check(convlens_release(context, packed));
    check(convlens_plan_destroy(plan));
    check(convlens_problem_destroy(problem));
    return result;
}

int main(int argc, char** argv) {
    enum { N = 2, C = 16, H = 20, W = 28, K = 24, R = 3, S = 3 };
    const size_t src_count = N * C * H * W, filter_count = K * C * R * S, dst_count = N * K * H * W;
    float* x = random_numbers(src_count, 1);
    float* w = random_numbers(filter_count, 2);
    float* dy = random_numbers(dst_count, 3);
    float *y, *dx, *dw;
    convlens_context_options options = convlens_context_options_default();
    convlens_context* context = NULL;
    convlens_problem* problem = NULL;
    convlens_convolution_desc forward = convlens_convolution_default();
    convlens_convolution_bwd_data_desc bwd_data = convlens_convolution_bwd_data_default();
    convlens_convolution_bwd_filter_desc bwd_filter = convlens_convolution_bwd_filter_default();
    const void* sources[2];
    const char* device = NULL;
    double of_y, of_dx, of_dw, scale;

    if (argc > 1 && strcmp(argv[1], "cuda") == 0) options.backend = CONVLENS_CUDA;
    check(convlens_context_create(&options, &context));
    check(convlens_context_device_text(context, &device));
    printf("ConvLens %s on %s\n", convlens_version(), device);

    /* Both tensors lie packed, N C H W; the window is 3 x 3 with a pad of 1, so that H and W stay. */
    check(convlens_tensor_packed(&forward.src, CONVLENS_F32, convlens_dims4(N, C, H, W)));
    check(convlens_tensor_packed(&forward.dst, CONVLENS_F32, convlens_dims4(N, K, H, W)));
    forward.weights = convlens_dims4(K, C, R, S);
    forward.window = convlens_window_unit(2);
    forward.window.pads_begin = forward.window.pads_end = convlens_dims2(1, 1);

    bwd_data.src = forward.dst;
    bwd_data.weights = forward.weights;
    bwd_data.dst = forward.src;
    bwd_data.window = forward.window;

    bwd_filter.src = forward.src;
    bwd_filter.diff = forward.dst;
    check(convlens_tensor_packed(&bwd_filter.dst, CONVLENS_F32, forward.weights));
    bwd_filter.window = forward.window;

    sources[0] = to_backend(context, x, src_count * sizeof *x);
    sources[1] = to_backend(context, dy, dst_count * sizeof *dy);
    check(convlens_problem_create_convolution(&forward, &problem));
    y = run(context, problem, sources, 1, w, dst_count * sizeof *y);
    check(convlens_problem_create_convolution_bwd_filter(&bwd_filter, &problem));
    dw = run(context, problem, sources, 2, NULL, filter_count * sizeof *dw);
    check(convlens_problem_create_convolution_bwd_data(&bwd_data, &problem));
    dx = run(context, problem, sources + 1, 1, w, src_count * sizeof *dx);
    check(convlens_release(context, (void*)sources[0]));
    check(convlens_release(context, (void*)sources[1]));
    check(convlens_context_destroy(context));

    of_y = dot(dy, y, dst_count);
    of_dx = dot(dx, x, src_count);
    of_dw = dot(dw, w, filter_count);
    scale = sqrt(dot(dy, dy, dst_count) * dot(y, y, dst_count));
    printf("<dy, conv(x, w)> %.5f  <dx, x> %.5f  <dw, w> %.5f\n", of_y, of_dx, of_dw);
    free(x), free(w), free(dy), free(y), free(dx), free(dw);
    if (fabs(of_y - of_dx) < 1e-5 * scale && fabs(of_y - of_dw) < 1e-5 * scale) return 0;
    fprintf(stderr, "convolution: the three numbers differ\n");
    return 1;
}

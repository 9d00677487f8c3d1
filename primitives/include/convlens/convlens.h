/* ConvLens: primitives for convolutional networks. The C interface (C99; also valid C++). The C++ one is convlens.hpp.
 *
 *   convlens_context* context;                        a backend: the processor, or a CUDA device
 *   convlens_context_create(NULL, &context);
 *   convlens_problem* problem;                        one operation: tensors and parameters, a checked value
 *   convlens_problem_create_convolution(&desc, &problem);
 *   convlens_plan* plan;                              an algorithm chosen for it, made once
 *   convlens_plan_create(context, problem, NULL, &plan);
 *   convlens_plan_pack_weights(plan, context, filter, packed);
 *   convlens_plan_execute(plan, context, &arguments);  many times: no allocation, no choice
 *
 * Results. Functions return a status; convlens_last_error() has the sentence to it, on the same thread. A function that
 * fails writes nothing, but sets the handle that it would have made to null. No C++ exception comes out.
 * Memory. Tensors, workspace and packed weights belong to the caller and lie in the memory of the backend: host memory for the
 * processor; device or managed memory of the context's GPU for CUDA, or what else that GPU can address. Plain weights,
 * structs and text are host memory. Text that a function hands out is UTF-8 and lives as long as its handle.
 * Handles are checked: null, destroyed, and one of another kind give CONVLENS_BAD_PARAMETER. Destroying null does nothing.
 * Threads. Any thread may call any function, but no two threads may use one context at the same time (its destruction
 * included). Problems and plans are never changed: several threads may use one, each with a context of its own, and destroy
 * it when all are done. Order. The work of a context is done in the order in which it was handed over; on CUDA in a stream.
 * Versions. Structs begin with struct_size, which _default() sets: later versions append fields, and fill what an older caller
 * does not have with the defaults. Units: sizes are bytes, lengths and strides are elements, times are milliseconds.
 */
#ifndef CONVLENS_CONVLENS_H
#define CONVLENS_CONVLENS_H

#include "convlens/c_problem.h"
#include "convlens/c_tensor.h"
#include "convlens/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is linked: "0.1.0" (static text), and as CONVLENS_VERSION has it. */
CONVLENS_API const char* convlens_version(void);
CONVLENS_API int32_t convlens_version_number(void);

/* ---------------------------------------------------------------------------------------------------- contexts */

typedef struct convlens_context convlens_context;

typedef int32_t convlens_backend;
enum { CONVLENS_CPU = 0, CONVLENS_CUDA = 1 };

/* A CUDA device of this machine. */
typedef struct convlens_device_info {
    size_t struct_size;
    int32_t number;
    int32_t compute_major, compute_minor;
    int32_t multiprocessors;
    uint64_t memory_bytes;
    char name[128];   /* "NVIDIA H200" */
    char pci[32];     /* "0000:01:00.0" */
    uint8_t uuid[16]; /* as Vulkan's deviceUUID */
} convlens_device_info;
static inline convlens_device_info convlens_device_info_default(void) {
    convlens_device_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    return info;
}
/* How many there are. Where there is none: CONVLENS_NOT_SUPPORTED with the reason and what would help, *count = 0. */
CONVLENS_API convlens_status convlens_cuda_device_count(int32_t* count);
/* The index-th of them, index from 0. CONVLENS_BAD_PARAMETER: info null, an index beyond the last. */
CONVLENS_API convlens_status convlens_cuda_device(int32_t index, convlens_device_info* info);

typedef struct convlens_context_options {
    size_t struct_size;
    convlens_backend backend; /* CONVLENS_CPU */
    int32_t threads;          /* processor: threads in all, the caller's included; 0: one a core */
    int32_t nice;             /* processor: added to the nice value of the other threads */
    int32_t device;           /* CUDA: device number */
    void* stream;             /* CUDA: the caller's cudaStream_t on that device; null: one of the context's own */
} convlens_context_options;
static inline convlens_context_options convlens_context_options_default(void) {
    convlens_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}
/* options null: the defaults. A user's stream stays the user's and must outlive the context; cudaStreamLegacy and
 * cudaStreamPerThread are accepted. On CUDA, functions that take a context leave its device the thread's current one.
 * CONVLENS_BAD_PARAMETER: context null, threads outside 0 to 1024, an unknown backend or device, a stream of another
 * device. CONVLENS_NOT_SUPPORTED: the backend is not in this build, or there is no device; the text says what would help. */
CONVLENS_API convlens_status convlens_context_create(const convlens_context_options* options,
                                                     convlens_context** context);
/* Work that was handed over is still done. Memory of convlens_allocate must be released before. */
CONVLENS_API convlens_status convlens_context_destroy(convlens_context* context);
/* Waits until the work handed over so far is done. CONVLENS_RUNTIME_FAILURE when some of it failed. */
CONVLENS_API convlens_status convlens_context_synchronize(convlens_context* context);
/* Later work goes to this stream (cudaStream_t) of the context's device; null: back to the context's own. The order between
 * the old and the new stream is the caller's. CONVLENS_BAD_PARAMETER: a stream of another device.
 * CONVLENS_NOT_SUPPORTED: the processor has no streams. */
CONVLENS_API convlens_status convlens_context_set_stream(convlens_context* context, void* stream);
/* The stream in use (cudaStream_t); null on the processor, which has done all work when a call returns. */
CONVLENS_API convlens_status convlens_context_get_stream(const convlens_context* context, void** stream);
/* "NVIDIA H200, compute capability 9.0"; the context's text. */
CONVLENS_API convlens_status convlens_context_device_text(const convlens_context* context, const char** text);

/* ------------------------------------------------------------------------------------------------------ memory */

/* Memory of the backend, 256-byte aligned, not cleared; 0 bytes give null. The caller's own memory serves as well.
 * CONVLENS_RUNTIME_FAILURE: there is not enough; the text names the size and what is free. */
CONVLENS_API convlens_status convlens_allocate(convlens_context* context, size_t bytes, void** memory);
/* Of convlens_allocate on the same context, once its work is done; null does nothing. */
CONVLENS_API convlens_status convlens_release(convlens_context* context, void* memory);
/* Copies from host memory to the backend's, after the work handed over so far; `host` may be changed after the return. The
 * two ranges may not overlap. CONVLENS_BAD_PARAMETER: a null pointer with bytes > 0. */
CONVLENS_API convlens_status convlens_upload(convlens_context* context, void* dst, const void* host, size_t bytes);
/* Copies to host memory after the work handed over so far, and waits. */
CONVLENS_API convlens_status convlens_download(convlens_context* context, void* host, const void* src, size_t bytes);
/* Sets each byte of the backend's memory to `value` (0 to 255), after the work handed over so far. */
CONVLENS_API convlens_status convlens_fill(convlens_context* context, void* dst, int32_t value, size_t bytes);

/* ------------------------------------------------------------------------------------------------------- plans */

typedef struct convlens_plan convlens_plan;

/* How far a result may be from a double reference; docs/primitives.md has the bounds. */
typedef int32_t convlens_error_class;
enum {
    CONVLENS_ERROR_EXACT_ORDER = 0,
    CONVLENS_ERROR_FP32 = 1,
    CONVLENS_ERROR_WINOGRAD = 2,
    CONVLENS_ERROR_FFT = 3,
    CONVLENS_ERROR_TF32 = 4,
    CONVLENS_ERROR_FP16 = 5,
    CONVLENS_ERROR_BF16 = 6
};
/* How exact an answer must at least be: FP32 admits the first four classes; TF32 that one too; FP16 and BF16 TF32 and their
 * own. Tensors of f16 and bf16 always admit their own. */
typedef int32_t convlens_precision;
enum {
    CONVLENS_PRECISION_FP32 = 0,
    CONVLENS_PRECISION_TF32 = 1,
    CONVLENS_PRECISION_FP16 = 2,
    CONVLENS_PRECISION_BF16 = 3
};

typedef struct convlens_plan_options {
    size_t struct_size;
    const char* algorithm;  /* a row's name or a family's ("winograd"); null: the library's choice */
    size_t workspace_limit; /* bytes; SIZE_MAX */
    convlens_precision precision;
    int32_t cached; /* 1: without a name, the quickest row that convlens_find has remembered for this very problem, device and
                       version (docs/primitives.md has the cache file), if it still serves; else the library's choice */
} convlens_plan_options;
static inline convlens_plan_options convlens_plan_options_default(void) {
    convlens_plan_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.workspace_limit = SIZE_MAX;
    return options;
}
/* Takes the named algorithm, else the first of the operation's list that is applicable, admitted, preferred at this size and
 * within the workspace limit. options null: the defaults. The plan is for contexts of the same backend and device, and lives
 * on without context and problem. With CONVLENS_LOG=plan in the environment every call prints all rows to standard error.
 * CONVLENS_BAD_PARAMETER: a null pointer, an unknown algorithm or precision.
 * CONVLENS_NOT_SUPPORTED: the named algorithm, or none, can do it; the text has the reasons. */
CONVLENS_API convlens_status convlens_plan_create(convlens_context* context, const convlens_problem* problem,
                                                  const convlens_plan_options* options, convlens_plan** plan);
CONVLENS_API convlens_status convlens_plan_destroy(convlens_plan* plan);

typedef struct convlens_plan_info {
    size_t struct_size;
    const char* operation; /* text of the plan's */
    const char* algorithm;
    convlens_error_class error_class;
    int32_t deterministic;   /* 1: the same bits every time */
    size_t workspace_bytes;  /* what convlens_arguments.workspace must have */
    size_t packed_bytes;     /* of the packed weights; 0: no weights */
    size_t weights_bytes;    /* of the plain weights that packing reads */
    double flops;            /* of the direct method */
    double executed_flops;   /* what the algorithm does */
    double bytes;            /* each element of sources, weights and dst moved once */
} convlens_plan_info;
static inline convlens_plan_info convlens_plan_info_default(void) {
    convlens_plan_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    return info;
}
CONVLENS_API convlens_status convlens_plan_get_info(const convlens_plan* plan, convlens_plan_info* info);

/* Brings plain weights (host memory, weights_bytes, the problem's order) into the form that the plan reads: packed_bytes at
 * `packed`, which is 64-byte aligned memory of the backend. With context null `packed` is host memory on every backend, to
 * be copied by the caller. The two may not overlap. Does nothing for operations without weights.
 * CONVLENS_BAD_PARAMETER: a null pointer, `packed` not aligned, a context of another backend or device. */
CONVLENS_API convlens_status convlens_plan_pack_weights(const convlens_plan* plan, convlens_context* context,
                                                        const void* weights, void* packed);

/* All pointers but `sources` itself are memory of the plan's backend. Tensors need the alignment of their element only. */
typedef struct convlens_arguments {
    size_t struct_size;
    const void* const* sources; /* host array: the sources in the order that the problem states */
    size_t source_count;        /* absent trailing sources may be left out; others are null where they are absent */
    const void* weights;        /* packed by convlens_plan_pack_weights */
    void* dst;
    void* workspace; /* 64-byte aligned, need not be clean; null where the plan needs none */
    size_t workspace_bytes;
} convlens_arguments;
static inline convlens_arguments convlens_arguments_default(void) {
    convlens_arguments arguments;
    memset(&arguments, 0, sizeof arguments);
    arguments.struct_size = sizeof arguments;
    return arguments;
}
/* Runs. On the processor it is done when the call returns; on CUDA it has been handed over to the context's stream, and may
 * be captured in a graph there. Several executions need a workspace each unless they follow in one stream.
 * CONVLENS_BAD_PARAMETER, with nothing written: a null pointer, too few or too many sources, a workspace that is smaller than
 * workspace_bytes of the plan or not aligned, memory that surely overlaps what is written, a context of another backend or
 * device, on CUDA a pointer to host memory that the device can't address. CONVLENS_RUNTIME_FAILURE: the device refused the
 * launch. */
CONVLENS_API convlens_status convlens_plan_execute(const convlens_plan* plan, convlens_context* context,
                                                   const convlens_arguments* arguments);

/* --------------------------------------------------------------------------------- candidates, heuristic, find */

/* A list of algorithms for one problem, each with what is known of it. */
typedef struct convlens_candidates convlens_candidates;

typedef struct convlens_candidate {
    size_t struct_size;
    const char* algorithm; /* text of the list's */
    const char* reason;    /* why it is not applicable; "" when it is */
    const char* failure;   /* convlens_find: what went wrong when it was tried; "" when nothing did */
    int32_t applicable;
    int32_t preferred; /* likely the fastest at this size */
    convlens_error_class error_class;
    int32_t deterministic;
    size_t workspace_bytes; /* valid, as the next four, when applicable */
    size_t packed_bytes;
    double flops, executed_flops, bytes;
    int32_t measured; /* convlens_find timed it: the times are valid */
    int32_t samples;
    double median_ms, p10_ms, p90_ms;
    double cold_ms;   /* median with nothing of the problem in the last cache; negative, as the next two: not measured */
    double cpu_ms;    /* processor: median of what all threads of the process took for a run */
    double max_error; /* largest |y - reference| / largest |reference| against the last row */
} convlens_candidate;
static inline convlens_candidate convlens_candidate_default(void) {
    convlens_candidate candidate;
    memset(&candidate, 0, sizeof candidate);
    candidate.struct_size = sizeof candidate;
    return candidate;
}
/* Every algorithm of the operation in the list's order (best first, the naive reference last): applicable, or why not.
 * Nothing runs. The list lives on without context and problem. CONVLENS_BAD_PARAMETER: a null pointer. */
CONVLENS_API convlens_status convlens_candidates_create(convlens_context* context, const convlens_problem* problem,
                                                        convlens_candidates** candidates);
/* Without running: the rows that convlens_plan_create would take with these options (null: the defaults; its `algorithm` is
 * ignored), the one that it takes first. May be empty. */
CONVLENS_API convlens_status convlens_heuristic(convlens_context* context, const convlens_problem* problem,
                                                const convlens_plan_options* options,
                                                convlens_candidates** candidates);

typedef struct convlens_find_options {
    size_t struct_size;
    size_t workspace_limit;     /* bytes; SIZE_MAX */
    int32_t samples;            /* 10; of each algorithm, fewer when the time is over, at least 1 */
    int32_t measure_error;      /* 1 */
    int32_t peers;              /* 1: rows of other libraries too */
    int32_t remember;           /* 1: writes what was measured to the user's cache file, for `cached` of plan options */
    int32_t warm;               /* 1: a run that is not timed goes before each sample */
    int32_t recorded;           /* 1: on CUDA samples are runs of a graph, without what handing over costs */
    size_t cold_bytes;          /* not 0: beside each sample one after so many bytes were written, more than a cache has */
    double budget_ms;           /* 2000; for the whole call */
    uint64_t seed;              /* 1; of the random data */
    const void* const* sources; /* real data in the problem's tensors (backend memory); null: random numbers of unit scale */
    size_t source_count;        /* as in convlens_arguments, complete */
    const void* weights;        /* plain, host memory; null: random */
    int32_t (*cancelled)(void* user); /* asked between samples; not 0 ends the search; may be null */
    void* user;
} convlens_find_options;
static inline convlens_find_options convlens_find_options_default(void) {
    convlens_find_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.workspace_limit = SIZE_MAX;
    options.samples = 10;
    options.measure_error = 1;
    options.budget_ms = 2000.0;
    options.seed = 1;
    return options;
}
/* Times every applicable algorithm, one in turn with the others after a warm-up, in buffers of its own, and waits; all rows in
 * the list's order. An algorithm that fails says so in its row. CONVLENS_BAD_PARAMETER: a null pointer, a wrong number of
 * sources. CONVLENS_RUNTIME_FAILURE: no memory for the data. */
CONVLENS_API convlens_status convlens_find(convlens_context* context, const convlens_problem* problem,
                                           const convlens_find_options* options, convlens_candidates** candidates);

CONVLENS_API convlens_status convlens_candidates_count(const convlens_candidates* candidates, size_t* count);
/* CONVLENS_BAD_PARAMETER: a null pointer, an index beyond the last. */
CONVLENS_API convlens_status convlens_candidates_get(const convlens_candidates* candidates, size_t index,
                                                     convlens_candidate* candidate);
CONVLENS_API convlens_status convlens_candidates_destroy(convlens_candidates* candidates);

#ifdef __cplusplus
}
#endif

#endif

// cuDNN's backend (graph) interface of the major version 9, as far as it is used here (own declarations).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace convlens::cudnn {

using Handle = void*;
using Descriptor = void*;

// Enumerators by their values in cudnn_graph.h of 9.x.
inline constexpr int success = 0;
enum DescriptorType : int {
    convolution_descriptor = 1,
    engine_descriptor = 2,
    engine_config_descriptor = 3,
    engine_heuristic_descriptor = 4,
    execution_plan_descriptor = 5,
    forward_descriptor = 10,
    backward_filter_descriptor = 11,
    backward_data_descriptor = 12,
    graph_descriptor = 15,
    variant_pack_descriptor = 16,
    tensor_descriptor = 17,
};
enum Type : int {
    handle_type = 0,
    data_type = 1,
    int64_type = 3,
    float_type = 4,
    pointer_type = 6,
    convolution_mode_type = 7,
    heuristic_mode_type = 8,
    numerical_note_type = 11,
    descriptor_type = 15,
};
enum Attribute : int {
    convolution_compute_type = 100,
    convolution_mode = 101,
    convolution_dilations = 102,
    convolution_strides = 103,
    convolution_pads_end = 104,
    convolution_pads_begin = 105,
    convolution_spatial_rank = 106,
    heuristic_mode = 200,
    heuristic_graph = 201,
    heuristic_results = 202,
    config_engine = 300,
    plan_handle = 400,
    plan_config = 401,
    plan_workspace_bytes = 402,
    // Each direction's alpha, beta, convolution and three tensors follow one another.
    forward_alpha = 700,
    backward_data_alpha = 706,
    backward_filter_alpha = 712,
    graph_handle = 800,
    graph_operations = 801,
    tensor_alignment = 900,
    tensor_data_type = 901,
    tensor_dims = 902,
    tensor_strides = 903,
    tensor_id = 906,
    pack_ids = 1000,
    pack_pointers = 1001,
    pack_workspace = 1003,
    engine_numerical_notes = 1303,
};
inline constexpr int data_f32 = 0, data_f16 = 2, data_bf16 = 9;
inline constexpr int mode_convolution = 0, mode_cross_correlation = 1;
inline constexpr int heuristic_fallback = 2, heuristic_a = 3;
inline constexpr int note_tensor_core = 0, note_down_convert = 1, note_fft = 3, note_nondeterministic = 4,
                     note_winograd = 5;

struct Library {
    std::string why_not;  // empty: it can be used
    std::string text;     // version and file

    std::size_t (*version)() = nullptr;
    const char* (*error_text)(int status) = nullptr;
    int (*create)(Handle*) = nullptr;
    int (*set_stream)(Handle, void* stream) = nullptr;
    int (*descriptor_create)(int type, Descriptor*) = nullptr;
    int (*descriptor_destroy)(Descriptor) = nullptr;
    int (*set_attribute)(Descriptor, int name, int type, std::int64_t count, const void* values) = nullptr;
    int (*get_attribute)(Descriptor, int name, int type, std::int64_t wanted, std::int64_t* count,
                         void* values) = nullptr;
    int (*finalize)(Descriptor) = nullptr;
    int (*execute)(Handle, Descriptor plan, Descriptor pack) = nullptr;
};

// Opened once; never closed. Looks at CONVLENS_CUDNN (a file or its folder), then where the loader looks,
// then beside each python3 of PATH for the wheel nvidia-cudnn.
const Library& library();

}  // namespace convlens::cudnn

// oneDNN's C interface of the major version 2, as far as it is used here (libdnnl.so.2; own declarations).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace convlens::onednn {

struct Engine;
struct Stream;
struct Attributes;
struct PrimitiveDesc;
struct ConstPrimitiveDesc;
struct Primitive;
struct Memory;

inline constexpr int max_dims = 12;
using DnnlDims = std::int64_t[max_dims];

// Plain values of oneDNN that only its own functions read or write: 696 and 5976 bytes in 2.6.
struct MemoryDesc {
    alignas(16) std::byte bytes[1024];
};
struct ConvolutionDesc {
    alignas(16) std::byte bytes[16384];
};
struct Argument {
    int what;
    Memory* memory;
};

// Enumerators by their values in dnnl_types.h of 2.x.
inline constexpr int success = 0;
inline constexpr int engine_cpu = 1, stream_in_order = 1;
inline constexpr int type_bf16 = 2, type_f32 = 3;
inline constexpr int tag_any = 1;
inline constexpr int prop_forward_inference = 96, prop_backward_data = 160, prop_backward_weights = 192;
inline constexpr int convolution_direct = 1;
inline constexpr int scratchpad_user = 1;
inline constexpr int query_weights_md = 131, query_diff_weights_md = 132, query_scratchpad_md = 136;
inline constexpr int arg_src = 1, arg_dst = 17, arg_weights = 33, arg_scratchpad = 80, arg_diff_src = 129,
                     arg_diff_dst = 145, arg_diff_weights = 161;

struct Version {
    int major, minor, patch;
    const char* hash;
    unsigned cpu_runtime, gpu_runtime;
};

struct Library {
    std::string why_not;  // empty: it can be used
    std::string text;     // version and file
    Engine* engine = nullptr;

    const Version* (*version)() = nullptr;
    int (*engine_create)(Engine**, int kind, std::size_t index) = nullptr;
    int (*stream_create)(Stream**, Engine*, unsigned flags) = nullptr;
    int (*stream_wait)(Stream*) = nullptr;
    int (*stream_destroy)(Stream*) = nullptr;
    int (*memory_desc_by_strides)(MemoryDesc*, int rank, const DnnlDims dims, int type,
                                  const DnnlDims strides) = nullptr;
    int (*memory_desc_by_tag)(MemoryDesc*, int rank, const DnnlDims dims, int type, int tag) = nullptr;
    int (*memory_desc_equal)(const MemoryDesc*, const MemoryDesc*) = nullptr;
    std::size_t (*memory_desc_size)(const MemoryDesc*) = nullptr;
    int (*forward_init)(ConvolutionDesc*, int prop, int algorithm, const MemoryDesc* src,
                        const MemoryDesc* weights, const MemoryDesc* bias, const MemoryDesc* dst,
                        const DnnlDims strides, const DnnlDims dilates, const DnnlDims pads_begin,
                        const DnnlDims pads_end) = nullptr;
    int (*backward_data_init)(ConvolutionDesc*, int algorithm, const MemoryDesc* diff_src,
                              const MemoryDesc* weights, const MemoryDesc* diff_dst, const DnnlDims strides,
                              const DnnlDims dilates, const DnnlDims pads_begin,
                              const DnnlDims pads_end) = nullptr;
    int (*backward_weights_init)(ConvolutionDesc*, int algorithm, const MemoryDesc* src,
                                 const MemoryDesc* diff_weights, const MemoryDesc* diff_bias,
                                 const MemoryDesc* diff_dst, const DnnlDims strides, const DnnlDims dilates,
                                 const DnnlDims pads_begin, const DnnlDims pads_end) = nullptr;
    int (*attributes_create)(Attributes**) = nullptr;
    int (*attributes_destroy)(Attributes*) = nullptr;
    int (*set_scratchpad_mode)(Attributes*, int mode) = nullptr;
    int (*primitive_desc_create)(PrimitiveDesc**, const ConvolutionDesc*, const Attributes*, Engine*,
                                 const PrimitiveDesc* forward_hint) = nullptr;
    int (*reorder_desc_create)(PrimitiveDesc**, const MemoryDesc* src, Engine*, const MemoryDesc* dst,
                               Engine*, const Attributes*) = nullptr;
    int (*primitive_desc_destroy)(PrimitiveDesc*) = nullptr;
    const MemoryDesc* (*query_md)(const PrimitiveDesc*, int what, int index) = nullptr;
    int (*primitive_create)(Primitive**, const PrimitiveDesc*) = nullptr;
    int (*primitive_execute)(const Primitive*, Stream*, int count, const Argument*) = nullptr;
    int (*primitive_destroy)(Primitive*) = nullptr;
    int (*memory_create)(Memory**, const MemoryDesc*, Engine*, void* data) = nullptr;
    int (*memory_set_data)(Memory*, void* data) = nullptr;
    int (*memory_destroy)(Memory*) = nullptr;
    // Of the OpenMP runtime that oneDNN brings; null where it has threads of another kind.
    void (*set_threads)(int) = nullptr;
};

// Opened once; never closed.
const Library& library();

}  // namespace convlens::onednn

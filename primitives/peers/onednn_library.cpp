#include "primitives/peers/onednn_library.h"

#include "primitives/peers/shared_library.h"

namespace convlens::onednn {
namespace {

bool find_all(Library& l, const SharedLibrary& file) {
    file.find(l.set_threads, "omp_set_num_threads");
    return file.find(l.engine_create, "dnnl_engine_create") &&
           file.find(l.stream_create, "dnnl_stream_create") && file.find(l.stream_wait, "dnnl_stream_wait") &&
           file.find(l.stream_destroy, "dnnl_stream_destroy") &&
           file.find(l.memory_desc_by_strides, "dnnl_memory_desc_init_by_strides") &&
           file.find(l.memory_desc_by_tag, "dnnl_memory_desc_init_by_tag") &&
           file.find(l.memory_desc_equal, "dnnl_memory_desc_equal") &&
           file.find(l.memory_desc_size, "dnnl_memory_desc_get_size") &&
           file.find(l.forward_init, "dnnl_dilated_convolution_forward_desc_init") &&
           file.find(l.backward_data_init, "dnnl_dilated_convolution_backward_data_desc_init") &&
           file.find(l.backward_weights_init, "dnnl_dilated_convolution_backward_weights_desc_init") &&
           file.find(l.attributes_create, "dnnl_primitive_attr_create") &&
           file.find(l.attributes_destroy, "dnnl_primitive_attr_destroy") &&
           file.find(l.set_scratchpad_mode, "dnnl_primitive_attr_set_scratchpad_mode") &&
           file.find(l.primitive_desc_create, "dnnl_primitive_desc_create") &&
           file.find(l.reorder_desc_create, "dnnl_reorder_primitive_desc_create") &&
           file.find(l.primitive_desc_destroy, "dnnl_primitive_desc_destroy") &&
           file.find(l.query_md, "dnnl_primitive_desc_query_md") &&
           file.find(l.primitive_create, "dnnl_primitive_create") &&
           file.find(l.primitive_execute, "dnnl_primitive_execute") &&
           file.find(l.primitive_destroy, "dnnl_primitive_destroy") &&
           file.find(l.memory_create, "dnnl_memory_create") &&
           file.find(l.memory_set_data, "dnnl_memory_set_data_handle") &&
           file.find(l.memory_destroy, "dnnl_memory_destroy");
}

Library open() {
    Library l;
    const SharedLibrary file = SharedLibrary::open({"libdnnl.so.2"});
    if (!file.is_open()) {
        l.why_not = "oneDNN was not found (" + file.why_not() + "); install Debian's libdnnl2";
        return l;
    }
    if (!file.find(l.version, "dnnl_version")) {
        l.why_not = "libdnnl.so.2 does not say its version; install Debian's libdnnl2";
        return l;
    }
    const Version& v = *l.version();
    l.text = "oneDNN " + std::to_string(v.major) + "." + std::to_string(v.minor) + "." +
             std::to_string(v.patch) + ", " + SharedLibrary::file_of(l.version);
    // Plain values of another major version have other sizes.
    if (v.major != 2 || !find_all(l, file) || l.engine_create(&l.engine, engine_cpu, 0) != success)
        l.why_not = l.text + " can't be used: version 2 is needed; install Debian's libdnnl2";
    return l;
}

}  // namespace

const Library& library() {
    static const Library* const opened = new Library(open());
    return *opened;
}

}  // namespace convlens::onednn

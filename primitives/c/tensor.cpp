// Status texts, versions, and tensors of the C interface.
#include "primitives/c/structs.h"

namespace convlens::c {

Dims to_dims(const convlens_dims& dims, const std::string& name) {
    if (dims.rank < 0 || dims.rank > CONVLENS_MAX_RANK)
        throw Error(Status::bad_parameter, name + ": rank " + std::to_string(dims.rank) + " is not in 0 to " +
                                               std::to_string(CONVLENS_MAX_RANK));
    check_reserved(dims.reserved, name);
    Dims result;
    for (std::int32_t i = 0; i < dims.rank; ++i) result.push_back(dims.values[i]);
    return result;
}

convlens_dims from_dims(const Dims& dims) { return convlens_dims_from(dims.rank(), dims.begin()); }

TensorDesc to_tensor(const convlens_tensor& tensor, const std::string& name) {
    check_reserved(tensor.reserved, name);
    return {to_enum<DataType>(tensor.type), to_dims(tensor.dims, name),
            to_dims(tensor.strides, name + " strides"), tensor.offset};
}

convlens_tensor from_tensor(const TensorDesc& tensor) {
    return {static_cast<convlens_data_type>(tensor.type), 0, from_dims(tensor.dims),
            from_dims(tensor.strides), tensor.offset};
}

WindowDesc to_window(const convlens_window& window) {
    return {to_dims(window.pads_begin, "pads_begin"), to_dims(window.pads_end, "pads_end"),
            to_dims(window.strides, "strides"), to_dims(window.dilations, "dilations")};
}

ActivationDesc to_activation(const convlens_activation& activation) {
    check_reserved(activation.reserved, "activation");
    return {to_enum<ActivationKind>(activation.kind), activation.alpha, activation.beta};
}

namespace {

using MakeTensor = TensorDesc (*)(const Dims& dims, DataType type);

convlens_status make_tensor(convlens_tensor* tensor, convlens_data_type type, const convlens_dims& dims,
                            MakeTensor make) {
    return guarded([&] {
        need(tensor, "tensor");
        if (convlens_data_type_size(type) == 0)
            throw Error(Status::bad_parameter, "type: " + std::to_string(type) + " does not exist");
        const TensorDesc made = make(to_dims(dims, "dims"), to_enum<DataType>(type));
        check_tensor(made, "dims", true);
        *tensor = from_tensor(made);
    });
}

}  // namespace
}  // namespace convlens::c

using namespace convlens;
using namespace convlens::c;

const char* convlens_status_text(convlens_status status) {
    if (status < CONVLENS_SUCCESS || status > CONVLENS_RUNTIME_FAILURE) return "unknown";
    return to_string(static_cast<Status>(status));
}

const char* convlens_version(void) { return version(); }
int32_t convlens_version_number(void) { return CONVLENS_VERSION; }

size_t convlens_data_type_size(convlens_data_type type) { return size_of(to_enum<DataType>(type)); }

convlens_status convlens_tensor_packed(convlens_tensor* tensor, convlens_data_type type, convlens_dims dims) {
    return make_tensor(tensor, type, dims, &TensorDesc::packed);
}

convlens_status convlens_tensor_channels_last(convlens_tensor* tensor, convlens_data_type type,
                                              convlens_dims dims) {
    return make_tensor(tensor, type, dims, &TensorDesc::channels_last);
}

convlens_status convlens_tensor_bytes(const convlens_tensor* tensor, size_t* bytes) {
    return guarded([&] {
        need(tensor, "tensor");
        need(bytes, "bytes");
        const TensorDesc desc = to_tensor(*tensor, "tensor");
        if (size_of(desc.type) == 0)
            throw Error(Status::bad_parameter,
                        "tensor: type " + std::to_string(tensor->type) + " does not exist");
        check_tensor(desc, "tensor", false);
        *bytes = desc.bytes();
    });
}

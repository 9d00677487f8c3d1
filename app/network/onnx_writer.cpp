#include <onnx/onnx_pb.h>

#include <fstream>
#include <set>

#include "app/network/graph.h"

namespace convlens::network {

namespace {

void write_constant(const Constant& constant, onnx::TensorProto& tensor) {
    for (const std::int64_t dim : constant.dims) tensor.add_dims(dim);
    const std::int64_t count = constant.elements();
    if (constant.is_real()) {
        tensor.set_data_type(onnx::TensorProto::FLOAT);
        const std::vector<float> values = constant.expanded();
        tensor.set_raw_data(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
        return;
    }
    const DataType type = constant.type;
    const bool wide = type == DataType::i64;
    tensor.set_data_type(wide                        ? onnx::TensorProto::INT64
                         : type == DataType::boolean ? onnx::TensorProto::BOOL
                         : type == DataType::i8      ? onnx::TensorProto::INT8
                         : type == DataType::u8      ? onnx::TensorProto::UINT8
                                                     : onnx::TensorProto::INT32);
    for (std::int64_t i = 0; i < count; ++i) {
        if (wide)
            tensor.add_int64_data(constant.integer(i));
        else
            tensor.add_int32_data(static_cast<std::int32_t>(constant.integer(i)));
    }
}

void write_attribute(const std::string& name, const Attribute& attribute, onnx::AttributeProto& proto) {
    using A = onnx::AttributeProto;
    proto.set_name(name);
    if (const auto* i = std::get_if<std::int64_t>(&attribute)) {
        proto.set_type(A::INT);
        proto.set_i(*i);
    } else if (const auto* f = std::get_if<float>(&attribute)) {
        proto.set_type(A::FLOAT);
        proto.set_f(*f);
    } else if (const auto* s = std::get_if<std::string>(&attribute)) {
        proto.set_type(A::STRING);
        proto.set_s(*s);
    } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&attribute)) {
        proto.set_type(A::INTS);
        for (const auto value : *ints) proto.add_ints(value);
    } else if (const auto* floats = std::get_if<std::vector<float>>(&attribute)) {
        proto.set_type(A::FLOATS);
        for (const auto value : *floats) proto.add_floats(value);
    } else if (const auto* tensor = std::get_if<ConstantPtr>(&attribute)) {
        proto.set_type(A::TENSOR);
        write_constant(**tensor, *proto.mutable_t());
    }
}

void write_value_info(const ValueInfo& info, onnx::ValueInfoProto& proto) {
    proto.set_name(info.name);
    auto& type = *proto.mutable_type()->mutable_tensor_type();
    type.set_elem_type(is_real(info.type) ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT64);
    type.mutable_shape();
    for (const auto& dim : info.dims) {
        auto& out = *type.mutable_shape()->add_dim();
        if (dim.value >= 0)
            out.set_dim_value(dim.value);
        else
            out.set_dim_param(dim.name);
    }
}

}  // namespace

void write_onnx(const Model& model, const std::string& path) {
    const Graph& graph = model.graph();
    onnx::ModelProto proto;
    proto.set_ir_version(8);
    auto& opset = *proto.add_opset_import();
    opset.set_domain("");
    opset.set_version(graph.opset);
    auto& out = *proto.mutable_graph();
    out.set_name(model.name());
    for (const auto& info : model.inputs()) write_value_info(info, *out.add_input());
    for (const auto& info : model.outputs()) write_value_info(info, *out.add_output());
    std::set<int> used(graph.outputs.begin(), graph.outputs.end());
    for (const auto& node : graph.nodes) {
        used.insert(node.inputs.begin(), node.inputs.end());
        auto& n = *out.add_node();
        n.set_name(node.name);
        n.set_op_type(node.op);
        n.set_domain(node.domain);
        const auto name_of = [&](int value) {
            return value < 0 ? std::string() : graph.values[static_cast<std::size_t>(value)].name;
        };
        for (const int value : node.inputs) n.add_input(name_of(value));
        for (const int value : node.outputs) n.add_output(name_of(value));
        for (const auto& [name, attribute] : node.attributes)
            write_attribute(name, attribute, *n.add_attribute());
    }
    for (const int value : used) {
        if (value < 0) continue;
        const auto& [name, constant] = graph.values[static_cast<std::size_t>(value)];
        if (!constant) continue;
        auto& tensor = *out.add_initializer();
        tensor.set_name(name);
        write_constant(*constant, tensor);
    }
    for (const auto& [key, value] : model.metadata()) {
        auto& entry = *proto.add_metadata_props();
        entry.set_key(key);
        entry.set_value(value);
    }
    if (proto.ByteSizeLong() > INT32_MAX)
        throw Error(Status::runtime_failure, path + ": the model is larger than 2 GiB and can't be written");
    std::ofstream stream(path, std::ios::binary);
    if (!stream || !proto.SerializeToOstream(&stream) || !stream.flush())
        throw Error(Status::runtime_failure,
                    path + ": can't be written; check the folder and the free space");
}

}  // namespace convlens::network

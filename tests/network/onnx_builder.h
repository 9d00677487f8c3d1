// Hand-built ONNX models, and running them.
#pragma once

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/network/executor.h"
#include "app/network/graph.h"

namespace convlens::network::testing {

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;

class Builder {
  public:
    explicit Builder(int opset, int ir = 8) {
        model.set_ir_version(ir);
        model.add_opset_import()->set_version(opset);
        model.mutable_graph()->set_name("test");
    }
    // A dim of -1 is symbolic under the name "D<axis>".
    Builder& input(const std::string& name, const Ints& dims, int type = onnx::TensorProto::FLOAT) {
        describe(*model.mutable_graph()->add_input(), name, dims, type);
        return *this;
    }
    Builder& output(const std::string& name) {
        auto& info = *model.mutable_graph()->add_output();
        info.set_name(name);
        info.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
        return *this;
    }
    Builder& weights(const std::string& name, const Ints& dims, const Floats& values) {
        fill(*model.mutable_graph()->add_initializer(), name, dims, values);
        return *this;
    }
    Builder& integers(const std::string& name, const Ints& dims, const Ints& values) {
        fill(*model.mutable_graph()->add_initializer(), name, dims, values);
        return *this;
    }
    onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& in,
                          const std::vector<std::string>& out, const std::string& name = "the_node") {
        auto& n = *model.mutable_graph()->add_node();
        n.set_op_type(op);
        n.set_name(name + std::to_string(model.graph().node_size()));
        for (const auto& i : in) n.add_input(i);
        for (const auto& o : out) n.add_output(o);
        return n;
    }
    std::string bytes() const { return model.SerializeAsString(); }

    static void fill(onnx::TensorProto& t, const std::string& name, const Ints& dims, const Floats& values) {
        t.set_name(name);
        t.set_data_type(onnx::TensorProto::FLOAT);
        for (const auto d : dims) t.add_dims(d);
        for (const auto v : values) t.add_float_data(v);
    }
    static void fill(onnx::TensorProto& t, const std::string& name, const Ints& dims, const Ints& values) {
        t.set_name(name);
        t.set_data_type(onnx::TensorProto::INT64);
        for (const auto d : dims) t.add_dims(d);
        for (const auto v : values) t.add_int64_data(v);
    }
    static void describe(onnx::ValueInfoProto& info, const std::string& name, const Ints& dims, int type) {
        info.set_name(name);
        auto& t = *info.mutable_type()->mutable_tensor_type();
        t.set_elem_type(type);
        t.mutable_shape();
        for (std::size_t i = 0; i < dims.size(); ++i) {
            auto& d = *t.mutable_shape()->add_dim();
            if (dims[i] >= 0)
                d.set_dim_value(dims[i]);
            else
                d.set_dim_param("D" + std::to_string(i));
        }
    }
    onnx::ModelProto model;
};

inline onnx::AttributeProto& attribute(onnx::NodeProto& node, const std::string& name,
                                       onnx::AttributeProto::AttributeType type) {
    auto& a = *node.add_attribute();
    a.set_name(name);
    a.set_type(type);
    return a;
}
inline onnx::NodeProto& set(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
    attribute(node, name, onnx::AttributeProto::INT).set_i(value);
    return node;
}
inline onnx::NodeProto& set(onnx::NodeProto& node, const std::string& name, int value) {
    return set(node, name, std::int64_t{value});
}
inline onnx::NodeProto& set(onnx::NodeProto& node, const std::string& name, float value) {
    attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
    return node;
}
inline onnx::NodeProto& set(onnx::NodeProto& node, const std::string& name, const char* value) {
    attribute(node, name, onnx::AttributeProto::STRING).set_s(value);
    return node;
}
inline onnx::NodeProto& set(onnx::NodeProto& node, const std::string& name, const Ints& values) {
    auto& a = attribute(node, name, onnx::AttributeProto::INTS);
    for (const auto v : values) a.add_ints(v);
    return node;
}

struct Result {
    Dims dims;
    Floats values;
};

inline Context& context() {
    static Context instance({.backend = Backend::cpu, .threads = 2});
    return instance;
}

// Runs a model on inputs in the model's order and returns its outputs.
inline std::vector<Result> run(const std::string& bytes, const std::vector<Floats>& inputs,
                               Mode mode = Mode::explore, const std::map<std::string, Dims>& dims = {}) {
    ExecutorOptions options;
    options.mode = mode;
    options.input_dims = dims;
    Executor executor(context(), Model::parse(bytes, ""), options);
    for (std::size_t i = 0; i < inputs.size(); ++i) executor.set_input(static_cast<int>(i), inputs[i].data());
    executor.run();
    std::vector<Result> results;
    for (const int output : executor.output_tensors())
        results.push_back(
            {executor.tensors()[static_cast<std::size_t>(output)].desc.dims, executor.copy(output)});
    return results;
}

// The message of the Error(bad_parameter) that the call must throw.
inline std::string refusal(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::bad_parameter) << error.what();
        return error.what();
    }
    ADD_FAILURE() << "nothing was refused";
    return {};
}
inline std::string refusal(const Builder& b) {
    return refusal([&] { (void)run(b.bytes(), {}); });
}

inline void expect_values(const Result& result, const Dims& dims, const Floats& values,
                          float tolerance = 1e-6f) {
    EXPECT_EQ(result.dims, dims) << result.dims.text();
    ASSERT_EQ(result.values.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_NEAR(result.values[i], values[i], tolerance) << "element " << i;
}

}  // namespace convlens::network::testing

// A network's graph inside the network room: constants, nodes in an order in which they can run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "app/network/model.h"
#include "convlens/error.h"
#include "convlens/tensor.h"

namespace convlens::network {

// A constant tensor. Real types are held as float32, integers and booleans as int64, whatever the file's
// type. `splat`: all elements equal and stored once (ConstantOfShape makes large ones).
struct Constant {
    DataType type = DataType::f32;  // f32, or the file's integer type
    Dims dims;
    bool splat = false;
    std::vector<float> floats;
    std::vector<std::int64_t> ints;

    bool is_real() const { return type == DataType::f32; }
    std::int64_t elements() const { return dims.product(); }
    float real(std::int64_t i) const { return floats[splat ? 0 : static_cast<std::size_t>(i)]; }
    std::int64_t integer(std::int64_t i) const { return ints[splat ? 0 : static_cast<std::size_t>(i)]; }
    // Element i as a float, whatever the type.
    float as_float(std::int64_t i) const { return is_real() ? real(i) : static_cast<float>(integer(i)); }
    std::vector<float> expanded() const;  // all elements as floats
    // The same elements under other dims (of equal product).
    std::shared_ptr<const Constant> reshaped(const Dims& new_dims) const;
    static std::shared_ptr<const Constant> of_floats(const Dims& dims, std::vector<float> values);
    static std::shared_ptr<const Constant> of_ints(const Dims& dims, std::vector<std::int64_t> values);
};
using ConstantPtr = std::shared_ptr<const Constant>;

// Elements that all constants of one model may have together, and one tensor of a running network.
inline constexpr std::int64_t max_constant_elements = std::int64_t{1} << 30;
inline constexpr std::int64_t max_tensor_elements = std::int64_t{1} << 31;

bool is_real(DataType type) noexcept;

// An attribute whose form is not held (graphs, sparse tensors, lists of tensors) is `Unreadable` with its
// name.
struct Unreadable {
    std::string form;
};
using Attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                               std::vector<float>, ConstantPtr, Unreadable>;

struct Node {
    std::string name;  // unique within the graph
    std::string op;
    std::string domain;                // "" for ai.onnx
    std::vector<int> inputs, outputs;  // values; -1: absent
    std::map<std::string, Attribute> attributes;
};

struct Value {
    std::string name;
    ConstantPtr constant;  // null: computed or a graph input
};

struct Graph {
    std::int64_t opset = 0;  // of the default domain
    std::vector<Value> values;
    std::vector<Node> nodes;  // every node stands after the makers of its inputs
    std::vector<int> inputs, outputs;
};

// "conv1 (Conv)", for messages.
std::string node_text(const Node& node);
// Error(bad_parameter): "node conv1 (Conv): <reason>". `status` not_supported is turned into the same: a
// model that can't be run is the caller's input.
[[noreturn]] void refuse(const Node& node, const std::string& reason);

// Replaces nodes whose inputs are all constants by their values, and drops nodes that no output needs.
void fold_graph(Graph& graph);

// What the reader hands over.
struct ParsedModel {
    std::string name;
    std::map<std::string, std::string> metadata;
    std::vector<ValueInfo> inputs, outputs;
    Graph graph;
};
ParsedModel read_onnx(const std::string& bytes, const std::string& path);

// Makes a Model of parts (tests, conformance). Checks that each node's operator is known.
std::shared_ptr<const Model> make_model(ParsedModel parsed, const std::string& path);

// The same model with some graph inputs turned into constants (names that are no inputs are left out of
// account).
std::shared_ptr<const Model> bind_inputs(const Model& model,
                                         const std::map<std::string, ConstantPtr>& values);

// Writes the model with its present constants as initializers. Throws Error(runtime_failure) when it can't be
// written.
void write_onnx(const Model& model, const std::string& path);

// Reads a file that holds one TensorProto. Throws Error(bad_parameter).
ConstantPtr read_tensor_file(const std::string& path);

}  // namespace convlens::network

// Lowering of one node to operations. A handler sees its node's inputs by dims or constants, declares outputs
// and emits operations; it holds the operator's shape rule and every check.
#pragma once

#include <string>
#include <unordered_map>

#include "app/network/attributes.h"
#include "app/network/program.h"
#include "app/network/shape_rules.h"

namespace convlens::network {

// What a value of the graph is while a program is built.
struct LoweredValue {
    int tensor = -1;
    ConstantPtr constant;
    DataType type = DataType::f32;
    bool known() const { return tensor >= 0 || constant != nullptr; }
};

class Lowering {
  public:
    Lowering(const Node& node, std::int64_t opset, Program& program, std::vector<LoweredValue>& values)
        : node_(node), opset_(opset), program_(program), values_(values) {}

    const Node& node() const { return node_; }
    std::int64_t opset() const { return opset_; }
    std::size_t inputs() const { return node_.inputs.size(); }
    bool has(std::size_t i) const { return i < node_.inputs.size() && node_.inputs[i] >= 0; }
    bool has_output(std::size_t i) const { return i < node_.outputs.size() && node_.outputs[i] >= 0; }
    // The number of inputs must lie in [least, most].
    void expect_inputs(std::size_t least, std::size_t most) const;
    const Dims& dims(std::size_t i) const;
    // As a source; integer constants become floats, computed integers are refused.
    Operand operand(std::size_t i) const;
    // Null when the input is computed.
    ConstantPtr constant(std::size_t i) const;
    // Refuses a computed input: `what` must be constant.
    ConstantPtr required_constant(std::size_t i, const char* what) const;
    // Integers from input i, or from the attribute where the input is absent.
    std::optional<Integers> list(std::size_t i, const char* name) const;

    // Declares output i with dims and returns its tensor.
    int output(const Dims& dims, std::size_t i = 0);
    void constant_output(std::size_t i, ConstantPtr constant);
    int temporary(const Dims& dims);
    Operation& emit(Problem problem, std::vector<Operand> sources, int output);
    // `source` under other dims.
    Operand reshape(const Operand& source, const Dims& dims);
    void reshape_into(const Operand& source, int output);
    Dims dims_of(const Operand& operand) const;
    [[noreturn]] void refuse(const std::string& reason) const { network::refuse(node_, reason); }

  private:
    const LoweredValue& value(std::size_t i) const;
    const Node& node_;
    std::int64_t opset_;
    Program& program_;
    std::vector<LoweredValue>& values_;
    int temporaries_ = 0, emitted_ = 0;
};

using Handler = void (*)(Lowering&);
struct OperatorRow {
    const char* op;
    std::int64_t first_opset;
    Handler handler;
};
// The rows of each lower_*.cpp.
std::vector<OperatorRow> window_operators();
std::vector<OperatorRow> dense_operators();
std::vector<OperatorRow> elementwise_operators();
std::vector<OperatorRow> shape_operators();
std::vector<OperatorRow> resize_operators();

// Refuses a node whose operator is not known here at this opset.
void check_operator(const Node& node, std::int64_t opset);

// Dims-only descriptor of f32.
TensorDesc shape_only(const Dims& dims);

}  // namespace convlens::network

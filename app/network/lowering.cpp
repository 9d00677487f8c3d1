#include "app/network/lowering.h"

#include <algorithm>

#include "app/network/fold.h"

namespace convlens::network {

TensorDesc shape_only(const Dims& dims) { return TensorDesc::packed(dims); }

void Lowering::expect_inputs(std::size_t least, std::size_t most) const {
    std::size_t present = 0;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
        if (node_.inputs[i] >= 0)
            ++present;
        else if (i < least)
            refuse("input " + std::to_string(i) + " is missing");
    }
    if (present < least || node_.inputs.size() > most)
        refuse(std::to_string(node_.inputs.size()) + " inputs, it takes " + std::to_string(least) +
               (most > least ? " to " + std::to_string(most) : ""));
    if (node_.outputs.empty() || node_.outputs[0] < 0) refuse("its first output has no name");
}

const LoweredValue& Lowering::value(std::size_t i) const {
    if (!has(i)) refuse("input " + std::to_string(i) + " is missing");
    const LoweredValue& value = values_[static_cast<std::size_t>(node_.inputs[i])];
    if (!value.known())
        refuse("input " + std::to_string(i) + " is a further output of a node that can't be computed here");
    return value;
}

const Dims& Lowering::dims(std::size_t i) const {
    const LoweredValue& v = value(i);
    return v.constant ? v.constant->dims : program_.tensors[static_cast<std::size_t>(v.tensor)].dims;
}

Operand Lowering::operand(std::size_t i) const {
    const LoweredValue& v = value(i);
    if (v.constant) return {-1, v.constant, {}};
    if (!is_real(v.type))
        refuse("its input " + program_.tensors[static_cast<std::size_t>(v.tensor)].name + " is of type " +
               to_string(v.type) + "; only real numbers can be computed with, cast it in the model");
    return Operand::of(v.tensor);
}

ConstantPtr Lowering::constant(std::size_t i) const { return value(i).constant; }

ConstantPtr Lowering::required_constant(std::size_t i, const char* what) const {
    ConstantPtr result = constant(i);
    if (!result) refuse(std::string(what) + " must be constant, not computed by the network");
    return result;
}

std::optional<Integers> Lowering::list(std::size_t i, const char* name) const {
    if (has(i)) return integers_of(node_, *required_constant(i, name), name);
    return integers_attribute(node_, name);
}

int Lowering::output(const Dims& dims, std::size_t i) {
    if (dims.product() > max_tensor_elements)
        refuse("its result " + dims.text() + " has more than " + std::to_string(max_tensor_elements) +
               " elements");
    if (!has_output(i)) return temporary(dims);
    LoweredValue& v = values_[static_cast<std::size_t>(node_.outputs[i])];
    v.tensor = static_cast<int>(program_.tensors.size());
    ProgramTensor tensor;
    tensor.dims = dims;
    program_.tensors.push_back(tensor);
    return v.tensor;
}

void Lowering::constant_output(std::size_t i, ConstantPtr constant) {
    if (has_output(i)) values_[static_cast<std::size_t>(node_.outputs[i])].constant = std::move(constant);
}

int Lowering::temporary(const Dims& dims) {
    if (dims.product() > max_tensor_elements)
        refuse("an inner result " + dims.text() + " has more than " + std::to_string(max_tensor_elements) +
               " elements");
    ProgramTensor tensor;
    tensor.name = node_.name + "/" + std::to_string(++temporaries_);
    tensor.dims = dims;
    program_.tensors.push_back(tensor);
    return static_cast<int>(program_.tensors.size()) - 1;
}

Operation& Lowering::emit(Problem problem, std::vector<Operand> sources, int output) {
    Operation operation;
    operation.name = emitted_ == 0 ? node_.name : node_.name + "/" + std::to_string(emitted_);
    ++emitted_;
    operation.op = node_.op;
    operation.problem = std::move(problem);
    operation.sources = std::move(sources);
    operation.output = output;
    program_.operations.push_back(std::move(operation));
    return program_.operations.back();
}

void Lowering::reshape_into(const Operand& source, int output) {
    const Dims& to = program_.tensors[static_cast<std::size_t>(output)].dims;
    if (source.constant) {
        TransformProblem problem;
        problem.src = problem.dst = shape_only(to);
        emit(problem, {{-1, source.constant->reshaped(to), {}}}, output);
        return;
    }
    emit(TransformProblem{}, {source}, output).is_reshape = true;
}

Operand Lowering::reshape(const Operand& source, const Dims& to) {
    if (source.constant) return {-1, source.constant->reshaped(to), {}};
    if (program_.tensors[static_cast<std::size_t>(source.tensor)].dims == to) return source;
    const int output = temporary(to);
    reshape_into(source, output);
    return Operand::of(output);
}

Dims Lowering::dims_of(const Operand& operand) const {
    return operand.constant ? operand.constant->dims
                            : program_.tensors[static_cast<std::size_t>(operand.tensor)].dims;
}

namespace {

const std::unordered_map<std::string, OperatorRow>& operators() {
    static const auto table = [] {
        std::unordered_map<std::string, OperatorRow> all;
        for (const auto& rows : {window_operators(), dense_operators(), elementwise_operators(),
                                 shape_operators(), resize_operators()})
            for (const OperatorRow& row : rows) all.emplace(row.op, row);
        return all;
    }();
    return table;
}

bool is_shape_only(const Node& node) {
    return node.domain.empty() && (node.op == "Shape" || node.op == "Size");
}

Dims input_dims_of(const ValueInfo& info, const std::map<std::string, Dims>& given, std::int64_t default_side,
                   std::map<std::string, std::int64_t>& symbols) {
    const auto at = given.find(info.name);
    const auto fail = [&](const std::string& why) -> void {
        throw Error(Status::bad_parameter, "input " + info.name + ": " + why);
    };
    Dims dims;
    if (at != given.end()) {
        dims = at->second;
        // A model that states no shape takes any.
        if (!info.dims.empty() && dims.rank() != static_cast<int>(info.dims.size()))
            fail("the dims " + dims.text() + " were given, it has " + std::to_string(info.dims.size()) +
                 " axes");
    } else {
        for (std::size_t i = 0; i < info.dims.size(); ++i) {
            const auto known = symbols.find(info.dims[i].name);
            const bool symbolic = info.dims[i].value < 0;
            dims.push_back(!symbolic                                              ? info.dims[i].value
                           : !info.dims[i].name.empty() && known != symbols.end() ? known->second
                           : i < 2                                                ? 1
                                                                                  : default_side);
        }
    }
    std::int64_t elements = 1;
    for (int i = 0; i < dims.rank(); ++i) {
        if (dims[i] < 0) fail("the dim " + std::to_string(i) + " is negative");
        if (__builtin_mul_overflow(elements, std::max<std::int64_t>(dims[i], 1), &elements) ||
            elements > max_tensor_elements)
            fail("the dims " + dims.text() + " hold more than " + std::to_string(max_tensor_elements) +
                 " elements; use a smaller size");
        if (info.dims.empty()) continue;
        const SymbolicDim& wanted = info.dims[static_cast<std::size_t>(i)];
        if (wanted.value >= 0 && wanted.value != dims[i])
            fail("axis " + std::to_string(i) + " is fixed to " + std::to_string(wanted.value) + ", " +
                 std::to_string(dims[i]) + " was given");
        if (wanted.value >= 0 || wanted.name.empty()) continue;
        const auto [symbol, is_new] = symbols.try_emplace(wanted.name, dims[i]);
        if (!is_new && symbol->second != dims[i])
            fail("the dim " + wanted.name + " is " + std::to_string(symbol->second) + " elsewhere, " +
                 std::to_string(dims[i]) + " was given");
    }
    return dims;
}

// One node: folded where its inputs are constants by now, else by its handler.
void lower_node(const Node& node, std::int64_t opset, Program& program, std::vector<LoweredValue>& values) {
    bool constant = true;
    std::vector<ConstantPtr> inputs;
    for (const int input : node.inputs) {
        ConstantPtr known = input < 0 ? nullptr : values[static_cast<std::size_t>(input)].constant;
        if (!known && input >= 0 && is_shape_only(node)) {
            const LoweredValue& value = values[static_cast<std::size_t>(input)];
            if (!value.known())
                refuse(node, "its input is a further output of a node that can't be computed here");
            auto shape = std::make_shared<Constant>();
            shape->dims = program.tensors[static_cast<std::size_t>(value.tensor)].dims;
            shape->splat = true;
            shape->floats = {0.0f};
            known = shape;
        }
        constant = constant && (known != nullptr || input < 0);
        inputs.push_back(std::move(known));
    }
    if (constant && can_fold(node) && node.outputs.size() == 1) {
        const auto outputs = fold_node(node, opset, inputs, std::int64_t{1} << 26);
        if (node.outputs[0] >= 0) values[static_cast<std::size_t>(node.outputs[0])].constant = outputs[0];
        return;
    }
    check_operator(node, opset);
    if (!operators().contains(node.op))
        refuse(node, "can only be used on constants and shapes here, its inputs are computed");
    Lowering lowering(node, opset, program, values);
    operators().at(node.op).handler(lowering);
}

// Operations whose results nobody needs: what shape computations read, and unused parts of a Split.
void drop_unused(Program& program) {
    std::vector<bool> needed(program.tensors.size(), false);
    for (const int output : program.outputs) needed[static_cast<std::size_t>(output)] = true;
    std::vector<Operation> live;
    for (auto operation = program.operations.rbegin(); operation != program.operations.rend(); ++operation) {
        if (!needed[static_cast<std::size_t>(operation->output)]) continue;
        for (const Operand& source : operation->sources)
            if (source.tensor >= 0) needed[static_cast<std::size_t>(source.tensor)] = true;
        live.push_back(std::move(*operation));
    }
    std::reverse(live.begin(), live.end());
    program.operations = std::move(live);
}

}  // namespace

void check_operator(const Node& node, std::int64_t opset) {
    if (!node.domain.empty())
        refuse(node, "the operator domain " + node.domain +
                         " is not known here; only operators of ai.onnx can run, export without it");
    // Shape computations are folded once the input's size is known.
    if (can_fold(node)) return;
    const auto row = operators().find(node.op);
    if (row == operators().end())
        refuse(node,
               "this operator is not supported; replace it by supported ones when the model is exported");
    if (opset < row->second.first_opset)
        refuse(node, "this operator exists from opset " + std::to_string(row->second.first_opset) +
                         " on, the model says " + std::to_string(opset));
}

Program lower(const Model& model, const std::map<std::string, Dims>& input_dims, std::int64_t default_side) {
    const Graph& graph = model.graph();
    Program program;
    std::vector<LoweredValue> values(graph.values.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i].constant = graph.values[i].constant;
    for (const auto& [name, dims] : input_dims) {
        const bool known = std::any_of(model.inputs().begin(), model.inputs().end(),
                                       [&name = name](const ValueInfo& info) { return info.name == name; });
        if (!known) throw Error(Status::bad_parameter, "the model has no input of the name " + name);
    }
    std::map<std::string, std::int64_t> symbols;
    for (std::size_t i = 0; i < model.inputs().size(); ++i) {
        const ValueInfo& info = model.inputs()[i];
        LoweredValue& value = values[static_cast<std::size_t>(graph.inputs[i])];
        value.tensor = static_cast<int>(program.tensors.size());
        value.type = info.type;
        program.inputs.push_back(value.tensor);
        ProgramTensor tensor;
        tensor.dims = input_dims_of(info, input_dims, default_side, symbols);
        tensor.is_input = true;
        program.tensors.push_back(tensor);
    }
    for (const Node& node : graph.nodes) {
        try {
            lower_node(node, graph.opset, program, values);
        } catch (const Error& error) {
            const std::string text = error.what();
            if (text.starts_with("node ")) throw;
            refuse(node, text);
        }
    }
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i].tensor >= 0)
            program.tensors[static_cast<std::size_t>(values[i].tensor)].name = graph.values[i].name;
    for (const int output : graph.outputs) {
        LoweredValue& value = values[static_cast<std::size_t>(output)];
        if (!value.known())
            throw Error(Status::bad_parameter,
                        "the graph's output " + graph.values[static_cast<std::size_t>(output)].name +
                            " is a further output of its node that can't be computed here");
        if (value.constant) {
            // A constant output is written in each pass like any other.
            Node copy;
            copy.op = "Constant";
            copy.name = graph.values[static_cast<std::size_t>(output)].name;
            copy.outputs = {output};
            const ConstantPtr constant = std::move(value.constant);
            value.constant = nullptr;
            Lowering lowering(copy, graph.opset, program, values);
            const int tensor = lowering.output(constant->dims);
            program.tensors[static_cast<std::size_t>(tensor)].name = copy.name;
            lowering.reshape_into({-1, constant, {}}, tensor);
        }
        program.outputs.push_back(value.tensor);
        program.tensors[static_cast<std::size_t>(value.tensor)].is_output = true;
    }
    drop_unused(program);
    return program;
}

}  // namespace convlens::network

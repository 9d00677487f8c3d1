#include <onnx/onnx_pb.h>

#include <climits>
#include <queue>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "app/network/graph.h"
#include "app/network/onnx_tensor.h"

namespace convlens::network {

namespace {

constexpr int max_nodes = 200000;
// Operators whose rules changed at opset 7 (broadcasting) say so themselves in a model of opset 6.
constexpr std::int64_t oldest_opset = 6, newest_opset = 22, newest_ir = 12;

[[noreturn]] void bad(const std::string& text) { throw Error(Status::bad_parameter, text); }

std::string in_quotes(const std::string& name) { return "'" + name + "'"; }

// Reads one GraphProto. Values are numbered as their names turn up.
class GraphReader {
  public:
    GraphReader(const onnx::GraphProto& proto, const std::string& folder) : proto_(proto) {
        reading_.folder = folder;
    }

    ParsedModel read(std::int64_t opset) {
        parsed_.graph.opset = opset;
        if (proto_.node_size() > max_nodes)
            bad(std::to_string(proto_.node_size()) + " nodes, at most " + std::to_string(max_nodes) +
                " are possible");
        if (proto_.node_size() == 0 && proto_.output_size() == 0) bad("the graph is empty");
        if (proto_.sparse_initializer_size() > 0)
            bad("sparse initializers are not supported; save the weights dense");
        read_initializers();
        read_inputs();
        declare_outputs_of_nodes();
        for (int i = 0; i < proto_.node_size(); ++i) read_node(i);
        read_outputs();
        sort_nodes();
        return std::move(parsed_);
    }

  private:
    int value_of(const std::string& name) {
        const auto [at, is_new] = values_.try_emplace(name, static_cast<int>(parsed_.graph.values.size()));
        if (is_new) parsed_.graph.values.push_back({name, nullptr});
        return at->second;
    }

    void define(const std::string& name, const char* what) {
        if (name.empty()) bad(std::string("an ") + what + " has no name");
        if (!defined_.insert(value_of(name)).second)
            bad("the name " + in_quotes(name) + " is defined twice (the second time as " + what + ")");
    }

    void read_initializers() {
        for (const auto& tensor : proto_.initializer()) {
            define(tensor.name(), "initializer");
            parsed_.graph.values[static_cast<std::size_t>(value_of(tensor.name()))].constant =
                decode_tensor(tensor, reading_, "initializer " + in_quotes(tensor.name()));
        }
    }

    static ValueInfo value_info(const onnx::ValueInfoProto& proto, bool is_input) {
        ValueInfo info;
        info.name = proto.name();
        const std::string label = (is_input ? "input " : "output ") + in_quotes(proto.name());
        if (!proto.type().has_tensor_type()) {
            if (proto.type().value_case() == onnx::TypeProto::VALUE_NOT_SET && !is_input) return info;
            bad(label + " is no tensor; only tensors can go in and out");
        }
        const auto& type = proto.type().tensor_type();
        info.type = is_input || type.elem_type() != 0 ? type_of_onnx(type.elem_type(), label) : DataType::f32;
        if (type.shape().dim_size() > max_rank)
            bad(label + " has " + std::to_string(type.shape().dim_size()) + " dims, at most " +
                std::to_string(max_rank) + " are possible");
        for (const auto& dim : type.shape().dim()) {
            SymbolicDim symbolic;
            if (dim.has_dim_value() && dim.dim_value() >= 0) symbolic.value = dim.dim_value();
            if (dim.has_dim_param()) symbolic.name = dim.dim_param();
            info.dims.push_back(symbolic);
        }
        return info;
    }

    void read_inputs() {
        std::set<std::string> seen;
        for (const auto& input : proto_.input()) {
            if (!seen.insert(input.name()).second) bad("two inputs have the name " + in_quotes(input.name()));
            // An initializer of the same name is the input's default (before IR 4 every weight is listed so).
            const auto known = values_.find(input.name());
            if (known != values_.end() && defined_.contains(known->second)) continue;
            define(input.name(), "input");
            parsed_.inputs.push_back(value_info(input, true));
            parsed_.graph.inputs.push_back(value_of(input.name()));
        }
    }

    void declare_outputs_of_nodes() {
        for (const auto& node : proto_.node())
            for (const auto& name : node.output())
                if (!name.empty()) define(name, "output of a node");
    }

    Attribute read_attribute(const onnx::AttributeProto& a, const std::string& label) {
        if (!a.ref_attr_name().empty()) return Unreadable{"a reference to a function's attribute"};
        switch (a.type()) {
            case onnx::AttributeProto::INT:
                return std::int64_t{a.i()};
            case onnx::AttributeProto::FLOAT:
                return a.f();
            case onnx::AttributeProto::STRING:
                return a.s();
            case onnx::AttributeProto::INTS:
                return std::vector<std::int64_t>(a.ints().begin(), a.ints().end());
            case onnx::AttributeProto::FLOATS:
                return std::vector<float>(a.floats().begin(), a.floats().end());
            case onnx::AttributeProto::TENSOR:
                return decode_tensor(a.t(), reading_, label + ", attribute " + in_quotes(a.name()));
            case onnx::AttributeProto::GRAPH:
            case onnx::AttributeProto::GRAPHS:
                return Unreadable{"a subgraph"};
            default:
                return Unreadable{"a form that is not supported"};
        }
    }

    void read_node(int index) {
        const auto& proto = proto_.node(index);
        Node node;
        node.op = proto.op_type();
        node.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
        node.name = proto.name().empty() ? node.op + "_" + std::to_string(index) : proto.name();
        while (!node_names_.insert(node.name).second) node.name += "#" + std::to_string(index);
        if (node.op.empty()) bad("node " + in_quotes(node.name) + " has no operator");
        const std::string label = node_text(node);
        for (const auto& name : proto.input()) {
            if (name.empty()) {
                node.inputs.push_back(-1);
                continue;
            }
            const int value = value_of(name);
            if (!defined_.contains(value))
                bad(label + ": its input " + in_quotes(name) +
                    " is made by no node and is no input or initializer of the graph");
            node.inputs.push_back(value);
        }
        for (const auto& name : proto.output()) node.outputs.push_back(name.empty() ? -1 : value_of(name));
        for (const auto& attribute : proto.attribute()) {
            if (!node.attributes.emplace(attribute.name(), read_attribute(attribute, label)).second)
                bad(label + ": the attribute " + in_quotes(attribute.name()) + " is given twice");
        }
        parsed_.graph.nodes.push_back(std::move(node));
    }

    void read_outputs() {
        std::set<std::string> seen;
        for (const auto& output : proto_.output()) {
            const auto known = values_.find(output.name());
            if (known == values_.end() || !defined_.contains(known->second))
                bad("the graph's output " + in_quotes(output.name()) + " is made by no node");
            if (!seen.insert(output.name()).second)
                bad("two outputs have the name " + in_quotes(output.name()));
            parsed_.outputs.push_back(value_info(output, false));
            parsed_.graph.outputs.push_back(known->second);
        }
        if (parsed_.graph.outputs.empty()) bad("the graph has no outputs");
    }

    // Brings nodes into an order in which they can run; the file's order is kept where it is one.
    void sort_nodes() {
        auto& nodes = parsed_.graph.nodes;
        std::vector<std::vector<int>> users(parsed_.graph.values.size());
        std::vector<int> missing(nodes.size(), 0);
        std::vector<bool> made_by_node(parsed_.graph.values.size(), false);
        for (const auto& node : nodes)
            for (const int value : node.outputs)
                if (value >= 0) made_by_node[static_cast<std::size_t>(value)] = true;
        std::priority_queue<int, std::vector<int>, std::greater<>> ready;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            for (const int value : nodes[i].inputs) {
                if (value < 0 || !made_by_node[static_cast<std::size_t>(value)]) continue;
                users[static_cast<std::size_t>(value)].push_back(static_cast<int>(i));
                ++missing[i];
            }
            if (missing[i] == 0) ready.push(static_cast<int>(i));
        }
        std::vector<Node> sorted;
        sorted.reserve(nodes.size());
        std::vector<bool> done(nodes.size(), false);
        while (!ready.empty()) {
            const auto i = static_cast<std::size_t>(ready.top());
            ready.pop();
            done[i] = true;
            for (const int value : nodes[i].outputs) {
                if (value < 0) continue;
                for (const int user : users[static_cast<std::size_t>(value)])
                    if (--missing[static_cast<std::size_t>(user)] == 0) ready.push(user);
            }
            sorted.push_back(std::move(nodes[i]));
        }
        for (std::size_t i = 0; i < nodes.size(); ++i)
            if (!done[i]) bad(node_text(nodes[i]) + ": it needs its own result (the graph has a cycle)");
        nodes = std::move(sorted);
    }

    const onnx::GraphProto& proto_;
    TensorReading reading_;
    ParsedModel parsed_;
    std::unordered_map<std::string, int> values_;
    std::unordered_set<int> defined_;
    std::unordered_set<std::string> node_names_;
};

}  // namespace

ParsedModel read_onnx(const std::string& bytes, const std::string& path) {
    if (bytes.empty()) bad("the file is empty; give an ONNX file");
    if (bytes.size() > INT_MAX) bad("the file is larger than 2 GiB; keep the weights in external data");
    onnx::ModelProto proto;
    if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
        bad("not an ONNX file, or cut short (the protobuf message can't be read)");
    if (!proto.has_graph()) bad("no graph in it; not an ONNX model");
    if (proto.opset_import_size() == 0) bad("no opset_import in it; not an ONNX model");
    if (proto.ir_version() > newest_ir)
        bad("IR version " + std::to_string(proto.ir_version()) + ", at most " + std::to_string(newest_ir) +
            " is known; export it with an older version");
    std::int64_t opset = 0;
    for (const auto& import : proto.opset_import())
        if (import.domain().empty() || import.domain() == "ai.onnx")
            opset = std::max(opset, import.version());
    if (opset < oldest_opset || opset > newest_opset)
        bad("opset " + std::to_string(opset) + " is not in " + std::to_string(oldest_opset) + " to " +
            std::to_string(newest_opset) + "; convert the model");
    std::string folder;
    if (!path.empty()) {
        folder = std::filesystem::path(path).parent_path().string();
        if (folder.empty()) folder = ".";
    }
    ParsedModel parsed = GraphReader(proto.graph(), folder).read(opset);
    parsed.name = std::filesystem::path(path).stem().string();
    for (const auto& entry : proto.metadata_props()) parsed.metadata[entry.key()] = entry.value();
    return parsed;
}

}  // namespace convlens::network

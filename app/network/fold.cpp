#include "app/network/fold.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>

#include "app/network/attributes.h"
#include "app/network/onnx_tensor.h"
#include "app/network/shape_rules.h"

namespace convlens::network {

namespace {

struct Folding {
    const Node& node;
    std::int64_t opset;
    const std::vector<ConstantPtr>& inputs;
    std::int64_t largest;

    const Constant& input(std::size_t i) const {
        if (i >= inputs.size() || !inputs[i]) refuse(node, "input " + std::to_string(i) + " is missing");
        return *inputs[i];
    }
    bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
    void bound(const Dims& dims) const {
        if (dims.product() > largest)
            refuse(node, "its constant result " + dims.text() + " would be larger than constants may be");
    }
    // A list given as input i (newer opsets) or as an attribute.
    std::optional<Integers> list(std::size_t i, const char* name) const {
        if (has(i)) return integers_of(node, *inputs[i], name);
        return integers_attribute(node, name);
    }
};
using Fold = ConstantPtr (*)(const Folding&);

ConstantPtr same_but(const Constant& constant, const Dims& dims) { return constant.reshaped(dims); }

// Elements of `source` picked by an index function, under new dims.
template <class Index>
ConstantPtr pick(const Folding& f, const Constant& source, const Dims& dims, const Index& index) {
    auto result = std::make_shared<Constant>();
    result->type = source.type;
    result->dims = dims;
    const std::int64_t count = dims.product();
    if (source.splat) {
        result->splat = true;
        result->floats = source.floats;
        result->ints = source.ints;
        return result;
    }
    f.bound(dims);
    if (source.is_real()) {
        result->floats.resize(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; ++i)
            result->floats[static_cast<std::size_t>(i)] = source.real(index(i));
    } else {
        result->ints.resize(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; ++i)
            result->ints[static_cast<std::size_t>(i)] = source.integer(index(i));
    }
    return result;
}

// Elements at start + sum of index * stride over the axes of `dims`.
ConstantPtr pick_strided(const Folding& f, const Constant& source, const Dims& dims, std::int64_t start,
                         const Dims& strides) {
    return pick(f, source, dims, [&](std::int64_t flat) {
        std::int64_t at = start;
        for (int i = dims.rank() - 1; i >= 0; --i) {
            at += flat % dims[i] * strides[i];
            flat /= dims[i];
        }
        return at;
    });
}

ConstantPtr fold_constant(const Folding& f) {
    const Node& node = f.node;
    if (const auto* tensor = find_attribute<ConstantPtr>(node, "value", "a tensor")) return *tensor;
    if (has_attribute(node, "value_float"))
        return Constant::of_floats({}, {real_attribute(node, "value_float", 0)});
    if (has_attribute(node, "value_int"))
        return Constant::of_ints({}, {integer_attribute(node, "value_int", 0)});
    if (const auto ints = integers_attribute(node, "value_ints"))
        return Constant::of_ints({static_cast<std::int64_t>(ints->size())}, *ints);
    if (const auto* floats = find_attribute<std::vector<float>>(node, "value_floats", "a list of numbers"))
        return Constant::of_floats({static_cast<std::int64_t>(floats->size())}, *floats);
    refuse(node, "its value is missing or has a form that is not supported (texts, sparse)");
}

ConstantPtr fold_constant_of_shape(const Folding& f) {
    const Dims dims = checked_dims(f.node, integers_of(f.node, f.input(0), "the shape"));
    if (dims.product() > max_constant_elements) refuse(f.node, "more elements than constants may have");
    auto result = std::make_shared<Constant>();
    if (const auto* value = find_attribute<ConstantPtr>(f.node, "value", "a tensor")) {
        if ((*value)->elements() != 1) refuse(f.node, "its value must be one element");
        result->type = (*value)->type;
        result->floats = (*value)->floats;
        result->ints = (*value)->ints;
    } else {
        result->floats = {0.0f};
    }
    result->dims = dims;
    result->splat = true;
    return result;
}

std::int64_t saturated(float x, double lo, double hi) {
    if (std::isnan(x)) return 0;
    return static_cast<std::int64_t>(std::clamp(std::trunc(static_cast<double>(x)), lo, hi));
}

// To the nearest bfloat16, ties to even.
float rounded_to_bfloat(float x) {
    if (!std::isfinite(x)) return x;
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return std::bit_cast<float>((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}

ConstantPtr fold_cast(const Folding& f) {
    const Constant& source = f.input(0);
    const auto to = static_cast<int>(integer_attribute(f.node, "to", 0));
    const DataType type = type_of_onnx(to, node_text(f.node) + ", attribute to");
    auto result = std::make_shared<Constant>();
    result->dims = source.dims;
    result->splat = source.splat;
    const std::size_t stored = source.is_real() ? source.floats.size() : source.ints.size();
    if (is_real(type)) {
        result->floats.reserve(stored);
        for (std::size_t i = 0; i < stored; ++i) {
            float x = source.is_real() ? source.floats[i] : static_cast<float>(source.ints[i]);
            if (type == DataType::f16) x = half_to_float(float_to_half(x));
            if (type == DataType::bf16) x = rounded_to_bfloat(x);
            result->floats.push_back(x);
        }
        return result;
    }
    result->type = type;
    result->ints.reserve(stored);
    for (std::size_t i = 0; i < stored; ++i) {
        const double widest = 9223372036854774784.0;
        std::int64_t x = source.is_real() ? 0 : source.ints[i];
        if (source.is_real() && type != DataType::boolean) x = saturated(source.floats[i], -widest, widest);
        if (type == DataType::boolean) x = source.is_real() ? source.floats[i] != 0.0f : source.ints[i] != 0;
        if (type == DataType::i32) x = static_cast<std::int32_t>(x);
        if (type == DataType::i8) x = static_cast<std::int8_t>(x);
        if (type == DataType::u8) x = static_cast<std::uint8_t>(x);
        result->ints.push_back(x);
    }
    return result;
}

ConstantPtr fold_reshape(const Folding& f) {
    const Integers spec = integers_of(f.node, f.input(1), "the shape");
    return same_but(f.input(0),
                    reshape_dims(f.node, f.input(0).dims, spec,
                                 f.opset >= 14 && integer_attribute(f.node, "allowzero", 0) != 0));
}
ConstantPtr fold_flatten(const Folding& f) {
    return same_but(f.input(0), flatten_dims(f.node, f.input(0).dims, integer_attribute(f.node, "axis", 1)));
}
ConstantPtr fold_identity(const Folding& f) { return f.inputs.at(0); }
ConstantPtr fold_squeeze(const Folding& f) {
    const auto axes = f.list(1, "axes");
    return same_but(f.input(0), squeeze_dims(f.node, f.input(0).dims, axes ? &*axes : nullptr));
}
ConstantPtr fold_unsqueeze(const Folding& f) {
    const auto axes = f.list(1, "axes");
    if (!axes) refuse(f.node, "axes are missing");
    return same_but(f.input(0), unsqueeze_dims(f.node, f.input(0).dims, *axes));
}
ConstantPtr fold_shape(const Folding& f) {
    const Dims& dims = f.input(0).dims;
    const std::int64_t rank = dims.rank();
    std::int64_t start = integer_attribute(f.node, "start", 0), end = integer_attribute(f.node, "end", rank);
    start = std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank);
    end = std::clamp<std::int64_t>(end < 0 ? end + rank : end, 0, rank);
    Integers values;
    for (std::int64_t i = start; i < end; ++i) values.push_back(dims[static_cast<int>(i)]);
    return Constant::of_ints({static_cast<std::int64_t>(values.size())}, values);
}
ConstantPtr fold_size(const Folding& f) { return Constant::of_ints({}, {f.input(0).elements()}); }

ConstantPtr fold_gather(const Folding& f) {
    const Constant &data = f.input(0), &indices = f.input(1);
    const int axis = checked_axis(f.node, integer_attribute(f.node, "axis", 0), data.dims.rank());
    if (indices.is_real()) refuse(f.node, "indices must be integers");
    const std::int64_t length = data.dims[axis];
    std::int64_t outer = 1, inner = 1;
    Integers dims;
    for (int i = 0; i < axis; ++i) outer *= data.dims[i], dims.push_back(data.dims[i]);
    for (const std::int64_t dim : indices.dims) dims.push_back(dim);
    for (int i = axis + 1; i < data.dims.rank(); ++i) inner *= data.dims[i], dims.push_back(data.dims[i]);
    const Dims result = checked_dims(f.node, dims);
    const std::int64_t count = indices.elements();
    for (std::int64_t i = 0; i < (indices.splat ? std::min<std::int64_t>(count, 1) : count); ++i)
        if (indices.integer(i) < -length || indices.integer(i) >= length)
            refuse(f.node, "index " + std::to_string(indices.integer(i)) + " lies outside the axis of " +
                               std::to_string(length));
    return pick(f, data, result, [&](std::int64_t flat) {
        const std::int64_t in = flat % inner, rest = flat / inner;
        const std::int64_t index = indices.integer(rest % count), row = rest / count;
        return (row * length + (index < 0 ? index + length : index)) * inner + in;
    });
}

Dims packed_strides(const Dims& dims) { return TensorDesc::packed(dims).strides; }

ConstantPtr fold_slice(const Folding& f) {
    const Constant& data = f.input(0);
    const auto starts = f.list(1, "starts"), ends = f.list(2, "ends"), axes = f.list(3, "axes"),
               steps = f.list(4, "steps");
    if (!starts || !ends) refuse(f.node, "starts or ends are missing");
    const Slices s =
        slices(f.node, data.dims, *starts, *ends, axes ? &*axes : nullptr, steps ? &*steps : nullptr);
    const Dims old = packed_strides(data.dims);
    Dims strides = old;
    std::int64_t start = 0;
    for (int i = 0; i < old.rank(); ++i) {
        start += s.starts[static_cast<std::size_t>(i)] * old[i];
        strides[i] = old[i] * s.steps[static_cast<std::size_t>(i)];
    }
    return pick_strided(f, data, checked_dims(f.node, s.counts), start, strides);
}

ConstantPtr fold_transpose(const Folding& f) {
    const Constant& data = f.input(0);
    const Integers perm = permutation(f.node, data.dims.rank());
    const Dims old = packed_strides(data.dims);
    Dims dims, strides;
    for (const std::int64_t axis : perm) {
        dims.push_back(data.dims[static_cast<int>(axis)]);
        strides.push_back(old[static_cast<int>(axis)]);
    }
    return pick_strided(f, data, dims, 0, strides);
}

ConstantPtr fold_expand(const Folding& f) {
    const Constant& data = f.input(0);
    const Dims target = checked_dims(f.node, integers_of(f.node, f.input(1), "the shape"));
    const Dims dims = broadcast_dims(f.node, data.dims, target);
    const Dims old = packed_strides(data.dims);
    Dims strides = Dims::filled(dims.rank(), 0);
    const int lead = dims.rank() - data.dims.rank();
    for (int i = 0; i < data.dims.rank(); ++i) strides[i + lead] = data.dims[i] == 1 ? 0 : old[i];
    return pick_strided(f, data, dims, 0, strides);
}

ConstantPtr fold_concat(const Folding& f) {
    const Constant& first = f.input(0);
    const int rank = first.dims.rank();
    const int axis = checked_axis(f.node, integer_attribute(f.node, "axis", 1), rank);
    std::int64_t outer = 1, length = 0;
    for (int i = 0; i < axis; ++i) outer *= first.dims[i];
    Dims dims = first.dims;
    for (std::size_t i = 0; i < f.inputs.size(); ++i) {
        const Constant& part = f.input(i);
        bool fits = part.dims.rank() == rank && part.is_real() == first.is_real();
        for (int k = 0; fits && k < rank; ++k) fits = k == axis || part.dims[k] == first.dims[k];
        if (!fits) refuse(f.node, "its inputs differ in more than axis " + std::to_string(axis));
        length += part.dims[axis];
    }
    dims[axis] = length;
    Integers as_list(dims.begin(), dims.end());
    f.bound(checked_dims(f.node, as_list));
    auto result = std::make_shared<Constant>();
    result->type = first.type;
    result->dims = dims;
    if (dims.product() == 0) outer = 0;
    for (std::int64_t row = 0; row < outer; ++row) {
        for (std::size_t i = 0; i < f.inputs.size(); ++i) {
            const Constant& part = f.input(i);
            const std::int64_t run = outer > 0 ? part.elements() / outer : 0;
            for (std::int64_t k = row * run; k < (row + 1) * run; ++k) {
                if (part.is_real())
                    result->floats.push_back(part.real(k));
                else
                    result->ints.push_back(part.integer(k));
            }
        }
    }
    return result;
}

const std::unordered_map<std::string, Fold>& folds() {
    static const std::unordered_map<std::string, Fold> table{
        {"Constant", fold_constant}, {"ConstantOfShape", fold_constant_of_shape},
        {"Cast", fold_cast},         {"Reshape", fold_reshape},
        {"Flatten", fold_flatten},   {"Identity", fold_identity},
        {"Squeeze", fold_squeeze},   {"Unsqueeze", fold_unsqueeze},
        {"Shape", fold_shape},       {"Size", fold_size},
        {"Gather", fold_gather},     {"Slice", fold_slice},
        {"Concat", fold_concat},     {"Transpose", fold_transpose},
        {"Expand", fold_expand},
    };
    return table;
}

}  // namespace

bool can_fold(const Node& node) {
    return node.domain.empty() && (folds().contains(node.op) || is_foldable_arithmetic(node));
}

std::vector<ConstantPtr> fold_node(const Node& node, std::int64_t opset,
                                   const std::vector<ConstantPtr>& inputs, std::int64_t largest) {
    const Folding folding{node, opset, inputs, largest};
    if (node.op != "Constant" && inputs.empty()) refuse(node, "has no inputs");
    if (node.outputs.empty()) return {};
    std::vector<ConstantPtr> outputs(node.outputs.size());
    const auto fold = folds().find(node.op);
    if (fold == folds().end()) {
        std::int64_t elements = 1;
        for (const auto& input : inputs)
            if (input && !input->splat) elements = std::max(elements, input->elements());
        if (elements > largest) folding.bound({elements});
        outputs[0] = fold_arithmetic(node, inputs);
    } else {
        if (node.op != "Constant") (void)folding.input(0);
        outputs[0] = fold->second(folding);
    }
    return outputs;
}

void fold_graph(Graph& graph) {
    std::int64_t loaded = 0;
    for (const auto& value : graph.values)
        if (value.constant) loaded += value.constant->elements();
    // What folding may make in all: Expand and Concat chains of a small file must not fill the memory.
    std::int64_t budget = std::min(max_constant_elements, 4 * loaded + (std::int64_t{1} << 24));
    std::vector<Node> kept;
    for (auto& node : graph.nodes) {
        bool constant = can_fold(node) && node.outputs.size() == 1;
        std::vector<ConstantPtr> inputs;
        for (const int value : node.inputs) {
            inputs.push_back(value < 0 ? nullptr : graph.values[static_cast<std::size_t>(value)].constant);
            constant = constant && (value < 0 || inputs.back() != nullptr);
        }
        if (!constant) {
            kept.push_back(std::move(node));
            continue;
        }
        const std::vector<ConstantPtr> outputs = fold_node(node, graph.opset, inputs, budget);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (!outputs[i] || node.outputs[i] < 0) continue;
            graph.values[static_cast<std::size_t>(node.outputs[i])].constant = outputs[i];
            if (!outputs[i]->splat) budget -= outputs[i]->elements();
        }
    }
    // Nodes that no output needs, from the end.
    std::vector<bool> needed(graph.values.size(), false);
    for (const int value : graph.outputs) needed[static_cast<std::size_t>(value)] = true;
    std::vector<Node> live;
    for (auto node = kept.rbegin(); node != kept.rend(); ++node) {
        const bool used = std::any_of(node->outputs.begin(), node->outputs.end(), [&](int value) {
            return value >= 0 && needed[static_cast<std::size_t>(value)];
        });
        if (!used) continue;
        for (const int value : node->inputs)
            if (value >= 0) needed[static_cast<std::size_t>(value)] = true;
        live.push_back(std::move(*node));
    }
    std::reverse(live.begin(), live.end());
    graph.nodes = std::move(live);
    for (std::size_t i = 0; i < graph.values.size(); ++i)
        if (!needed[i]) graph.values[i].constant = nullptr;
}

}  // namespace convlens::network

#include <algorithm>

#include "app/network/graph.h"

namespace convlens::network {

bool is_real(DataType type) noexcept {
    return type == DataType::f32 || type == DataType::f64 || type == DataType::f16 || type == DataType::bf16;
}

std::vector<float> Constant::expanded() const {
    const auto count = static_cast<std::size_t>(elements());
    if (splat) return std::vector<float>(count, count > 0 ? as_float(0) : 0.0f);
    if (is_real()) return floats;
    std::vector<float> result(count);
    for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<float>(ints[i]);
    return result;
}

ConstantPtr Constant::reshaped(const Dims& new_dims) const {
    auto result = std::make_shared<Constant>(*this);
    result->dims = new_dims;
    return result;
}

ConstantPtr Constant::of_floats(const Dims& dims, std::vector<float> values) {
    auto result = std::make_shared<Constant>();
    result->dims = dims;
    result->floats = std::move(values);
    return result;
}

ConstantPtr Constant::of_ints(const Dims& dims, std::vector<std::int64_t> values) {
    auto result = std::make_shared<Constant>();
    result->type = DataType::i64;
    result->dims = dims;
    result->ints = std::move(values);
    return result;
}

std::string node_text(const Node& node) { return "node " + node.name + " (" + node.op + ")"; }

void refuse(const Node& node, const std::string& reason) {
    throw Error(Status::bad_parameter, node_text(node) + ": " + reason);
}

}  // namespace convlens::network

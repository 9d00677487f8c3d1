#include <cmath>
#include <functional>
#include <limits>
#include <unordered_map>

#include "app/network/fold.h"
#include "app/network/shape_rules.h"

namespace convlens::network {

namespace {

using RealBinary = float (*)(float, float);
using IntegerBinary = std::int64_t (*)(std::int64_t, std::int64_t);
using RealUnary = float (*)(float);

// Wraps around as two's complement does; signed overflow is undefined.
std::int64_t wrap(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::uint64_t u(std::int64_t value) { return static_cast<std::uint64_t>(value); }

std::int64_t divide(std::int64_t a, std::int64_t b) {
    if (b == 0) throw Error(Status::bad_parameter, "an integer division by zero");
    return b == -1 ? wrap(0 - u(a)) : a / b;
}

const std::unordered_map<std::string, std::pair<RealBinary, IntegerBinary>>& binaries() {
    using I = std::int64_t;
    static const std::unordered_map<std::string, std::pair<RealBinary, IntegerBinary>> table{
        {"Add", {[](float a, float b) { return a + b; }, [](I a, I b) { return wrap(u(a) + u(b)); }}},
        {"Sub", {[](float a, float b) { return a - b; }, [](I a, I b) { return wrap(u(a) - u(b)); }}},
        {"Mul", {[](float a, float b) { return a * b; }, [](I a, I b) { return wrap(u(a) * u(b)); }}},
        {"Div", {[](float a, float b) { return a / b; }, divide}},
        {"Min",
         {[](float a, float b) { return std::isnan(a) || a < b ? a : b; },
          [](I a, I b) { return a < b ? a : b; }}},
        {"Max",
         {[](float a, float b) { return std::isnan(a) || a > b ? a : b; },
          [](I a, I b) { return a > b ? a : b; }}},
        {"Pow", {[](float a, float b) { return std::pow(a, b); }, nullptr}},
    };
    return table;
}

const std::unordered_map<std::string, RealUnary>& unaries() {
    static const std::unordered_map<std::string, RealUnary> table{
        {"Neg", [](float x) { return -x; }},
        {"Abs", [](float x) { return std::fabs(x); }},
        {"Sqrt", [](float x) { return std::sqrt(x); }},
        {"Exp", [](float x) { return std::exp(x); }},
        {"Log", [](float x) { return std::log(x); }},
        {"Reciprocal", [](float x) { return 1.0f / x; }},
        {"Floor", [](float x) { return std::floor(x); }},
        {"Ceil", [](float x) { return std::ceil(x); }},
    };
    return table;
}

// Index into an operand of the element that belongs to each element of `result`, row-major.
class BroadcastIndex {
  public:
    BroadcastIndex(const Dims& operand, const Dims& result) : dims_(result) {
        const int lead = result.rank() - operand.rank();
        std::int64_t step = 1;
        strides_ = Dims::filled(result.rank(), 0);
        for (int i = operand.rank() - 1; i >= 0; --i) {
            strides_[i + lead] = operand[i] == 1 ? 0 : step;
            step *= operand[i];
        }
    }
    std::int64_t operator()(std::int64_t flat) const {
        std::int64_t index = 0;
        for (int i = dims_.rank() - 1; i >= 0; --i) {
            index += flat % dims_[i] * strides_[i];
            flat /= dims_[i];
        }
        return index;
    }

  private:
    Dims dims_, strides_;
};

ConstantPtr binary(const Node& node, const Constant& a, const Constant& b) {
    const auto& [real, integer] = binaries().at(node.op);
    auto result = std::make_shared<Constant>();
    result->dims = broadcast_dims(node, a.dims, b.dims);
    const bool is_integer = !a.is_real() && !b.is_real() && integer != nullptr;
    if (is_integer) result->type = a.type;
    result->splat = a.splat && b.splat;
    const std::int64_t count = result->splat ? 1 : result->elements();
    const BroadcastIndex at_a(a.dims, result->dims), at_b(b.dims, result->dims);
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t x = result->splat ? 0 : at_a(i), y = result->splat ? 0 : at_b(i);
        if (is_integer)
            result->ints.push_back(integer(a.integer(x), b.integer(y)));
        else
            result->floats.push_back(real(a.as_float(x), b.as_float(y)));
    }
    return result;
}

}  // namespace

bool is_foldable_arithmetic(const Node& node) {
    return binaries().contains(node.op) || unaries().contains(node.op);
}

ConstantPtr fold_arithmetic(const Node& node, const std::vector<ConstantPtr>& inputs) {
    for (const auto& input : inputs)
        if (!input) refuse(node, "an input is missing");
    if (const auto unary = unaries().find(node.op); unary != unaries().end()) {
        if (inputs.size() != 1) refuse(node, "takes one input");
        auto result = std::make_shared<Constant>(*inputs[0]);
        for (float& x : result->floats) x = unary->second(x);
        for (std::int64_t& x : result->ints) {
            if (node.op == "Neg" || (node.op == "Abs" && x < 0))
                x = wrap(0 - u(x));
            else if (node.op != "Abs")
                refuse(node, "is not possible on integers");
        }
        return result;
    }
    const bool many = node.op == "Min" || node.op == "Max";
    if (inputs.empty() || (!many && inputs.size() != 2)) refuse(node, "takes two inputs");
    ConstantPtr result = inputs[0];
    try {
        for (std::size_t i = 1; i < inputs.size(); ++i) result = binary(node, *result, *inputs[i]);
    } catch (const Error& error) {
        const std::string text = error.what();
        if (text.starts_with("node ")) throw;
        refuse(node, text);
    }
    return result;
}

}  // namespace convlens::network

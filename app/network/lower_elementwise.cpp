// Activations and element-wise arithmetic.
#include <cmath>
#include <limits>

#include "app/network/lowering.h"

namespace convlens::network {

namespace {

void activation(Lowering& l, ActivationDesc desc) {
    const Dims dims = l.dims(0);
    ActivationProblem problem;
    problem.src = problem.dst = shape_only(dims);
    problem.activation = desc;
    l.emit(problem, {l.operand(0)}, l.output(dims));
}

void lower_relu(Lowering& l) {
    l.expect_inputs(1, 1);
    activation(l, {ActivationKind::relu, 0, 0});
}
void lower_leaky_relu(Lowering& l) {
    l.expect_inputs(1, 1);
    activation(l, {ActivationKind::leaky_relu, real_attribute(l.node(), "alpha", 0.01f), 0});
}
void lower_elu(Lowering& l) {
    l.expect_inputs(1, 1);
    activation(l, {ActivationKind::elu, real_attribute(l.node(), "alpha", 1.0f), 0});
}
void lower_sigmoid(Lowering& l) {
    l.expect_inputs(1, 1);
    activation(l, {ActivationKind::sigmoid, 0, 0});
}
void lower_tanh(Lowering& l) {
    l.expect_inputs(1, 1);
    activation(l, {ActivationKind::tanh, 0, 0});
}
void lower_hard_sigmoid(Lowering& l) {
    l.expect_inputs(1, 1);
    activation(l, {ActivationKind::hard_sigmoid, real_attribute(l.node(), "alpha", 0.2f),
                   real_attribute(l.node(), "beta", 0.5f)});
}
void lower_hard_swish(Lowering& l) {
    l.expect_inputs(1, 1);
    activation(l, {ActivationKind::hard_swish, 0, 0});
}

// A bound of Clip: a constant scalar input, or from opset 6 to 10 an attribute.
float bound(const Lowering& l, std::size_t i, const char* name, float otherwise) {
    if (l.opset() < 11) return real_attribute(l.node(), name, otherwise);
    if (!l.has(i)) return otherwise;
    const ConstantPtr value = l.required_constant(i, name);
    if (value->elements() != 1) l.refuse(std::string(name) + " must be one number");
    return value->as_float(0);
}

void lower_clip(Lowering& l) {
    l.expect_inputs(1, l.opset() < 11 ? 1 : 3);
    const float infinity = std::numeric_limits<float>::infinity();
    const float lo = bound(l, 1, "min", -infinity), hi = bound(l, 2, "max", infinity);
    if (std::isnan(lo) || std::isnan(hi)) l.refuse("a bound is not a number");
    activation(l, {ActivationKind::clip, lo, hi});
}

void elementwise(Lowering& l, ElementwiseKind kind, const Operand& a, const Operand& b, int output,
                 const Dims& dims) {
    const int rank = std::max(dims.rank(), 1);
    const View view = view_as_rank(rank);
    ElementwiseProblem problem;
    problem.kind = kind;
    problem.a = view(shape_only(l.dims_of(a)));
    problem.dst = view(shape_only(dims));
    Operand x = a, y = b;
    x.view = view;
    if (b.present()) {
        problem.b = view(shape_only(l.dims_of(b)));
        y.view = view;
    }
    l.emit(problem, {x, y}, output).output_view = view;
}

template <ElementwiseKind kind>
void lower_unary(Lowering& l) {
    l.expect_inputs(1, 1);
    const Dims dims = l.dims(0);
    elementwise(l, kind, l.operand(0), {}, l.output(dims), dims);
}

template <ElementwiseKind kind>
void lower_binary(Lowering& l) {
    l.expect_inputs(2, 2);
    const Dims dims = broadcast_dims(l.node(), l.dims(0), l.dims(1));
    elementwise(l, kind, l.operand(0), l.operand(1), l.output(dims), dims);
}

void lower_prelu(Lowering& l) {
    l.expect_inputs(2, 2);
    const Dims dims = l.dims(0);
    Operand slope = l.operand(1);
    Dims slope_dims = l.dims(1);
    // Before opset 7 a list of slopes belongs to the channels.
    if (l.opset() < 7 && slope_dims.rank() == 1 && dims.rank() > 2) {
        for (int i = 2; i < dims.rank(); ++i) slope_dims.push_back(1);
        slope = l.reshape(slope, slope_dims);
    }
    // The slope is broadcast to the data alone.
    if (broadcast_dims(l.node(), dims, slope_dims) != dims)
        l.refuse("the slope " + slope_dims.text() + " doesn't fit the data " + dims.text());
    elementwise(l, ElementwiseKind::prelu, l.operand(0), slope, l.output(dims), dims);
}

// Any number of inputs, two at a time; `mean` divides by their number.
void variadic(Lowering& l, ElementwiseKind kind, bool mean) {
    l.expect_inputs(1, 64);
    for (std::size_t i = 0; i < l.inputs(); ++i)
        if (!l.has(i)) l.refuse("input " + std::to_string(i) + " is missing");
    Dims dims = l.dims(0);
    for (std::size_t i = 1; i < l.inputs(); ++i) dims = broadcast_dims(l.node(), dims, l.dims(i));
    const std::size_t count = l.inputs();
    if (count == 1) {
        l.reshape_into(l.operand(0), l.output(dims));
        return;
    }
    Operand sum = l.operand(0);
    Dims sum_dims = l.dims(0);
    for (std::size_t i = 1; i < count; ++i) {
        sum_dims = broadcast_dims(l.node(), sum_dims, l.dims(i));
        const int output = i + 1 == count && !mean ? l.output(dims) : l.temporary(sum_dims);
        elementwise(l, kind, sum, l.operand(i), output, sum_dims);
        sum = Operand::of(output);
    }
    if (!mean) return;
    const Operand share{-1, Constant::of_floats({}, {1.0f / static_cast<float>(count)}), {}};
    elementwise(l, ElementwiseKind::mul, sum, share, l.output(dims), dims);
}
void lower_sum(Lowering& l) { variadic(l, ElementwiseKind::add, false); }
void lower_mean(Lowering& l) { variadic(l, ElementwiseKind::add, true); }
void lower_min(Lowering& l) { variadic(l, ElementwiseKind::min, false); }
void lower_max(Lowering& l) { variadic(l, ElementwiseKind::max, false); }

}  // namespace

std::vector<OperatorRow> elementwise_operators() {
    using K = ElementwiseKind;
    return {{"Relu", 1, lower_relu},
            {"LeakyRelu", 1, lower_leaky_relu},
            {"Elu", 1, lower_elu},
            {"Sigmoid", 1, lower_sigmoid},
            {"Tanh", 1, lower_tanh},
            {"HardSigmoid", 1, lower_hard_sigmoid},
            {"HardSwish", 14, lower_hard_swish},
            {"Clip", 1, lower_clip},
            {"PRelu", 6, lower_prelu},
            {"Add", 7, lower_binary<K::add>},
            {"Sub", 7, lower_binary<K::sub>},
            {"Mul", 7, lower_binary<K::mul>},
            {"Div", 7, lower_binary<K::div>},
            {"Pow", 7, lower_binary<K::pow>},
            {"Sum", 1, lower_sum},
            {"Mean", 1, lower_mean},
            {"Min", 1, lower_min},
            {"Max", 1, lower_max},
            {"Abs", 1, lower_unary<K::abs>},
            {"Neg", 1, lower_unary<K::neg>},
            {"Exp", 1, lower_unary<K::exp>},
            {"Log", 1, lower_unary<K::log>},
            {"Sqrt", 1, lower_unary<K::sqrt>},
            {"Reciprocal", 1, lower_unary<K::reciprocal>},
            {"Floor", 1, lower_unary<K::floor>},
            {"Ceil", 1, lower_unary<K::ceil>},
            {"Round", 11, lower_unary<K::round>},
            {"Sign", 9, lower_unary<K::sign>},
            {"Erf", 9, lower_unary<K::erf>},
            {"Softplus", 1, lower_unary<K::softplus>},
            {"Sin", 7, lower_unary<K::sin>},
            {"Cos", 7, lower_unary<K::cos>}};
}

}  // namespace convlens::network

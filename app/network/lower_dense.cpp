// Batch normalisation, matrix products, softmax.
#include <algorithm>

#include "app/network/lowering.h"

namespace convlens::network {

namespace {

void lower_batch_normalization(Lowering& l) {
    l.expect_inputs(5, 5);
    const Dims src = l.dims(0);
    if (l.opset() < 9 && integer_attribute(l.node(), "spatial", 1) == 0)
        l.refuse("spatial=0 (statistics for each place) is not supported");
    if (l.opset() < 7 && integer_attribute(l.node(), "is_test", 0) == 0)
        l.refuse("is_test=0 (training) is not supported; export the model for inference");
    if (l.opset() >= 14 && integer_attribute(l.node(), "training_mode", 0) != 0)
        l.refuse("training_mode=1 is not supported; export the model for inference");
    if (l.opset() >= 14)
        for (std::size_t i = 1; i < l.node().outputs.size(); ++i)
            if (l.has_output(i)) l.refuse("further outputs exist only with training_mode=1");
    if (src.rank() < 2) l.refuse("its data " + src.text() + " has no channels");
    std::vector<Operand> sources{l.operand(0)};
    static const char* const names[] = {"scale", "B", "mean", "var"};
    for (std::size_t i = 1; i <= 4; ++i) {
        const ConstantPtr values = l.required_constant(i, names[i - 1]);
        if (values->dims.rank() != 1 || values->dims[0] != src[1])
            l.refuse(std::string(names[i - 1]) + " " + values->dims.text() +
                     " must have one entry for each of " + std::to_string(src[1]) + " channels");
        sources.push_back({-1, values, {}});
    }
    BatchNormalizationProblem problem;
    problem.src = problem.dst = shape_only(src);
    problem.epsilon = real_attribute(l.node(), "epsilon", 1e-5f);
    l.emit(problem, std::move(sources), l.output(src));
}

ConstantPtr scaled(const ConstantPtr& constant, float factor) {
    auto result = std::make_shared<Constant>();
    result->dims = constant->dims;
    result->splat = constant->splat;
    const std::int64_t stored = constant->splat ? 1 : constant->elements();
    for (std::int64_t i = 0; i < stored; ++i) result->floats.push_back(constant->as_float(i) * factor);
    return result;
}

// dst + C with C broadcast: a second operation where C is no plain bias.
void add_after(Lowering& l, int product, const Operand& c, const Dims& dims, int output) {
    ElementwiseProblem problem;
    problem.kind = ElementwiseKind::add;
    problem.a = problem.dst = shape_only(dims);
    const View rank = view_as_rank(dims.rank());
    problem.b = rank(shape_only(l.dims_of(c)));
    Operand b = c;
    b.view = rank;
    l.emit(problem, {Operand::of(product), b}, output);
}

void lower_gemm(Lowering& l) {
    l.expect_inputs(l.opset() < 11 ? 3 : 2, 3);
    const Dims a = l.dims(0);
    const ConstantPtr b = l.required_constant(1, "the matrix B");
    if (a.rank() != 2 || b->dims.rank() != 2)
        l.refuse("A " + a.text() + " and B " + b->dims.text() + " must be matrices");
    const bool trans_a = integer_attribute(l.node(), "transA", 0) != 0;
    const bool trans_b = integer_attribute(l.node(), "transB", 0) != 0;
    const std::int64_t m = trans_a ? a[1] : a[0], k = trans_a ? a[0] : a[1];
    const std::int64_t n = trans_b ? b->dims[0] : b->dims[1];
    if ((trans_b ? b->dims[1] : b->dims[0]) != k)
        l.refuse("A " + a.text() + " and B " + b->dims.text() + " can't be multiplied");
    if (n < 1 || k < 1) l.refuse("a matrix without elements");
    const Dims dims{m, n};
    const float beta = real_attribute(l.node(), "beta", 1.0f);
    FullyConnectedProblem problem;
    problem.src = shape_only({m, k});
    problem.dst = shape_only(dims);
    problem.outputs = n;
    Operand source = l.operand(0), bias;
    if (trans_a) source.view = view_permuted({1, 0});
    Operand addend;
    if (l.opset() < 7 && l.dims(2) != dims && integer_attribute(l.node(), "broadcast", 0) == 0)
        l.refuse("C " + l.dims(2).text() + " differs from the product " + dims.text() +
                 " without broadcast=1");
    if (l.has(2) && beta != 0.0f) {
        addend = l.operand(2);
        if (broadcast_dims(l.node(), dims, l.dims(2)) != dims)
            l.refuse("C " + l.dims(2).text() + " doesn't fit the product " + dims.text());
        if (addend.constant && beta != 1.0f) addend.constant = scaled(addend.constant, beta);
        if (addend.tensor >= 0 && beta != 1.0f)
            l.refuse("a computed C with beta other than 1 is not supported");
    }
    if (addend.constant && addend.constant->elements() == n && addend.constant->dims.rank() >= 1 &&
        addend.constant->dims.back() == n) {
        bias.constant = addend.constant->reshaped({n});
        addend = {};
    } else if (addend.constant && addend.constant->elements() == 1) {
        bias.constant = Constant::of_floats(
            {n}, std::vector<float>(static_cast<std::size_t>(n), addend.constant->as_float(0)));
        addend = {};
    }
    problem.has_bias = bias.present();
    const int output = l.output(dims);
    const int product = addend.present() ? l.temporary(dims) : output;
    l.emit(problem, {source, bias, {}}, product).weights = {
        b, {n, k}, !trans_b, {}, real_attribute(l.node(), "alpha", 1.0f)};
    if (addend.present()) add_after(l, product, addend, dims, output);
}

void lower_matmul(Lowering& l) {
    l.expect_inputs(2, 2);
    const Dims a = l.dims(0);
    const ConstantPtr given = l.required_constant(1, "the second matrix");
    Integers lead(given->dims.begin(), given->dims.end());
    while (lead.size() > 2 && lead.front() == 1) lead.erase(lead.begin());
    if (a.rank() < 1 || lead.empty() || lead.size() > 2)
        l.refuse("matrices " + a.text() + " and " + given->dims.text() +
                 ": only one constant matrix at a time is supported");
    if (given->dims.rank() > std::max(a.rank(), 2))
        l.refuse("matrices " + a.text() + " and " + given->dims.text() +
                 ": the second has more axes than the first");
    const bool vector = lead.size() == 1;
    const std::int64_t k = lead[0], n = vector ? 1 : lead[1];
    if (a.back() != k)
        l.refuse("matrices " + a.text() + " and " + given->dims.text() + " can't be multiplied");
    if (n < 1 || k < 1) l.refuse("a matrix without elements");
    Dims dims;
    std::int64_t m = 1;
    for (int i = 0; i + 1 < a.rank(); ++i) {
        m *= a[i];
        dims.push_back(a[i]);
    }
    if (!vector) dims.push_back(n);
    FullyConnectedProblem problem;
    problem.src = shape_only({m, k});
    problem.dst = shape_only({m, n});
    problem.outputs = n;
    const Operand source = l.reshape(l.operand(0), {m, k});
    const int output = l.output(dims);
    const bool direct = dims == Dims{m, n};
    const int product = direct ? output : l.temporary({m, n});
    l.emit(problem, {source, {}, {}}, product).weights = {given->reshaped({k, n}), {n, k}, true, {}, 1.0f};
    if (!direct) l.reshape_into(Operand::of(product), output);
}

void softmax(Lowering& l, bool logarithm) {
    l.expect_inputs(1, 1);
    const Dims src = l.dims(0);
    const std::int64_t default_axis = l.opset() < 13 ? 1 : -1;
    const int axis =
        checked_axis(l.node(), integer_attribute(l.node(), "axis", default_axis), src.rank(), l.opset() < 13);
    SoftmaxProblem problem;
    problem.logarithm = logarithm;
    // Before opset 13 all axes from `axis` on are one.
    int only = axis, longer = 0;
    for (int i = axis; i < src.rank() && l.opset() < 13; ++i)
        if (src[i] != 1) {
            only = i;
            ++longer;
        }
    const int output = l.output(src);
    if (longer <= 1 && only < src.rank()) {
        problem.axis = only;
        problem.src = problem.dst = shape_only(src);
        l.emit(problem, {l.operand(0)}, output);
        return;
    }
    const Dims flat = flatten_dims(l.node(), src, axis);
    problem.axis = 1;
    problem.src = problem.dst = shape_only(flat);
    const Operand source = l.reshape(l.operand(0), flat);
    const int result = l.temporary(flat);
    l.emit(problem, {source}, result);
    l.reshape_into(Operand::of(result), output);
}
void lower_softmax(Lowering& l) { softmax(l, false); }
void lower_log_softmax(Lowering& l) { softmax(l, true); }

}  // namespace

std::vector<OperatorRow> dense_operators() {
    return {{"BatchNormalization", 6, lower_batch_normalization},
            {"Gemm", 6, lower_gemm},
            {"MatMul", 1, lower_matmul},
            {"Softmax", 1, lower_softmax},
            {"LogSoftmax", 1, lower_log_softmax}};
}

}  // namespace convlens::network

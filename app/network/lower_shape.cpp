// Operators that move elements without computing: views, slices, pads, joins.
#include <algorithm>

#include "app/network/lowering.h"
#include "app/network/onnx_tensor.h"

namespace convlens::network {

namespace {

void lower_reshape(Lowering& l) {
    l.expect_inputs(2, 2);
    const Integers spec = integers_of(l.node(), *l.required_constant(1, "the shape"), "the shape");
    const bool allow_zero = l.opset() >= 14 && integer_attribute(l.node(), "allowzero", 0) != 0;
    l.reshape_into(l.operand(0), l.output(reshape_dims(l.node(), l.dims(0), spec, allow_zero)));
}

void lower_flatten(Lowering& l) {
    l.expect_inputs(1, 1);
    const std::int64_t axis = integer_attribute(l.node(), "axis", 1);
    if (l.opset() < 11 && axis < 0) l.refuse("a negative axis exists from opset 11 on");
    l.reshape_into(l.operand(0), l.output(flatten_dims(l.node(), l.dims(0), axis)));
}

void lower_identity(Lowering& l) {
    l.expect_inputs(1, 1);
    l.reshape_into(l.operand(0), l.output(l.dims(0)));
}

void lower_dropout(Lowering& l) {
    l.expect_inputs(1, l.opset() < 12 ? 1 : 3);
    if (l.opset() < 7 && integer_attribute(l.node(), "is_test", 0) == 0)
        l.refuse("is_test=0 (training) is not supported; export the model for inference");
    if (l.has(2)) {
        const ConstantPtr training = l.required_constant(2, "training_mode");
        const bool on = training->elements() > 0 && training->as_float(0) != 0.0f;
        const ConstantPtr ratio = l.has(1) ? l.required_constant(1, "the ratio") : nullptr;
        if (on && (!ratio || ratio->elements() < 1 || ratio->as_float(0) != 0.0f))
            l.refuse("training_mode is on; export the model for inference");
    }
    const Dims dims = l.dims(0);
    l.reshape_into(l.operand(0), l.output(dims));
    auto mask = std::make_shared<Constant>();
    mask->type = DataType::boolean;
    mask->dims = dims;
    mask->splat = true;
    mask->ints = {1};
    l.constant_output(1, mask);
}

void lower_cast(Lowering& l) {
    l.expect_inputs(1, 1);
    const auto to = static_cast<int>(integer_attribute(l.node(), "to", 0));
    const DataType type = type_of_onnx(to, node_text(l.node()) + ", attribute to");
    // All real numbers are float32 here; what bfloat16 would round away is too much to be left out in
    // silence.
    if (type == DataType::bf16) l.refuse("a cast of computed values to bfloat16 is not supported");
    if (!is_real(type))
        l.refuse(std::string("a cast of computed values to ") + to_string(type) + " is not supported");
    l.reshape_into(l.operand(0), l.output(l.dims(0)));
}

void lower_squeeze(Lowering& l) {
    l.expect_inputs(1, 2);
    const auto axes = l.list(1, "axes");
    l.reshape_into(l.operand(0), l.output(squeeze_dims(l.node(), l.dims(0), axes ? &*axes : nullptr)));
}

void lower_unsqueeze(Lowering& l) {
    l.expect_inputs(1, 2);
    const auto axes = l.list(1, "axes");
    if (!axes) l.refuse("axes are missing");
    l.reshape_into(l.operand(0), l.output(unsqueeze_dims(l.node(), l.dims(0), *axes)));
}

Dims as_dims(const Integers& values) {
    Dims dims;
    for (const std::int64_t value : values) dims.push_back(value);
    return dims;
}

// A copy whose source and destination are seen through views.
void copy(Lowering& l, Operand source, const View& view, int output, const View& output_view,
          const Dims& output_dims) {
    TransformProblem problem;
    const TensorDesc from = shape_only(l.dims_of(source)), to = shape_only(output_dims);
    problem.src = view ? view(from) : from;
    problem.dst = output_view ? output_view(to) : to;
    source.view = view;
    l.emit(problem, {std::move(source)}, output).output_view = output_view;
}

void lower_transpose(Lowering& l) {
    l.expect_inputs(1, 1);
    const Dims src = l.dims(0);
    const Dims order = as_dims(permutation(l.node(), src.rank()));
    Dims dst;
    for (const std::int64_t axis : order) dst.push_back(src[static_cast<int>(axis)]);
    copy(l, l.operand(0), view_permuted(order), l.output(dst), {}, dst);
}

void lower_slice(Lowering& l) {
    l.expect_inputs(1, l.opset() < 10 ? 1 : 5);
    const auto starts = l.list(1, "starts"), ends = l.list(2, "ends"), axes = l.list(3, "axes"),
               steps = l.list(4, "steps");
    if (!starts || !ends) l.refuse("starts or ends are missing");
    const Slices s =
        slices(l.node(), l.dims(0), *starts, *ends, axes ? &*axes : nullptr, steps ? &*steps : nullptr);
    const Dims dst = as_dims(s.counts);
    copy(l, l.operand(0), view_sliced(as_dims(s.starts), as_dims(s.steps), dst), l.output(dst), {}, dst);
}

void lower_split(Lowering& l) {
    l.expect_inputs(1, 2);
    const Dims src = l.dims(0);
    const int axis = checked_axis(l.node(), integer_attribute(l.node(), "axis", 0), src.rank());
    const auto count = static_cast<std::int64_t>(l.node().outputs.size());
    auto sizes = l.list(1, "split");
    if (!sizes) {
        const std::int64_t parts = integer_attribute(l.node(), "num_outputs", count);
        if (parts != count)
            l.refuse("num_outputs is " + std::to_string(parts) + ", it has " + std::to_string(count) +
                     " outputs");
        // The last part is the smaller one where the axis can't be divided.
        const std::int64_t size = (src[axis] + count - 1) / count;
        if (l.opset() < 18 && src[axis] % count != 0)
            l.refuse("an axis of " + std::to_string(src[axis]) + " can't be split into " +
                     std::to_string(count));
        sizes = Integers();
        for (std::int64_t i = 0; i < count; ++i)
            sizes->push_back(std::clamp<std::int64_t>(src[axis] - i * size, 0, size));
    }
    std::int64_t at = 0;
    if (static_cast<std::int64_t>(sizes->size()) != count)
        l.refuse("split has " + std::to_string(sizes->size()) + " sizes, it has " + std::to_string(count) +
                 " outputs");
    for (const std::int64_t size : *sizes) {
        if (size < 0 || size > src[axis] - at)
            l.refuse("the sizes of split exceed the axis of " + std::to_string(src[axis]));
        at += size;
    }
    if (at != src[axis]) l.refuse("the sizes of split don't fill the axis of " + std::to_string(src[axis]));
    Dims starts = Dims::filled(src.rank(), 0);
    const Dims steps = Dims::filled(src.rank(), 1);
    for (std::size_t i = 0; i < sizes->size(); ++i) {
        Dims dst = src;
        dst[axis] = (*sizes)[i];
        if (l.has_output(i))
            copy(l, l.operand(0), view_sliced(starts, steps, dst), l.output(dst, i), {}, dst);
        starts[axis] += (*sizes)[i];
    }
}

void lower_expand(Lowering& l) {
    l.expect_inputs(2, 2);
    const Dims src = l.dims(0);
    const Dims target =
        checked_dims(l.node(), integers_of(l.node(), *l.required_constant(1, "the shape"), "the shape"));
    const Dims dst = broadcast_dims(l.node(), src, target);
    copy(l, l.operand(0), then(view_as_rank(dst.rank()), view_repeated(dst)), l.output(dst), {}, dst);
}

void lower_pad(Lowering& l) {
    const bool attributes = l.opset() < 11;
    l.expect_inputs(attributes ? 1 : 2, attributes ? 1 : 4);
    const Dims src = l.dims(0);
    const auto pads = attributes ? integers_attribute(l.node(), "pads") : l.list(1, "pads");
    if (!pads) l.refuse("pads are missing");
    std::optional<Integers> axes;
    if (l.opset() >= 18) axes = l.list(3, "axes");
    const std::size_t count = axes ? axes->size() : static_cast<std::size_t>(src.rank());
    if (pads->size() != 2 * count) l.refuse("pads must have two entries for each axis");
    TransformProblem problem;
    problem.pads_begin = problem.pads_end = Dims::filled(src.rank(), 0);
    const std::string mode = text_attribute(l.node(), "mode", "constant");
    problem.pad_mode = mode == "edge"      ? PadMode::edge
                       : mode == "reflect" ? PadMode::reflect
                                           : PadMode::constant;
    if (mode != "constant" && mode != "edge" && mode != "reflect")
        l.refuse("the mode '" + mode + "' is not supported");
    Dims dst = src;
    for (std::size_t i = 0; i < count; ++i) {
        const int axis = checked_axis(l.node(), axes ? (*axes)[i] : static_cast<std::int64_t>(i), src.rank());
        const std::int64_t before = (*pads)[i], after = (*pads)[i + count], limit = std::int64_t{1} << 30;
        if (before < -limit || before > limit || after < -limit || after > limit)
            l.refuse("a pad is too large");
        if (mode == "reflect" && std::max(before, after) >= std::max<std::int64_t>(src[axis], 1))
            l.refuse("a pad of " + std::to_string(std::max(before, after)) +
                     " can't be reflected from an axis of " + std::to_string(src[axis]));
        problem.pads_begin[axis] = before;
        problem.pads_end[axis] = after;
        dst[axis] = src[axis] + before + after;
        if (dst[axis] < 0) l.refuse("its pads crop more than there is");
    }
    dst = checked_dims(l.node(), Integers(dst.begin(), dst.end()));
    problem.pad_value = attributes ? real_attribute(l.node(), "value", 0.0f) : 0.0f;
    if (!attributes && l.has(2)) {
        const ConstantPtr value = l.required_constant(2, "the pad value");
        if (value->elements() != 1) l.refuse("the pad value must be one number");
        problem.pad_value = value->as_float(0);
    }
    problem.src = shape_only(src);
    problem.dst = shape_only(dst);
    l.emit(problem, {l.operand(0)}, l.output(dst));
}

void lower_concat(Lowering& l) {
    l.expect_inputs(1, 4096);
    if (!has_attribute(l.node(), "axis")) l.refuse("axis is missing");
    Dims dst = l.dims(0);
    const int axis = checked_axis(l.node(), integer_attribute(l.node(), "axis", 1), dst.rank());
    ConcatProblem problem;
    problem.axis = axis;
    std::vector<Operand> sources;
    std::int64_t length = 0;
    for (std::size_t i = 0; i < l.inputs(); ++i) {
        const Dims part = l.dims(i);
        bool fits = part.rank() == dst.rank();
        for (int k = 0; fits && k < dst.rank(); ++k) fits = k == axis || part[k] == dst[k];
        if (!fits)
            l.refuse("its inputs " + l.dims(0).text() + " and " + part.text() + " differ in more than axis " +
                     std::to_string(axis));
        length += part[axis];
        problem.srcs.push_back(shape_only(part));
        sources.push_back(l.operand(i));
    }
    dst[axis] = length;
    dst = checked_dims(l.node(), Integers(dst.begin(), dst.end()));
    if (sources.size() == 1) {
        l.reshape_into(sources[0], l.output(dst));
        return;
    }
    problem.dst = shape_only(dst);
    l.emit(problem, std::move(sources), l.output(dst));
}

std::int64_t block_size(const Lowering& l, const Dims& src) {
    if (src.rank() != 4) l.refuse("its data " + src.text() + " must have the axes N C H W");
    const std::int64_t size = integer_attribute(l.node(), "blocksize", 0);
    if (size < 1 || size > 65536) l.refuse("blocksize is missing or not possible");
    return size;
}

void lower_depth_to_space(Lowering& l) {
    l.expect_inputs(1, 1);
    const Dims src = l.dims(0);
    const std::int64_t b = block_size(l, src);
    if (src[1] % (b * b) != 0) l.refuse("its channels can't be divided by blocksize squared");
    const std::string mode = text_attribute(l.node(), "mode", "DCR");
    if (mode != "DCR" && mode != "CRD") l.refuse("the mode '" + mode + "' is not known");
    const std::int64_t c = src[1] / (b * b);
    const Dims dst = checked_dims(l.node(), {src[0], c, src[2] * b, src[3] * b});
    // Source as N b b c H W (DCR) or N c b b H W (CRD), brought to N c H b W b.
    const bool dcr = mode == "DCR";
    const View split = dcr ? then(view_split(1, b, b * c), view_split(2, b, c))
                           : then(view_split(1, c, b * b), view_split(2, b, b));
    const View order = view_permuted(dcr ? Dims{0, 3, 4, 1, 5, 2} : Dims{0, 1, 4, 2, 5, 3});
    const View to = then(view_split(2, src[2], b), view_split(4, src[3], b));
    copy(l, l.operand(0), then(split, order), l.output(dst), to, dst);
}

void lower_space_to_depth(Lowering& l) {
    l.expect_inputs(1, 1);
    const Dims src = l.dims(0);
    const std::int64_t b = block_size(l, src);
    if (src[2] % b != 0 || src[3] % b != 0) l.refuse("its sides can't be divided by blocksize");
    const Dims dst = checked_dims(l.node(), {src[0], src[1] * b * b, src[2] / b, src[3] / b});
    // N C H b W b, brought to N b b C H W.
    const View from = then(then(view_split(2, src[2] / b, b), view_split(4, src[3] / b, b)),
                           view_permuted({0, 3, 5, 1, 2, 4}));
    const View to = then(view_split(1, b, b * src[1]), view_split(2, b, src[1]));
    copy(l, l.operand(0), from, l.output(dst), to, dst);
}

}  // namespace

std::vector<OperatorRow> shape_operators() {
    return {{"Reshape", 5, lower_reshape},
            {"Flatten", 1, lower_flatten},
            {"Identity", 1, lower_identity},
            {"Dropout", 1, lower_dropout},
            {"Cast", 1, lower_cast},
            {"Squeeze", 1, lower_squeeze},
            {"Unsqueeze", 1, lower_unsqueeze},
            {"Transpose", 1, lower_transpose},
            {"Slice", 1, lower_slice},
            {"Split", 1, lower_split},
            {"Expand", 8, lower_expand},
            {"Pad", 2, lower_pad},
            {"Concat", 4, lower_concat},
            {"DepthToSpace", 1, lower_depth_to_space},
            {"SpaceToDepth", 1, lower_space_to_depth}};
}

}  // namespace convlens::network

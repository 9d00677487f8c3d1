// Operators with windows over the spatial axes: convolutions, pooling, reductions, LRN.
#include <algorithm>

#include "app/network/lowering.h"

namespace convlens::network {

namespace {

constexpr std::int64_t largest_setting = std::int64_t{1} << 24;  // of a stride, pad, dilation or window

// A list attribute with one entry a spatial axis (pads: two), all within range.
Dims setting(const Lowering& l, const char* name, int rank, std::int64_t otherwise, std::int64_t least) {
    const auto given = integers_attribute(l.node(), name);
    if (!given) return Dims::filled(rank, otherwise);
    if (static_cast<int>(given->size()) != rank)
        l.refuse(std::string(name) + " has " + std::to_string(given->size()) + " entries, " +
                 std::to_string(rank) + " are needed");
    Dims result;
    for (const std::int64_t value : *given) {
        if (value < least || value > largest_setting)
            l.refuse(std::string(name) + " holds " + std::to_string(value) + ", possible is " +
                     std::to_string(least) + " to " + std::to_string(largest_setting));
        result.push_back(value);
    }
    return result;
}

int spatial_rank(const Lowering& l, const Dims& dims) {
    if (dims.rank() < 3 || dims.rank() > 5)
        l.refuse("its data " + dims.text() + " has " + std::to_string(dims.rank()) +
                 " axes; N, C and 1 to 3 spatial axes are possible");
    return dims.rank() - 2;
}

struct Geometry {
    WindowDesc window;
    Dims size;  // window lengths
    std::string auto_pad;
};

Geometry geometry(const Lowering& l, const Dims& size) {
    const int rank = size.rank();
    Geometry g;
    g.size = size;
    g.window.strides = setting(l, "strides", rank, 1, 1);
    g.window.dilations = setting(l, "dilations", rank, 1, 1);
    g.auto_pad = text_attribute(l.node(), "auto_pad", "NOTSET");
    if (g.auto_pad.empty()) g.auto_pad = "NOTSET";
    if (g.auto_pad != "NOTSET" && g.auto_pad != "VALID" && g.auto_pad != "SAME_UPPER" &&
        g.auto_pad != "SAME_LOWER")
        l.refuse("auto_pad '" + g.auto_pad + "' is not known");
    g.window.pads_begin = g.window.pads_end = Dims::filled(rank, 0);
    if (g.auto_pad != "NOTSET") return g;
    if (max_rank < 2 * rank) l.refuse("too many axes");
    const Dims pads = setting(l, "pads", 2 * rank, 0, 0);
    for (int i = 0; i < rank; ++i) {
        g.window.pads_begin[i] = pads[i];
        g.window.pads_end[i] = pads[rank + i];
    }
    return g;
}

// SAME: as many pads as an output of ceil(in / stride) needs.
void apply_same(Geometry& g, const Dims& src) {
    if (!g.auto_pad.starts_with("SAME")) return;
    for (int i = 0; i < g.size.rank(); ++i) {
        const std::int64_t in = src[i + 2], stride = g.window.strides[i];
        const std::int64_t out = (in + stride - 1) / stride;
        const std::int64_t reach = g.window.dilations[i] * (g.size[i] - 1) + 1;
        const std::int64_t total = std::max<std::int64_t>((out - 1) * stride + reach - in, 0);
        const std::int64_t small = total / 2;
        g.window.pads_begin[i] = g.auto_pad == "SAME_UPPER" ? small : total - small;
        g.window.pads_end[i] = total - g.window.pads_begin[i];
    }
}

Dims kernel_shape(const Lowering& l, const Dims& weights) {
    Dims size;
    for (int i = 2; i < weights.rank(); ++i) size.push_back(weights[i]);
    if (integers_attribute(l.node(), "kernel_shape") && setting(l, "kernel_shape", size.rank(), 1, 1) != size)
        l.refuse("kernel_shape differs from its weights " + weights.text());
    return size;
}

Operand bias_of(const Lowering& l, std::size_t i, std::int64_t channels) {
    if (!l.has(i)) return {};
    const ConstantPtr bias = l.required_constant(i, "the bias");
    if (bias->dims.rank() != 1 || bias->dims[0] != channels)
        l.refuse("the bias " + bias->dims.text() + " must have one entry for each of " +
                 std::to_string(channels) + " output channels");
    return {-1, bias, {}};
}

ConstantPtr filter_of(const Lowering& l, const Dims& src) {
    const ConstantPtr filter = l.required_constant(1, "the weights");
    if (filter->dims.rank() != src.rank())
        l.refuse("the weights " + filter->dims.text() + " and the data " + src.text() +
                 " differ in their axes");
    for (int i = 0; i < filter->dims.rank(); ++i)
        if (filter->dims[i] < 1 || filter->dims[i] > largest_setting)
            l.refuse("the weights " + filter->dims.text() + " have an axis of impossible length");
    return filter;
}

void lower_convolution(Lowering& l) {
    l.expect_inputs(2, 3);
    const Dims src = l.dims(0);
    const int rank = spatial_rank(l, src);
    const ConstantPtr filter = filter_of(l, src);
    const std::int64_t groups = integer_attribute(l.node(), "group", 1);
    const std::int64_t outputs = filter->dims[0];
    if (groups < 1 || src[1] % groups != 0 || outputs % groups != 0 || filter->dims[1] != src[1] / groups)
        l.refuse("group " + std::to_string(groups) + ", data " + src.text() + " and weights " +
                 filter->dims.text() + " don't fit: C = group * W[1], and group must divide W[0]");
    Geometry g = geometry(l, kernel_shape(l, filter->dims));
    apply_same(g, src);
    Dims dst{src[0], outputs};
    for (int i = 0; i < rank; ++i) {
        const std::int64_t out =
            convolution_output_size(src[i + 2], g.size[i], g.window.pads_begin[i], g.window.pads_end[i],
                                    g.window.strides[i], g.window.dilations[i]);
        if (out < 1)
            l.refuse("its window is larger than its padded data " + src.text() + "; use a larger input");
        dst.push_back(out);
    }
    ConvolutionProblem problem;
    problem.src = shape_only(src);
    problem.weights = filter->dims;
    problem.dst = shape_only(dst);
    problem.window = g.window;
    problem.groups = groups;
    const Operand bias = bias_of(l, 2, outputs);
    problem.has_bias = bias.present();
    l.emit(problem, {l.operand(0), bias, {}}, l.output(dst)).weights = {
        filter, filter->dims, false, {}, 1.0f};
}

void lower_transposed_convolution(Lowering& l) {
    l.expect_inputs(2, 3);
    const Dims src = l.dims(0);
    const int rank = spatial_rank(l, src);
    const ConstantPtr filter = filter_of(l, src);
    const std::int64_t groups = integer_attribute(l.node(), "group", 1);
    if (groups < 1 || src[1] % groups != 0 || filter->dims[0] != src[1])
        l.refuse("group " + std::to_string(groups) + ", data " + src.text() + " and weights " +
                 filter->dims.text() + " don't fit: C = W[0], and group must divide it");
    const std::int64_t outputs = filter->dims[1] * groups;
    Geometry g = geometry(l, kernel_shape(l, filter->dims));
    Dims extra = setting(l, "output_padding", rank, 0, 0);
    const bool same = g.auto_pad.starts_with("SAME");
    const auto wanted = integers_attribute(l.node(), "output_shape");
    Dims shape;
    if (wanted) shape = setting(l, "output_shape", rank, 0, 1);
    Dims dst{src[0], outputs};
    for (int i = 0; i < rank; ++i) {
        const std::int64_t stride = g.window.strides[i], dilation = g.window.dilations[i];
        if (wanted || same) {
            const std::int64_t target = wanted ? shape[i] : src[i + 2] * stride;
            const std::int64_t full = stride * (src[i + 2] - 1) + dilation * (g.size[i] - 1) + 1 + extra[i];
            const std::int64_t total = std::max<std::int64_t>(full - target, 0);
            if (full < target) extra[i] += target - full;
            g.window.pads_begin[i] = g.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
            g.window.pads_end[i] = total - g.window.pads_begin[i];
        }
        const std::int64_t out = transposed_output_size(src[i + 2], g.size[i], g.window.pads_begin[i],
                                                        g.window.pads_end[i], stride, dilation, extra[i]);
        if (out < 1) l.refuse("nothing is left of its result after its pads");
        dst.push_back(out);
    }
    TransposedConvolutionProblem problem;
    problem.src = shape_only(src);
    problem.weights = filter->dims;
    problem.dst = shape_only(dst);
    problem.window = g.window;
    problem.groups = groups;
    const Operand bias = bias_of(l, 2, outputs);
    problem.has_bias = bias.present();
    l.emit(problem, {l.operand(0), bias}, l.output(dst)).weights = {filter, filter->dims, false, {}, 1.0f};
}

void lower_pooling(Lowering& l, PoolingKind kind) {
    l.expect_inputs(1, 1);
    const Dims src = l.dims(0);
    const int rank = spatial_rank(l, src);
    if (!integers_attribute(l.node(), "kernel_shape")) l.refuse("kernel_shape is missing");
    Geometry g = geometry(l, setting(l, "kernel_shape", rank, 1, 1));
    apply_same(g, src);
    const bool ceil_mode = integer_attribute(l.node(), "ceil_mode", 0) != 0;
    Dims dst{src[0], src[1]};
    for (int i = 0; i < rank; ++i) {
        const std::int64_t out = pooling_output_size(
            src[i + 2], g.size[i], g.window.pads_begin[i], g.window.pads_end[i], g.window.strides[i],
            g.window.dilations[i], ceil_mode && !g.auto_pad.starts_with("SAME"));
        if (out < 1)
            l.refuse("its window is larger than its padded data " + src.text() + "; use a larger input");
        dst.push_back(out);
    }
    PoolingProblem problem{shape_only(src), shape_only(dst), kind, g.size, g.window};
    l.emit(problem, {l.operand(0)}, l.output(dst));
}

void lower_max_pool(Lowering& l) { lower_pooling(l, PoolingKind::max); }
void lower_average_pool(Lowering& l) {
    lower_pooling(l, integer_attribute(l.node(), "count_include_pad", 0) != 0
                         ? PoolingKind::average_include_pad
                         : PoolingKind::average_exclude_pad);
}

// Pooling over any axes: kept axes come first as N, C and windows of length 1, reduced ones follow.
void reduce_by_pooling(Lowering& l, PoolingKind kind, const std::vector<bool>& reduced, bool keep) {
    const Dims src = l.dims(0);
    Dims order, kept_dims, dst;
    for (const bool now : {false, true})
        for (int i = 0; i < src.rank(); ++i)
            if (reduced[static_cast<std::size_t>(i)] == now) order.push_back(i);
    int kept = 0;
    for (int i = 0; i < src.rank(); ++i) {
        const bool gone = reduced[static_cast<std::size_t>(i)];
        if (!gone) ++kept;
        kept_dims.push_back(gone ? 1 : src[i]);
        if (keep || !gone) dst.push_back(kept_dims[i]);
    }
    const int lead = std::max(0, 2 - kept);
    const int rank = lead + src.rank();
    if (rank - 2 > 3 || rank == 2)
        l.refuse("a mean or maximum over these axes of " + src.text() + " is not possible");
    PoolingProblem problem;
    problem.kind = kind;
    problem.window = WindowDesc::unit(rank - 2);
    const View view = then(view_permuted(order), view_as_rank(rank));
    problem.src = view(shape_only(src));
    problem.dst = view(shape_only(kept_dims));
    for (int i = 2; i < rank; ++i) {
        const bool gone = i - lead >= kept;
        problem.size.push_back(gone ? problem.src.dims[i] : 1);
        if (gone && problem.src.dims[i] < 1) l.refuse("a mean or maximum of nothing");
    }
    Operand source = l.operand(0);
    source.view = view;
    const int output = keep ? l.output(dst) : l.temporary(kept_dims);
    l.emit(problem, {source}, output).output_view = view;
    if (!keep) l.reshape_into(Operand::of(output), l.output(dst));
}

void lower_global(Lowering& l, PoolingKind kind) {
    l.expect_inputs(1, 1);
    const Dims src = l.dims(0);
    const int rank = spatial_rank(l, src);
    Dims dst{src[0], src[1]};
    PoolingProblem problem;
    problem.kind = kind;
    problem.window = WindowDesc::unit(rank);
    for (int i = 0; i < rank; ++i) {
        if (src[i + 2] < 1) l.refuse("a mean or maximum of nothing");
        problem.size.push_back(src[i + 2]);
        dst.push_back(1);
    }
    problem.src = shape_only(src);
    problem.dst = shape_only(dst);
    l.emit(problem, {l.operand(0)}, l.output(dst));
}
void lower_global_average(Lowering& l) { lower_global(l, PoolingKind::average_exclude_pad); }
void lower_global_max(Lowering& l) { lower_global(l, PoolingKind::max); }

void lower_reduce(Lowering& l, PoolingKind kind) {
    l.expect_inputs(1, 2);
    const Dims src = l.dims(0);
    const auto axes = l.list(1, "axes");
    std::vector<bool> reduced(static_cast<std::size_t>(src.rank()), false);
    const bool all = !axes || axes->empty();
    if (all && integer_attribute(l.node(), "noop_with_empty_axes", 0) != 0) {
        l.reshape_into(l.operand(0), l.output(src));
        return;
    }
    if (all) reduced.assign(reduced.size(), true);
    if (!all)
        for (const std::int64_t axis : *axes)
            reduced[static_cast<std::size_t>(checked_axis(l.node(), axis, src.rank()))] = true;
    reduce_by_pooling(l, kind, reduced, integer_attribute(l.node(), "keepdims", 1) != 0);
}
void lower_reduce_mean(Lowering& l) { lower_reduce(l, PoolingKind::average_exclude_pad); }
void lower_reduce_max(Lowering& l) { lower_reduce(l, PoolingKind::max); }

void lower_lrn(Lowering& l) {
    l.expect_inputs(1, 1);
    const Dims src = l.dims(0);
    LrnProblem problem;
    problem.size = integer_attribute(l.node(), "size", 0);
    if (problem.size < 1 || problem.size > largest_setting) l.refuse("size is missing or below 1");
    if (src.rank() < 3) l.refuse("its data " + src.text() + " has no spatial axes");
    problem.alpha = real_attribute(l.node(), "alpha", 1e-4f);
    problem.beta = real_attribute(l.node(), "beta", 0.75f);
    problem.k = real_attribute(l.node(), "bias", 1.0f);
    problem.src = problem.dst = shape_only(src);
    l.emit(problem, {l.operand(0)}, l.output(src));
}

}  // namespace

std::vector<OperatorRow> window_operators() {
    return {{"Conv", 1, lower_convolution},
            {"ConvTranspose", 1, lower_transposed_convolution},
            {"MaxPool", 1, lower_max_pool},
            {"AveragePool", 1, lower_average_pool},
            {"GlobalAveragePool", 1, lower_global_average},
            {"GlobalMaxPool", 1, lower_global_max},
            {"ReduceMean", 1, lower_reduce_mean},
            {"ReduceMax", 1, lower_reduce_max},
            {"LRN", 1, lower_lrn}};
}

}  // namespace convlens::network

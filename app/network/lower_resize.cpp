// Resize and Upsample where they only copy: nearest, and each axis either repeats its elements a whole number
// of times or takes every n-th.
#include <algorithm>
#include <cmath>

#include "app/network/lowering.h"

namespace convlens::network {

namespace {

struct Nearest {
    std::string transform, rounding;
};

// The source index of each output index, by ONNX's definition.
Integers nearest_indices(const Lowering& l, std::int64_t in, std::int64_t out, double scale,
                         const Nearest& nearest) {
    Integers indices;
    for (std::int64_t i = 0; i < out; ++i) {
        const auto x = static_cast<double>(i);
        double at = 0;
        if (nearest.transform == "half_pixel")
            at = (x + 0.5) / scale - 0.5;
        else if (nearest.transform == "half_pixel_symmetric") {
            const double adjustment = static_cast<double>(out) / (scale * static_cast<double>(in));
            const double centre = static_cast<double>(in) / 2;
            at = centre * (1 - adjustment) + (x + 0.5) / scale - 0.5;
        } else if (nearest.transform == "pytorch_half_pixel")
            at = out > 1 ? (x + 0.5) / scale - 0.5 : 0;
        else if (nearest.transform == "align_corners")
            at = out > 1 ? x * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
        else if (nearest.transform == "asymmetric")
            at = x / scale;
        else
            l.refuse("the coordinates '" + nearest.transform + "' are not supported");
        double whole = 0;
        if (nearest.rounding == "round_prefer_floor")
            whole = std::ceil(at - 0.5);
        else if (nearest.rounding == "round_prefer_ceil")
            whole = std::floor(at + 0.5);
        else if (nearest.rounding == "floor")
            whole = std::floor(at);
        else if (nearest.rounding == "ceil")
            whole = std::ceil(at);
        else
            l.refuse("the rounding '" + nearest.rounding + "' is not known");
        indices.push_back(std::clamp<std::int64_t>(static_cast<std::int64_t>(whole), 0, in - 1));
    }
    return indices;
}

void resize(Lowering& l, const std::vector<double>& scales, const Dims& dst, const Nearest& nearest) {
    const Dims src = l.dims(0);
    Operand source = l.operand(0);
    View from, to;
    Dims repeated;
    int axis = 0;  // of the views, which have two axes where elements are repeated
    Dims starts, steps, counts;
    std::vector<std::int64_t> times;
    for (int i = 0; i < src.rank(); ++i) {
        if (src[i] < 1 || dst[i] < 1) l.refuse("an axis without elements");
        if (dst[i] > 1 << 20) l.refuse("an axis of " + std::to_string(dst[i]) + " is too long");
        const Integers indices =
            nearest_indices(l, src[i], dst[i], scales[static_cast<std::size_t>(i)], nearest);
        const std::int64_t repeat = dst[i] % src[i] == 0 ? dst[i] / src[i] : 1;
        bool repeats = dst[i] == repeat * src[i], steps_on = true;
        const std::int64_t step = dst[i] > 1 ? std::max<std::int64_t>(indices[1] - indices[0], 1) : 1;
        for (std::size_t k = 0; k < indices.size(); ++k) {
            repeats = repeats && indices[k] == static_cast<std::int64_t>(k) / repeat;
            steps_on = steps_on && indices[k] == indices[0] + step * static_cast<std::int64_t>(k);
        }
        if (!repeats && !steps_on)
            l.refuse("a resize of an axis from " + std::to_string(src[i]) + " to " + std::to_string(dst[i]) +
                     " is only supported where it repeats each element or takes every n-th");
        times.push_back(repeats ? repeat : 1);
        starts.push_back(repeats ? 0 : indices[0]);
        steps.push_back(repeats ? 1 : step);
        counts.push_back(repeats ? src[i] : dst[i]);
    }
    from = view_sliced(starts, steps, counts);
    for (int i = 0; i < src.rank(); ++i, ++axis) {
        repeated.push_back(counts[i]);
        if (times[static_cast<std::size_t>(i)] == 1) continue;
        from = then(from, view_split(axis, counts[i], 1));
        to = then(to, view_split(axis, counts[i], times[static_cast<std::size_t>(i)]));
        repeated.push_back(times[static_cast<std::size_t>(i)]);
        ++axis;
    }
    from = then(from, view_repeated(repeated));
    TransformProblem problem;
    problem.src = from(shape_only(src));
    problem.dst = to ? to(shape_only(dst)) : shape_only(dst);
    source.view = from;
    l.emit(problem, {source}, l.output(dst)).output_view = to;
}

// Scales of all axes and the dims that they lead to.
void resize_by(Lowering& l, const Integers& axes, const std::vector<double>& given, const Integers* sizes,
               const Nearest& nearest) {
    const Dims src = l.dims(0);
    if (given.size() != axes.size()) l.refuse("scales or sizes must have one entry for each axis");
    std::vector<double> scales(static_cast<std::size_t>(src.rank()), 1.0);
    Integers dims(src.begin(), src.end());
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto at = static_cast<std::size_t>(checked_axis(l.node(), axes[i], src.rank()));
        if (!(given[i] > 0) || given[i] > 65536) l.refuse("a scale of " + std::to_string(given[i]));
        scales[at] = given[i];
        const double length = std::floor(static_cast<double>(src[static_cast<int>(at)]) * given[i]);
        if (length > 1e9) l.refuse("its result would be too large");
        dims[at] = sizes ? (*sizes)[i] : static_cast<std::int64_t>(length);
    }
    resize(l, scales, checked_dims(l.node(), dims), nearest);
}

void refuse_but_nearest(const Lowering& l) {
    const std::string mode = text_attribute(l.node(), "mode", "nearest");
    if (mode != "nearest")
        l.refuse("the mode '" + mode + "' is not supported, only nearest; a ConvTranspose can do the same");
}

std::vector<double> numbers(const Constant& constant) {
    std::vector<double> result;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(constant.elements(), 64); ++i)
        result.push_back(static_cast<double>(constant.as_float(i)));
    return result;
}

Integers all_axes(int rank) {
    Integers axes;
    for (int i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
}

void lower_upsample(Lowering& l) {
    l.expect_inputs(1, 2);
    refuse_but_nearest(l);
    std::vector<double> scales;
    if (l.has(1)) {
        scales = numbers(*l.required_constant(1, "scales"));
    } else if (const auto* given =
                   find_attribute<std::vector<float>>(l.node(), "scales", "a list of numbers")) {
        scales.assign(given->begin(), given->end());
    }
    resize_by(l, all_axes(l.dims(0).rank()), scales, nullptr, {"asymmetric", "floor"});
}

void lower_resize(Lowering& l) {
    l.expect_inputs(1, 4);
    refuse_but_nearest(l);
    const int rank = l.dims(0).rank();
    if (l.opset() < 11) {
        if (!l.has(1)) l.refuse("scales are missing");
        resize_by(l, all_axes(rank), numbers(*l.required_constant(1, "scales")), nullptr,
                  {"asymmetric", "floor"});
        return;
    }
    const Nearest nearest{text_attribute(l.node(), "coordinate_transformation_mode", "half_pixel"),
                          text_attribute(l.node(), "nearest_mode", "round_prefer_floor")};
    const auto listed = integers_attribute(l.node(), "axes");
    const Integers axes = listed ? *listed : all_axes(rank);
    if (integer_attribute(l.node(), "antialias", 0) != 0) l.refuse("antialias is not supported");
    if (text_attribute(l.node(), "keep_aspect_ratio_policy", "stretch") != "stretch")
        l.refuse("keep_aspect_ratio_policy is not supported; give sizes that keep it");
    if (l.has(2) && l.required_constant(2, "scales")->elements() > 0) {
        resize_by(l, axes, numbers(*l.constant(2)), nullptr, nearest);
        return;
    }
    if (!l.has(3)) l.refuse("scales and sizes are missing");
    const Integers sizes = integers_of(l.node(), *l.required_constant(3, "sizes"), "sizes");
    if (sizes.size() != axes.size()) l.refuse("scales or sizes must have one entry for each axis");
    std::vector<double> scales;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::int64_t length = l.dims(0)[checked_axis(l.node(), axes[i], rank)];
        scales.push_back(length > 0 ? static_cast<double>(sizes[i]) / static_cast<double>(length) : 1.0);
    }
    resize_by(l, axes, scales, &sizes, nearest);
}

}  // namespace

std::vector<OperatorRow> resize_operators() {
    return {{"Resize", 10, lower_resize}, {"Upsample", 7, lower_upsample}};
}

}  // namespace convlens::network

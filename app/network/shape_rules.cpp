#include "app/network/shape_rules.h"

#include <algorithm>

#include "app/network/attributes.h"

namespace convlens::network {

Dims checked_dims(const Node& node, const Integers& values) {
    if (values.size() > static_cast<std::size_t>(max_rank))
        refuse(node, std::to_string(values.size()) + " axes, at most " + std::to_string(max_rank) +
                         " are possible");
    Dims dims;
    std::int64_t product = 1;
    for (const std::int64_t value : values) {
        if (value < 0) refuse(node, "a dim of its result would be negative (" + std::to_string(value) + ")");
        if (__builtin_mul_overflow(product, std::max<std::int64_t>(value, 1), &product) ||
            product > max_tensor_elements)
            refuse(node,
                   "its result would have more than " + std::to_string(max_tensor_elements) + " elements");
        dims.push_back(value);
    }
    return dims;
}

int checked_axis(const Node& node, std::int64_t axis, int rank, bool inclusive) {
    const std::int64_t last = inclusive ? rank : rank - 1;
    if (axis < -rank || axis > last)
        refuse(node, "axis " + std::to_string(axis) + " is not in " + std::to_string(-rank) + " to " +
                         std::to_string(last));
    return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Dims reshape_dims(const Node& node, const Dims& data, const Integers& spec, bool allow_zero) {
    Integers result;
    std::int64_t known = 1;
    int unknown = -1;
    bool literal_zero = false;
    if (spec.size() > static_cast<std::size_t>(max_rank))
        refuse(node, "a shape of " + std::to_string(spec.size()) + " axes, at most " +
                         std::to_string(max_rank) + " are possible");
    for (std::size_t i = 0; i < spec.size(); ++i) {
        std::int64_t value = spec[i];
        if (value < -1) refuse(node, "the shape holds " + std::to_string(value));
        if (value == 0 && allow_zero) literal_zero = true;
        if (value == 0 && !allow_zero) {
            if (static_cast<int>(i) >= data.rank())
                refuse(node, "the shape copies axis " + std::to_string(i) + ", its data has only " +
                                 std::to_string(data.rank()) + " axes");
            value = data[static_cast<int>(i)];
        }
        if (value == -1) {
            if (unknown >= 0) refuse(node, "the shape holds -1 twice");
            unknown = static_cast<int>(i);
            result.push_back(1);
            continue;
        }
        if (__builtin_mul_overflow(known, value, &known)) refuse(node, "the shape overflows 63 bits");
        result.push_back(value);
    }
    const std::int64_t total = data.product();
    if (unknown >= 0) {
        if (literal_zero) refuse(node, "the shape holds -1 together with a literal 0");
        if (known == 0 ? total != 0 : total % known != 0)
            refuse(node, "its data " + data.text() + " can't be divided by the shape");
        result[static_cast<std::size_t>(unknown)] = known == 0 ? 0 : total / known;
    } else if (known != total) {
        refuse(node, "its data " + data.text() + " has " + std::to_string(total) + " elements, the shape " +
                         std::to_string(known));
    }
    return checked_dims(node, result);
}

Dims flatten_dims(const Node& node, const Dims& data, std::int64_t axis) {
    const int at = checked_axis(node, axis, data.rank(), true);
    std::int64_t rows = 1, columns = 1;
    for (int i = 0; i < data.rank(); ++i) (i < at ? rows : columns) *= data[i];
    return checked_dims(node, {rows, columns});
}

Dims squeeze_dims(const Node& node, const Dims& data, const Integers* axes) {
    std::vector<bool> gone(static_cast<std::size_t>(data.rank()), false);
    if (axes == nullptr) {
        for (int i = 0; i < data.rank(); ++i) gone[static_cast<std::size_t>(i)] = data[i] == 1;
    } else {
        for (const std::int64_t axis : *axes) {
            const int at = checked_axis(node, axis, data.rank());
            if (data[at] != 1)
                refuse(node, "axis " + std::to_string(axis) + " has the length " + std::to_string(data[at]) +
                                 ", only 1 can be dropped");
            gone[static_cast<std::size_t>(at)] = true;
        }
    }
    Dims result;
    for (int i = 0; i < data.rank(); ++i)
        if (!gone[static_cast<std::size_t>(i)]) result.push_back(data[i]);
    return result;
}

Dims unsqueeze_dims(const Node& node, const Dims& data, const Integers& axes) {
    const auto rank = static_cast<std::size_t>(data.rank()) + axes.size();
    if (rank > static_cast<std::size_t>(max_rank))
        refuse(node, std::to_string(rank) + " axes, at most " + std::to_string(max_rank) + " are possible");
    std::vector<bool> is_new(rank, false);
    for (const std::int64_t axis : axes) {
        const auto at = static_cast<std::size_t>(checked_axis(node, axis, static_cast<int>(rank)));
        if (is_new[at]) refuse(node, "axis " + std::to_string(axis) + " is given twice");
        is_new[at] = true;
    }
    Dims result;
    int from = 0;
    for (std::size_t i = 0; i < rank; ++i) result.push_back(is_new[i] ? 1 : data[from++]);
    return result;
}

Dims broadcast_dims(const Node& node, const Dims& a, const Dims& b) {
    const int rank = std::max(a.rank(), b.rank());
    Integers result(static_cast<std::size_t>(rank), 1);
    for (int i = 0; i < rank; ++i) {
        const std::int64_t x = i < rank - a.rank() ? 1 : a[i - (rank - a.rank())];
        const std::int64_t y = i < rank - b.rank() ? 1 : b[i - (rank - b.rank())];
        if (x != y && x != 1 && y != 1)
            refuse(node, a.text() + " and " + b.text() + " can't be brought together");
        result[static_cast<std::size_t>(i)] = x == 1 ? y : x;
    }
    return checked_dims(node, result);
}

Integers permutation(const Node& node, int rank) {
    Integers perm;
    if (const auto given = integers_attribute(node, "perm")) {
        perm = *given;
    } else {
        for (int i = rank - 1; i >= 0; --i) perm.push_back(i);
    }
    Integers sorted = perm;
    std::sort(sorted.begin(), sorted.end());
    bool good = static_cast<int>(perm.size()) == rank;
    for (int i = 0; good && i < rank; ++i) good = sorted[static_cast<std::size_t>(i)] == i;
    if (!good) refuse(node, "perm is no permutation of its " + std::to_string(rank) + " axes");
    return perm;
}

Slices slices(const Node& node, const Dims& data, const Integers& starts, const Integers& ends,
              const Integers* axes, const Integers* steps) {
    const std::size_t count = starts.size();
    if (ends.size() != count || (axes && axes->size() != count) || (steps && steps->size() != count))
        refuse(node, "starts, ends, axes and steps differ in length");
    Slices result;
    for (int i = 0; i < data.rank(); ++i) {
        result.starts.push_back(0);
        result.steps.push_back(1);
        result.counts.push_back(data[i]);
    }
    std::vector<bool> seen(static_cast<std::size_t>(data.rank()), false);
    for (std::size_t i = 0; i < count; ++i) {
        const int axis = checked_axis(node, axes ? (*axes)[i] : static_cast<std::int64_t>(i), data.rank());
        const auto at = static_cast<std::size_t>(axis);
        if (seen[at]) refuse(node, "axis " + std::to_string(axis) + " is given twice");
        seen[at] = true;
        const std::int64_t length = data[axis];
        std::int64_t step = steps ? (*steps)[i] : 1, start = starts[i], end = ends[i];
        if (step == 0) refuse(node, "a step of 0");
        step = std::clamp(step, -(length + 1), length + 1);
        if (start < 0) start += length;
        if (end < 0) end += length;
        if (step > 0) {
            start = std::clamp<std::int64_t>(start, 0, length);
            end = std::clamp<std::int64_t>(end, 0, length);
            result.counts[at] = end > start ? (end - start + step - 1) / step : 0;
        } else {
            start = std::clamp<std::int64_t>(start, -1, length - 1);
            end = std::clamp<std::int64_t>(end, -1, length - 1);
            result.counts[at] = start > end ? (start - end - step - 1) / -step : 0;
        }
        result.starts[at] = result.counts[at] > 0 ? start : 0;
        result.steps[at] = step;
    }
    return result;
}

Integers integers_of(const Node& node, const Constant& constant, const char* what) {
    if (constant.is_real()) refuse(node, std::string(what) + " must be integers");
    if (constant.dims.rank() > 1)
        refuse(node, std::string(what) + " must be a list, its dims are " + constant.dims.text());
    if (constant.elements() > 4096) refuse(node, std::string(what) + " has more than 4096 entries");
    Integers result;
    for (std::int64_t i = 0; i < constant.elements(); ++i) result.push_back(constant.integer(i));
    return result;
}

}  // namespace convlens::network

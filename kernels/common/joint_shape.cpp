#include "kernels/common/joint_shape.h"

#include <algorithm>

namespace convlens::kernels {

bool JointShape::is_dense(int operand) const {
    const AxisValues& own = strides[static_cast<std::size_t>(operand)];
    std::int64_t step = 1;
    for (int axis = rank - 1; axis >= 0; --axis) {
        const auto a = static_cast<std::size_t>(axis);
        if (dims[a] != 1 && own[a] != step) return false;
        step *= dims[a];
    }
    return true;
}

std::int64_t JointShape::address(int operand, const AxisValues& index) const {
    std::int64_t at = offsets[static_cast<std::size_t>(operand)];
    for (int axis = 0; axis < rank; ++axis)
        at += index[static_cast<std::size_t>(axis)] *
              strides[static_cast<std::size_t>(operand)][static_cast<std::size_t>(axis)];
    return at;
}

namespace {

// Whether `outer` steps over exactly `length` steps of `inner`; a product beyond 63 bits is no step.
bool follows(std::int64_t outer, std::int64_t inner, std::int64_t length) {
    std::int64_t step = 0;
    return !__builtin_mul_overflow(inner, length, &step) && outer == step;
}

}  // namespace

JointShape join(std::initializer_list<Layout> layouts) {
    JointShape shape;
    shape.operands = static_cast<int>(layouts.size());
    const Layout* all = layouts.begin();
    const Layout& dst = all[layouts.size() - 1];
    // Strides and lengths of an empty tensor may be anything; nothing is to be done with them.
    if (std::find(dst.dims.begin(), dst.dims.begin() + dst.rank, 0) != dst.dims.begin() + dst.rank) {
        shape.rank = 1;
        return shape;
    }
    shape.elements = dst.elements();

    std::array<std::size_t, max_axes> order{};
    std::size_t count = 0;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(dst.rank); ++axis)
        if (dst.dims[axis] != 1) order[count++] = axis;
    std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
                     [&](std::size_t a, std::size_t b) { return dst.strides[a] > dst.strides[b]; });

    std::size_t rank = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t axis = order[i];
        bool joins = rank > 0;
        for (std::size_t k = 0; k < layouts.size() && joins; ++k)
            joins = follows(shape.strides[k][rank - 1], all[k].strides[axis], dst.dims[axis]);
        if (!joins) {
            ++rank;
            shape.dims[rank - 1] = 1;
        }
        shape.dims[rank - 1] *= dst.dims[axis];
        for (std::size_t k = 0; k < layouts.size(); ++k) shape.strides[k][rank - 1] = all[k].strides[axis];
    }
    if (rank == 0) {
        shape.dims[0] = 1;
        for (std::size_t k = 0; k < layouts.size(); ++k) shape.strides[k][0] = 1;
        rank = 1;
    }
    shape.rank = static_cast<int>(rank);
    for (std::size_t k = 0; k < layouts.size(); ++k) shape.offsets[k] = all[k].offset;
    return shape;
}

}  // namespace convlens::kernels

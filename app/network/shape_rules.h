// Shape rules that folding and lowering share. All refuse with the node's name.
#pragma once

#include <span>
#include <vector>

#include "app/network/graph.h"

namespace convlens::network {

using Integers = std::vector<std::int64_t>;

// Dims from a list; refuses negative dims, more than max_rank axes and more than max_tensor_elements.
Dims checked_dims(const Node& node, const Integers& values);
// 0 <= result < rank; `inclusive`: rank itself is possible too (Flatten).
int checked_axis(const Node& node, std::int64_t axis, int rank, bool inclusive = false);
// Dims of `data` under a Reshape's specification: 0 copies unless allow_zero, one -1 is inferred.
Dims reshape_dims(const Node& node, const Dims& data, const Integers& spec, bool allow_zero);
Dims flatten_dims(const Node& node, const Dims& data, std::int64_t axis);
// `axes` null: all axes of length 1.
Dims squeeze_dims(const Node& node, const Dims& data, const Integers* axes);
Dims unsqueeze_dims(const Node& node, const Dims& data, const Integers& axes);
// NumPy's rule: aligned from the last axis.
Dims broadcast_dims(const Node& node, const Dims& a, const Dims& b);
// The permutation of a Transpose (reversed when absent).
Integers permutation(const Node& node, int rank);

// Axis by axis: first index, step (never 0), number of elements.
struct Slices {
    Integers starts, steps, counts;
};
// `axes` null: 0, 1, ...; `steps` null: 1.
Slices slices(const Node& node, const Dims& data, const Integers& starts, const Integers& ends,
              const Integers* axes, const Integers* steps);

// The integers of a constant input; refuses real numbers and rank above 1.
Integers integers_of(const Node& node, const Constant& constant, const char* what);

}  // namespace convlens::network

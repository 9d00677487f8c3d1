// Evaluation of nodes whose inputs are constants.
#pragma once

#include <vector>

#include "app/network/graph.h"

namespace convlens::network {

// Whether fold_node has a rule for the node (all its present inputs must be constants).
bool can_fold(const Node& node);
// The node's outputs (null entries for absent ones). `inputs` as the node's, null: absent. Refuses what is
// malformed; `largest` bounds the elements that a result may hold.
std::vector<ConstantPtr> fold_node(const Node& node, std::int64_t opset,
                                   const std::vector<ConstantPtr>& inputs,
                                   std::int64_t largest = max_constant_elements);

// fold_arithmetic.cpp: element-wise operators on real numbers or integers, with broadcasting.
bool is_foldable_arithmetic(const Node& node);
ConstantPtr fold_arithmetic(const Node& node, const std::vector<ConstantPtr>& inputs);

}  // namespace convlens::network

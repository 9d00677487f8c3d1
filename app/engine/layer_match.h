// Which layer of a newly planned network is the one that was selected before.
#pragma once

#include "app/engine/snapshot.h"

namespace convlens::engine {

// By name; then the lean layer that the node was fused into, or the explore layer of a fused node's main
// node. Another model: the first layer with weights that has maps to look at. Always a valid index, or 0 for
// a network without layers.
int matching_layer(const NetworkInfo* before, int layer, const NetworkInfo& now);

}  // namespace convlens::engine

// Strides for every tensor of a program.
#pragma once

#include <vector>

#include "app/network/program.h"

namespace convlens::network {

struct Layout {
    std::vector<TensorDesc> descs;  // by tensor
    std::vector<int> alias_of;      // -1, or the tensor whose memory it is (never an alias itself)
};

// Decides layouts, turns reshapes into views or copies (views vanish from the program), inserts copies where
// an operation needs another layout, and fills all descriptors of all problems.
Layout assign_layouts(Program& program);

}  // namespace convlens::network

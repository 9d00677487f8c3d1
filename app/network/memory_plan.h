// Where each buffer of an arena lies.
#pragma once

#include <cstddef>
#include <vector>

namespace convlens::network {

// A buffer and the operations (in order, both ends included) during which it holds its values.
struct BufferNeed {
    std::size_t bytes = 0;
    int first = 0, last = 0;
};

struct MemoryPlan {
    std::vector<int> block;           // by buffer
    std::vector<std::size_t> offset;  // by buffer, bytes in its block
    std::vector<std::size_t> blocks;  // bytes of each block
};

// One after the other, nothing shared.
MemoryPlan plan_all_kept(const std::vector<BufferNeed>& needs, std::size_t largest_block);
// Buffers that live at different times may share memory: the largest first, each into the tightest gap.
MemoryPlan plan_by_lifetime(const std::vector<BufferNeed>& needs, std::size_t largest_block);

}  // namespace convlens::network

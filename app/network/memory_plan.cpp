#include "app/network/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "convlens/error.h"

namespace convlens::network {

namespace {

constexpr std::size_t alignment = 256;

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

void check_size(std::size_t bytes, std::size_t largest_block) {
    if (bytes > largest_block)
        throw Error(Status::runtime_failure,
                    "a tensor of " + std::to_string(bytes) + " bytes exceeds the largest block of " +
                        std::to_string(largest_block) + " bytes; use a smaller input");
}

// The tightest gap of a block at the times of `need`, or nothing below the block's limit.
struct Place {
    bool found = false;
    std::size_t offset = 0, slack = 0;
};
Place best_gap(const std::vector<int>& placed, const std::vector<BufferNeed>& needs, const MemoryPlan& plan,
               const BufferNeed& need, std::size_t limit) {
    Place best;
    std::size_t at = 0;
    // `placed` is sorted by offset.
    for (const int other : placed) {
        const auto o = static_cast<std::size_t>(other);
        if (needs[o].last < need.first || needs[o].first > need.last) continue;
        if (plan.offset[o] >= at + need.bytes) {
            const std::size_t slack = plan.offset[o] - at - need.bytes;
            if (!best.found || slack < best.slack) best = {true, at, slack};
        }
        at = std::max(at, aligned(plan.offset[o] + needs[o].bytes));
    }
    if (!best.found && at + need.bytes <= limit) best = {true, at, 0};
    return best;
}

}  // namespace

MemoryPlan plan_all_kept(const std::vector<BufferNeed>& needs, std::size_t largest_block) {
    MemoryPlan plan;
    for (const BufferNeed& need : needs) {
        check_size(need.bytes, largest_block);
        if (plan.blocks.empty() || aligned(plan.blocks.back()) + need.bytes > largest_block)
            plan.blocks.push_back(0);
        plan.block.push_back(static_cast<int>(plan.blocks.size()) - 1);
        plan.offset.push_back(aligned(plan.blocks.back()));
        plan.blocks.back() = plan.offset.back() + need.bytes;
    }
    return plan;
}

MemoryPlan plan_by_lifetime(const std::vector<BufferNeed>& needs, std::size_t largest_block) {
    MemoryPlan plan;
    plan.block.assign(needs.size(), 0);
    plan.offset.assign(needs.size(), 0);
    std::vector<int> order(needs.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return needs[static_cast<std::size_t>(a)].bytes > needs[static_cast<std::size_t>(b)].bytes;
    });
    std::vector<std::vector<int>> placed;  // by block, sorted by offset
    for (const int index : order) {
        const auto i = static_cast<std::size_t>(index);
        check_size(needs[i].bytes, largest_block);
        Place place;
        std::size_t block = 0;
        for (; block < placed.size() && !place.found; ++block)
            place = best_gap(placed[block], needs, plan, needs[i], largest_block);
        if (place.found) {
            --block;
        } else {
            placed.emplace_back();
            plan.blocks.push_back(0);
            block = placed.size() - 1;
        }
        plan.block[i] = static_cast<int>(block);
        plan.offset[i] = place.offset;
        plan.blocks[block] = std::max(plan.blocks[block], place.offset + needs[i].bytes);
        auto& row = placed[block];
        row.insert(std::upper_bound(row.begin(), row.end(), index,
                                    [&](int a, int b) {
                                        return plan.offset[static_cast<std::size_t>(a)] <
                                               plan.offset[static_cast<std::size_t>(b)];
                                    }),
                   index);
    }
    return plan;
}

}  // namespace convlens::network

#include "app/render/frame.h"

namespace convlens::render {

Frame::Frame(Device& device) : device_(device) {
    try {
        const VkCommandPoolCreateInfo pool{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                           .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                           .queueFamilyIndex = device.family()};
        check(vkCreateCommandPool(device.handle(), &pool, nullptr, &pool_), "Creating a command pool");
        const VkCommandBufferAllocateInfo buffer{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                 .commandPool = pool_,
                                                 .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                 .commandBufferCount = 1};
        check(vkAllocateCommandBuffers(device.handle(), &buffer, &commands_), "Allocating a command buffer");
        const VkSemaphoreCreateInfo semaphore{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
        check(vkCreateSemaphore(device.handle(), &semaphore, nullptr, &acquired), "Creating a semaphore");
        if (device.has_timestamps()) {
            const VkQueryPoolCreateInfo queries{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                                .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                                .queryCount = stamp_count};
            check(vkCreateQueryPool(device.handle(), &queries, nullptr, &queries_), "Creating timestamps");
        }
    } catch (...) {
        destroy();
        throw;
    }
}

Frame::~Frame() { destroy(); }

void Frame::destroy() noexcept {
    vkDestroyQueryPool(device_.handle(), queries_, nullptr);
    vkDestroySemaphore(device_.handle(), acquired, nullptr);
    vkDestroyCommandPool(device_.handle(), pool_, nullptr);
}

FrameTimes Frame::wait() {
    FrameTimes times;
    if (value == 0) return times;
    device_.wait(value);
    if (queries_ == VK_NULL_HANDLE) return times;
    const auto between = [&](Stamp from, Stamp to) {
        if ((stamped_ >> from & 1u) == 0 || (stamped_ >> to & 1u) == 0) return -1.0;
        std::uint64_t ticks[2] = {};
        for (int i = 0; i < 2; ++i)
            if (vkGetQueryPoolResults(device_.handle(), queries_, i == 0 ? from : to, 1, sizeof ticks[i],
                                      &ticks[i], sizeof ticks[i], VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
                return -1.0;
        return ticks[1] < ticks[0]
                   ? 0.0
                   : static_cast<double>(ticks[1] - ticks[0]) * device_.limits().timestampPeriod * 1e-6;
    };
    times.atlas_ms = between(atlas_begin, atlas_end);
    times.window_ms = between(window_begin, window_end);
    return times;
}

VkCommandBuffer Frame::begin() {
    check(vkResetCommandPool(device_.handle(), pool_, 0), "Resetting a command pool");
    const VkCommandBufferBeginInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    check(vkBeginCommandBuffer(commands_, &info), "Beginning a refresh");
    stamped_ = 0;
    if (queries_ != VK_NULL_HANDLE) vkCmdResetQueryPool(commands_, queries_, 0, stamp_count);
    return commands_;
}

void Frame::stamp(Stamp which) {
    if (queries_ == VK_NULL_HANDLE) return;
    vkCmdWriteTimestamp2(commands_, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, queries_, which);
    stamped_ |= 1u << which;
}

void Frame::end() { check(vkEndCommandBuffer(commands_), "Finishing a refresh"); }

}  // namespace convlens::render

#include "app/render/timeline.h"

namespace convlens::render {

Timeline::Timeline(VkDevice device) : device_(device) {
    const VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                         .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                         .initialValue = 0};
    const VkSemaphoreCreateInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    check(vkCreateSemaphore(device_, &info, nullptr, &semaphore_), "Creating a timeline semaphore");
}

Timeline::~Timeline() {
    if (semaphore_ != VK_NULL_HANDLE) vkDestroySemaphore(device_, semaphore_, nullptr);
}

std::uint64_t Timeline::completed() const {
    std::uint64_t value = 0;
    return vkGetSemaphoreCounterValue(device_, semaphore_, &value) < 0 ? last() : value;
}

VkResult Timeline::wait(std::uint64_t value, std::uint64_t timeout_ns) const {
    const VkSemaphoreWaitInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                   .semaphoreCount = 1,
                                   .pSemaphores = &semaphore_,
                                   .pValues = &value};
    return vkWaitSemaphores(device_, &info, timeout_ns);
}

}  // namespace convlens::render

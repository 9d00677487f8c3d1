#include "app/render/timeline.h"

namespace convlens::render {

Timeline::Timeline(VkDevice device, bool exported) : device_(device) {
    const VkExportSemaphoreCreateInfo for_export{
        .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                         .pNext = exported ? &for_export : nullptr,
                                         .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                         .initialValue = 0};
    const VkSemaphoreCreateInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    check(vkCreateSemaphore(device_, &info, nullptr, &semaphore_), "Creating a timeline semaphore");
}

Timeline::~Timeline() {
    if (semaphore_ != VK_NULL_HANDLE) vkDestroySemaphore(device_, semaphore_, nullptr);
}

int Timeline::export_fd() const {
    const VkSemaphoreGetFdInfoKHR info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                       .semaphore = semaphore_,
                                       .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    int fd = -1;
    check(vkGetSemaphoreFdKHR(device_, &info, &fd), "Exporting a timeline semaphore");
    return fd;
}

void Timeline::signal(std::uint64_t value) const noexcept {
    std::uint64_t now = 0;
    if (vkGetSemaphoreCounterValue(device_, semaphore_, &now) < 0 || now >= value) return;
    const VkSemaphoreSignalInfo info{
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore_, .value = value};
    (void)vkSignalSemaphore(device_, &info);
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

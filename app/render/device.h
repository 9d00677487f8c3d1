// The Vulkan device: choice, queue, timeline of submissions, memory types, and destruction that waits for the
// GPU.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "app/render/instance.h"
#include "app/render/timeline.h"
#include "app/render/vulkan.h"

namespace convlens::render {

// What a device must have, and why one was not taken.
struct DeviceCandidate {
    VkPhysicalDevice handle = VK_NULL_HANDLE;
    std::string name;
    std::string rejected;  // empty: suitable
    std::uint32_t family = 0;
    int preference = 0;  // GPUs before software
};

// In the order that Vulkan lists them. `surface` may be null.
std::vector<DeviceCandidate> device_candidates(VkInstance instance, VkSurfaceKHR surface);

struct BinarySemaphores {  // of a swapchain; null where there is none
    VkSemaphore wait = VK_NULL_HANDLE, signal = VK_NULL_HANDLE;
};

class Device {
  public:
    // `number` in the order that Vulkan lists, -1: the best. Throws Error(not_supported) with the reason for
    // each device.
    Device(std::shared_ptr<Instance> instance, VkSurfaceKHR surface, int number);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    VkDevice handle() const { return handle_; }
    VkPhysicalDevice physical() const { return physical_; }
    VkQueue queue() const { return queue_; }
    std::uint32_t family() const { return family_; }
    const VkPhysicalDeviceLimits& limits() const { return limits_; }
    std::uint64_t max_allocation() const { return max_allocation_; }
    const Instance& instance() const { return *instance_; }
    const std::string& name() const { return name_; }
    std::string text() const { return text_; }  // "llvmpipe (LLVM 15.0.6, 256 bits), Vulkan 1.3"
    bool has_timestamps() const { return has_timestamps_; }
    Timeline& timeline() { return *timeline_; }

    // A memory type of `bits` with all `required` and the most of `preferred` flags; throws
    // Error(runtime_failure).
    std::uint32_t memory_type(std::uint32_t bits, VkMemoryPropertyFlags required,
                              VkMemoryPropertyFlags preferred) const;
    // Submits and returns the value of the timeline that says it is done. One thread only.
    std::uint64_t submit(VkCommandBuffer commands, BinarySemaphores semaphores = {});
    // Throws Error when the device is lost.
    void wait(std::uint64_t value);

    // Keeps an object until everything that has been submitted, and the refresh being recorded, is done.
    void defer(std::shared_ptr<void> object) { defer(std::move(object), timeline_->peek_next()); }
    // Keeps an object until `value` of the timeline is done. Any thread.
    void defer(std::shared_ptr<void> object, std::uint64_t value);
    void collect();  // destroys what is no longer in use
    void drain();    // waits until nothing runs and destroys everything that was deferred

    void set_name(VkObjectType type, std::uint64_t object, const char* name) const;
    // The viewer's own memory; the arena is not counted here.
    std::atomic<std::uint64_t>& viewer_bytes() { return viewer_bytes_; }

  private:
    void create(const DeviceCandidate& candidate, bool swapchain);

    std::shared_ptr<Instance> instance_;
    VkPhysicalDevice physical_ = VK_NULL_HANDLE;
    VkDevice handle_ = VK_NULL_HANDLE;
    VkQueue queue_ = VK_NULL_HANDLE;
    std::uint32_t family_ = 0;
    VkPhysicalDeviceLimits limits_{};
    VkPhysicalDeviceMemoryProperties memory_{};
    std::uint64_t max_allocation_ = 0;
    bool has_timestamps_ = false;
    std::string name_, text_;
    std::unique_ptr<Timeline> timeline_;
    std::mutex deferred_mutex_;
    std::vector<std::pair<std::uint64_t, std::shared_ptr<void>>> deferred_;
    std::atomic<std::uint64_t> viewer_bytes_{0};
};

}  // namespace convlens::render

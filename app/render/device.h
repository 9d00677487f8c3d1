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
#include "app/render/sharing.h"
#include "app/render/timeline.h"
#include "app/render/vulkan.h"

namespace convlens::render {

// How the blocks of an arena are used.
inline constexpr VkBufferUsageFlags arena_usage =
    VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
    VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT;

// What a device must have, and why one was not taken.
struct DeviceCandidate {
    VkPhysicalDevice handle = VK_NULL_HANDLE;
    std::string name;
    std::string rejected;  // empty: suitable
    std::uint32_t family = 0;
    int preference = 0;  // GPUs before software
    DeviceIdentity identity;
};

// In the order that Vulkan lists them. `surface` may be null.
std::vector<DeviceCandidate> device_candidates(VkInstance instance, VkSurfaceKHR surface);

// The candidate with this number, or with -1 the suitable one that stands for the first of `wanted` that has
// one, or the best. Throws Error(not_supported) with the reason for each device, Error(bad_parameter) for a
// number that there is not.
const DeviceCandidate& choose_candidate(const std::vector<DeviceCandidate>& candidates, int number,
                                        const std::vector<DeviceIdentity>& wanted);

struct SubmitSemaphores {
    VkSemaphore acquired = VK_NULL_HANDLE,
                drawn = VK_NULL_HANDLE;  // of a swapchain; null where there is none
    // Shaders read memory of another API: they wait until its timeline has come to `written` (0: at once),
    // and the timeline of those reads takes its next value.
    bool reads_external = false;
    std::uint64_t written = 0;
};

class Device {
  public:
    // As choose_candidate.
    Device(std::shared_ptr<Instance> instance, VkSurfaceKHR surface, int number,
           const std::vector<DeviceIdentity>& wanted = {});
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
    const DeviceIdentity& identity() const { return identity_; }
    // Why no memory or timelines are exported; empty: they are.
    const std::string& export_obstacle() const { return export_obstacle_; }
    // The timelines that order another API's writes and this device's reads; made when first asked for. Own
    // ones, since what is exported says less to the validation layers, and waits of the processor cost more.
    Timeline& written() { return external(written_, "passes"); }
    Timeline& read() { return external(read_, "reads of passes"); }
    // Memory of the device's own heaps that this program uses, and may use; {0, 0}: not known.
    std::pair<std::uint64_t, std::uint64_t> memory_budget() const;

    // A memory type of `bits` with all `required` and the most of `preferred` flags; throws
    // Error(runtime_failure).
    std::uint32_t memory_type(std::uint32_t bits, VkMemoryPropertyFlags required,
                              VkMemoryPropertyFlags preferred) const;
    // Submits and returns the value of the timeline that says it is done. One thread only.
    std::uint64_t submit(VkCommandBuffer commands, SubmitSemaphores semaphores = {});
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
    Timeline& external(std::unique_ptr<Timeline>& timeline, const char* name);

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
    DeviceIdentity identity_;
    std::string export_obstacle_;
    bool has_budget_ = false;
    std::unique_ptr<Timeline> timeline_;
    std::mutex external_mutex_;
    std::unique_ptr<Timeline> written_, read_;
    std::mutex deferred_mutex_;
    std::vector<std::pair<std::uint64_t, std::shared_ptr<void>>> deferred_;
    std::atomic<std::uint64_t> viewer_bytes_{0};
};

}  // namespace convlens::render

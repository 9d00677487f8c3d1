// A timeline semaphore that owns its counter: nobody else chooses a value, so values rise strictly, whatever
// is resized or rebuilt around it.
#pragma once

#include <atomic>
#include <cstdint>

#include "app/render/vulkan.h"

namespace convlens::render {

class Timeline {
  public:
    // Throws Error(runtime_failure) when the semaphore can't be made.
    // `exported`: another API may import it.
    explicit Timeline(VkDevice device, bool exported = false);
    ~Timeline();
    Timeline(const Timeline&) = delete;
    Timeline& operator=(const Timeline&) = delete;

    VkSemaphore semaphore() const { return semaphore_; }
    // The last value given out; work with this value may be running.
    std::uint64_t last() const { return last_.load(); }
    // The value that the next work will signal: call take_next() only when that work is really submitted.
    std::uint64_t peek_next() const { return last_.load() + 1; }
    std::uint64_t take_next() { return last_.fetch_add(1) + 1; }
    // An opaque file descriptor of an exported one; the caller closes it.
    int export_fd() const;
    // From the host, in place of work that will not come.
    void signal(std::uint64_t value) const noexcept;
    // What the device has finished. A lost device has finished everything.
    std::uint64_t completed() const;
    // Any thread. Returns VK_SUCCESS, VK_TIMEOUT, or the error of a lost device, after which nothing runs.
    VkResult wait(std::uint64_t value, std::uint64_t timeout_ns = UINT64_MAX) const;

  private:
    VkDevice device_;
    VkSemaphore semaphore_ = VK_NULL_HANDLE;
    std::atomic<std::uint64_t> last_{0};
};

}  // namespace convlens::render

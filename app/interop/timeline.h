// Order between compute and graphics: who may touch an arena's memory, and since when.
//
// The contract of a timeline stands in app/network/timeline.h. Here:
//  - The window's thread never waits for compute; it submits its refresh with `written()` of the pass that it
//    shows as the value that the GPU waits for.
//
// The processor backend needs no semaphore: its kernels have returned when the scope ends, and submitting a
// refresh makes host writes visible to the device. HostTimeline keeps the counter and waits for the readers'
// fences (Renderer::end_refresh) on the engine's thread.
//
// CudaTimeline queues both ways on the context's stream:
//  - begin_write: compute waits for the value that graphics signals when its last reader of the arena is
//  done;
//    graphics has released the blocks to VK_QUEUE_FAMILY_EXTERNAL before.
//  - end_write: compute signals the value taken; graphics waits for it in vkQueueSubmit2 and acquires the
//    blocks from VK_QUEUE_FAMILY_EXTERNAL.
//  - Both semaphores are Vulkan's, exported once as file descriptors.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "app/network/timeline.h"

namespace convlens::interop {

using network::ComputeWrites;
using network::Timeline;

// For kernels of the processor. One writer thread; add_reader from any thread between writes of the arena.
class HostTimeline final : public Timeline {
  public:
    // A fence that returns when a reader is done; the next write calls it first.
    void add_reader(std::function<void()> fence);
    std::uint64_t written() const override;

  private:
    void begin_write() override;
    void end_write() noexcept override;

    std::mutex mutex_;
    std::vector<std::function<void()>> readers_;
    std::atomic<std::uint64_t> written_{0};
};

}  // namespace convlens::interop

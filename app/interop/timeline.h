// Order between compute and graphics: who may touch an arena's memory, and since when.
//
// The contract, the same for every backend:
//  - A timeline owns its counter. Nobody passes in a value; each write takes the next one, so values rise
//    strictly over all arenas, models and window sizes.
//  - "Compute writes now" is the scope of a ComputeWrites: its constructor makes compute wait for the readers
//    so far, its destructor makes the writes visible to readers that ask for `written()` afterwards. A scope
//    left by an exception still signals: a reader never waits for a write that will not come.
//  - The window's thread never waits for compute on the processor; it submits its refresh with
//    `written()` as the value to wait for.
//
// The processor backend needs no semaphore: its kernels have returned when the scope ends, and submitting a
// refresh makes host writes visible to the device. HostTimeline keeps the counter and waits for the readers'
// fences (Renderer::end_refresh) on the engine's thread.
//
// A CUDA backend implements the same face:
//  - begin_write: cudaWaitExternalSemaphoresAsync on the stream, for the value that graphics signals when its
//    last reader of the arena is done; graphics has released the blocks to VK_QUEUE_FAMILY_EXTERNAL before.
//  - end_write: cudaSignalExternalSemaphoresAsync with the value taken; graphics waits for it in
//    vkQueueSubmit2 and acquires the blocks from VK_QUEUE_FAMILY_EXTERNAL.
//  - The semaphore is Vulkan's, exported once as a file descriptor (which the import consumes) and destroyed
//    after the import.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace convlens::interop {

class Timeline {
  public:
    virtual ~Timeline() = default;
    // The value that the last finished (host) or queued (CUDA) write signals; 0 before the first.
    virtual std::uint64_t written() const = 0;

  private:
    friend class ComputeWrites;
    virtual void begin_write() = 0;
    virtual void end_write() noexcept = 0;
};

// The scope in which compute may write the arena.
class ComputeWrites {
  public:
    explicit ComputeWrites(Timeline& timeline) : timeline_(timeline) { timeline_.begin_write(); }
    ~ComputeWrites() { timeline_.end_write(); }
    ComputeWrites(const ComputeWrites&) = delete;
    ComputeWrites& operator=(const ComputeWrites&) = delete;

  private:
    Timeline& timeline_;
};

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

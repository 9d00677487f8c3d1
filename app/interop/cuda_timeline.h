// Order between CUDA's writes and Vulkan's reads: two timeline semaphores of Vulkan, imported by CUDA.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "app/interop/compute.h"
#include "app/interop/timeline.h"

namespace convlens::interop {

class CudaTimeline final : public Timeline {
  public:
    // Exports and imports both semaphores. Throws Error with the reason.
    CudaTimeline(std::shared_ptr<Compute> compute, std::shared_ptr<render::Sharing> sharing);
    // The next write waits until the refresh that signals `value` is done (Renderer::last_read). For the
    // thread that writes: ArenaExchange calls the fence of an arena's last reader there, just before that
    // arena is written.
    void add_reader(std::uint64_t value);
    std::uint64_t written() const override { return written_.load(); }

  private:
    void begin_write() override;
    void end_write() noexcept override;

    std::shared_ptr<Compute> compute_;
    std::shared_ptr<render::Sharing> sharing_;
    std::unique_ptr<Compute::Semaphore> write_semaphore_, read_semaphore_;
    std::uint64_t reader_ = 0, waited_ = 0;
    std::atomic<std::uint64_t> written_{0};
};

}  // namespace convlens::interop

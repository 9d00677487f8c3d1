// Arenas of a window: memory of activations, and the way from it to the screen.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "app/interop/cuda_timeline.h"
#include "app/interop/policy.h"
#include "app/network/allocator.h"

namespace convlens::interop {

// An allocator that knows how its blocks reach the screen. The questions are for any thread.
class ArenaAllocator : public network::Allocator {
  public:
    virtual Mode mode() const = 0;
    virtual std::string reason() const = 0;           // of the mode: one clause
    virtual std::uint64_t staging_bytes() const = 0;  // copies that only the screen needs
};

// For kernels of the processor: the renderer's own memory (Renderer::arena_allocator).
std::shared_ptr<ArenaAllocator> host_arena(std::shared_ptr<network::Allocator> memory, const Choice& choice);

// For CUDA. With a timeline: blocks of Vulkan that CUDA imports; when one is refused and `may_stage`, that
// block and all later ones are staged, and the reason says so, else the allocation fails with
// Error(not_supported). Without one: memory of CUDA, and mirrors in the host's memory that each refresh
// fetches what it shows to. allocate and release are for the thread that uses the context.
class CudaArena final : public ArenaAllocator {
  public:
    CudaArena(std::shared_ptr<Compute> compute, std::shared_ptr<render::Sharing> sharing,
              std::shared_ptr<CudaTimeline> timeline, Choice choice, bool may_stage);
    ~CudaArena() override;

    network::Block allocate(std::size_t bytes, const char* label) override;
    void release(const network::Block& block) noexcept override;
    std::size_t largest_block() const override { return sharing_->largest_block(); }
    const char* name() const override { return name_.c_str(); }
    network::Timeline* timeline() override { return timeline_.get(); }
    // The order of shared blocks; null where there are none.
    const std::shared_ptr<CudaTimeline>& cuda_timeline() const { return timeline_; }

    Mode mode() const override;
    std::string reason() const override;
    std::uint64_t staging_bytes() const override { return staging_bytes_.load(); }

  private:
    struct Entry {
        std::unique_ptr<Compute::Mapping> mapping;  // shared
        std::byte* plain = nullptr;                 // staged
        std::size_t bytes = 0;
    };
    network::Block share(std::size_t bytes, const char* label);
    network::Block stage(std::size_t bytes, const char* label);

    std::shared_ptr<Compute> compute_;
    std::shared_ptr<render::Sharing> sharing_;
    std::shared_ptr<CudaTimeline> timeline_;
    const bool may_stage_;
    const std::string name_;
    mutable std::mutex mutex_;  // of the choice
    Choice choice_;
    std::map<std::uint64_t, Entry> entries_;  // by handle
    std::atomic<std::uint64_t> staging_bytes_{0};
};

}  // namespace convlens::interop

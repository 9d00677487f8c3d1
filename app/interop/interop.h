// The way of one window's activations to its screen: chosen at the start, switched at run time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/interop/arena.h"
#include "app/render/renderer.h"

namespace convlens::interop {

class Interop {
  public:
    // For a network on CUDA (`compute`), or on the processor (null). Shared memory is chosen after a small
    // block and the timelines have really been imported. Throws as choose_interop does. Before the engine
    // runs passes: the imports are made on the calling thread.
    Interop(render::Renderer& renderer, std::shared_ptr<Compute> compute, Request request);

    // The memory that the first network gets.
    const std::shared_ptr<ArenaAllocator>& arena() const { return arena_; }
    // Memory for the next network, when another way is wanted at run time. Throws Error(not_supported) with
    // the reason. The window's thread.
    std::shared_ptr<ArenaAllocator> switch_to(Request request);
    // What a refresh hands to the engine when it has drawn a pass that lies in `memory`: a fence as
    // Engine::end_read takes it. `finished`: waits on the processor until the refresh is done.
    static std::function<void()> reader(const std::shared_ptr<network::Allocator>& memory,
                                        const render::Renderer& renderer, std::function<void()> finished);

  private:
    Facts facts() const;
    void try_import(Facts& facts);
    std::shared_ptr<ArenaAllocator> make(const Choice& choice, bool may_stage);

    std::shared_ptr<network::Allocator> host_memory_[2];  // plain, staged
    std::shared_ptr<render::Sharing> sharing_;
    std::shared_ptr<Compute> compute_;
    std::shared_ptr<CudaTimeline> timeline_;  // null: nothing is shared
    Facts facts_;
    std::shared_ptr<ArenaAllocator> arena_;
};

}  // namespace convlens::interop

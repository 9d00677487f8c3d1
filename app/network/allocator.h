// Where a network's activations live. The network sees only this face: plain memory on the command line,
// memory that the window's shaders read too when a window is open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "app/network/timeline.h"
#include "convlens/context.h"

namespace convlens::network {

struct Block {
    std::byte* data = nullptr;  // in the memory of the compute backend (host memory on the processor)
    std::size_t bytes = 0;
    std::uint64_t device_address = 0;  // where shaders find the same bytes; 0 when no shader can
    std::uint64_t handle = 0;          // the allocator's own
};

class Allocator {
  public:
    virtual ~Allocator() = default;
    // 256-byte aligned, not cleared. Throws convlens::Error(runtime_failure) with the size and the limit.
    virtual Block allocate(std::size_t bytes, const char* label) = 0;
    virtual void release(const Block& block) noexcept = 0;
    // The largest block that one call may ask for; an arena above it is made of several blocks.
    virtual std::size_t largest_block() const = 0;
    // "plain memory", "memory shared with llvmpipe"
    virtual const char* name() const = 0;
    // The order of passes and of those who read the blocks through device addresses; null where nothing has
    // to be ordered beyond the return of a pass. Lives as long as the allocator.
    virtual Timeline* timeline() { return nullptr; }
};

// Plain host memory.
std::shared_ptr<Allocator> host_allocator();
// Plain memory of the context's backend: host_allocator() on the processor. The context must outlive it.
std::shared_ptr<Allocator> context_allocator(Context& context);

}  // namespace convlens::network

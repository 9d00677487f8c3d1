// The compute half of interop: what arenas need of a CUDA context. A face, so that tests can refuse what a
// machine would rarely refuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "app/render/sharing.h"
#include "convlens/context.h"

namespace convlens::interop {

class Compute {
  public:
    virtual ~Compute() = default;
    virtual render::DeviceIdentity identity() const = 0;

    class Mapping {
      public:
        virtual ~Mapping() = default;
        virtual std::byte* data() const = 0;
    };
    // The descriptors stay the caller's. Throw Error with the reason.
    virtual std::unique_ptr<Mapping> import_memory(int fd, std::size_t bytes) = 0;
    class Semaphore {
      public:
        virtual ~Semaphore() = default;
        virtual void wait(std::uint64_t value) = 0;    // compute waits; returns at once
        virtual void signal(std::uint64_t value) = 0;  // after compute's work so far; returns at once
    };
    virtual std::unique_ptr<Semaphore> import_timeline(int fd) = 0;

    // Memory that only compute reaches; 256-byte aligned.
    virtual std::byte* allocate(std::size_t bytes) = 0;
    virtual void release(std::byte* memory) noexcept = 0;
    virtual void synchronize() = 0;

    // The window's thread, beside compute's own: the parts of `src` to the same places of `host`; waits for
    // them.
    virtual void fetch(std::byte* host, const std::byte* src, std::span<const render::BlockPart> parts) = 0;
    // Makes fetches to this memory faster as long as the result lives; may be null.
    virtual std::shared_ptr<void> pin(std::byte* host, std::size_t bytes) = 0;
};

// On a context of the backend cuda, on this device; used by the thread that uses the context, but for fetch.
std::shared_ptr<Compute> compute_of(std::shared_ptr<Context> context, const DeviceInfo& device);

}  // namespace convlens::interop

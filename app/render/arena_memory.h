// The arena's memory where graphics can see it: blocks that processor kernels write through a pointer and
// shaders read through a device address. The book of blocks lets the tile pass refuse an address that no
// block holds, and keeps a released block until the refresh that reads it is done.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "app/network/allocator.h"
#include "app/render/resources.h"

namespace convlens::render {

struct ArenaBlock {
    Buffer memory;  // mapped; what kernels write
    Buffer copy;    // staged only: what shaders read
    std::uint64_t address() const { return copy ? copy.address() : memory.address(); }
};

class ArenaBook {
  public:
    explicit ArenaBook(std::shared_ptr<Device> device) : device_(std::move(device)) {}

    std::uint64_t add(std::shared_ptr<ArenaBlock> block);  // returns its handle
    void remove(std::uint64_t handle) noexcept;            // any thread

    // Between these a block that is found stays until the refresh is done. Window thread.
    void begin_recording();
    void end_recording();
    // The block that holds all bytes of [first, last], or null.
    std::shared_ptr<ArenaBlock> find(std::uint64_t first, std::uint64_t last) const;

    std::uint64_t bytes() const;

  private:
    std::shared_ptr<Device> device_;
    mutable std::mutex mutex_;
    std::map<std::uint64_t, std::shared_ptr<ArenaBlock>> by_address_;  // key: address(), also the handle
    bool recording_ = false;
};

// `staged`: shaders read a second buffer, to which each refresh copies what it shows.
std::shared_ptr<network::Allocator> arena_memory(std::shared_ptr<Device> device,
                                                 std::shared_ptr<ArenaBook> book, bool staged);

}  // namespace convlens::render

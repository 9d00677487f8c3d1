// The arena's memory where graphics can see it: blocks that processor kernels write through a pointer, or
// that another API writes through an import, and shaders read through a device address. The book of blocks
// lets the tile pass refuse an address that no block holds, and keeps a released block until the refresh that
// reads it is done.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "app/network/allocator.h"
#include "app/render/resources.h"
#include "app/render/sharing.h"

namespace convlens::render {

// Typed views (float32) over a buffer, each within the device's limit and half overlapping the next, with a
// descriptor set for each. Made with the block, on any thread.
class ValueViews {
  public:
    ValueViews(Device& device, VkBuffer buffer, std::uint64_t bytes);
    ~ValueViews();
    ValueViews(const ValueViews&) = delete;
    ValueViews& operator=(const ValueViews&) = delete;

    struct Window {
        std::uint64_t first = 0, bytes = 0;  // in the buffer
        VkDescriptorSet set = VK_NULL_HANDLE;
    };
    // The view that holds the bytes [first, last]; null when none holds them all.
    const Window* find(std::uint64_t first, std::uint64_t last) const;
    const Window& any() const { return windows_.front(); }
    // The layout of the sets, the same for all: one uniform texel buffer for compute shaders.
    VkDescriptorSetLayout layout() const { return layout_; }

  private:
    void make_window(VkBuffer buffer, std::uint64_t first, std::uint64_t bytes);
    void destroy() noexcept;

    Device& device_;
    VkDescriptorSetLayout layout_ = VK_NULL_HANDLE;
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    std::vector<VkBufferView> views_;
    std::vector<Window> windows_;
};

struct ArenaBlock {
    Buffer memory;                      // mapped, or exported
    Buffer copy;                        // staged by the processor only: what shaders read
    std::unique_ptr<ValueViews> views;  // of what shaders read
    bool external = false;              // another API owns it between refreshes
    // Mirrors only, of memory that shaders can't see. Held while it is called, and while it is taken away.
    std::mutex fetch_mutex;
    Sharing::Fetch fetch;
    bool is_mirror = false;
    std::uint64_t last_read = 0;  // mirrors: the refresh that reads it; window thread
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

// The graphics half of interop with an API that computes on a GPU.
std::shared_ptr<Sharing> make_sharing(std::shared_ptr<Device> device, std::shared_ptr<ArenaBook> book);

// For kernels of the processor. `staged`: shaders read a second buffer, to which each refresh copies what it
// shows.
std::shared_ptr<network::Allocator> arena_memory(std::shared_ptr<Device> device,
                                                 std::shared_ptr<ArenaBook> book, bool staged);

}  // namespace convlens::render

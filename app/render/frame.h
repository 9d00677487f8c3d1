// What one refresh in flight owns: command buffer, upload buffers, timestamps.
#pragma once

#include <cstdint>

#include "app/render/resources.h"

namespace convlens::render {

struct FrameTimes {
    double atlas_ms = -1, window_ms = -1;  // -1: not measured
};

class Frame {
  public:
    explicit Frame(Device& device);
    ~Frame();
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

    // Waits until the GPU has finished the refresh that used this frame before, and reads its times.
    FrameTimes wait();
    VkCommandBuffer begin();  // resets and begins recording
    enum Stamp : std::uint32_t { atlas_begin, atlas_end, window_begin, window_end, stamp_count };
    void stamp(Stamp which);
    void end();

    Buffer vertices, indices, staging, tiles;
    std::uint64_t value = 0;  // of the timeline: when the GPU is done; 0: never used
    VkSemaphore acquired = VK_NULL_HANDLE;

  private:
    void destroy() noexcept;

    Device& device_;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    VkQueryPool queries_ = VK_NULL_HANDLE;
    std::uint32_t stamped_ = 0;  // bit for each stamp of the last recording
};

}  // namespace convlens::render

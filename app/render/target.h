// A picture that is drawn off-screen and can be read back.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "app/render/resources.h"

namespace convlens::render {

// What a drawing pass needs to know of what it draws on.
struct TargetView {
    VkImageView view = VK_NULL_HANDLE;
    int width = 0, height = 0;
};

// Begins rendering onto a view that is in COLOR_ATTACHMENT_OPTIMAL, cleared to `rgba` (0xAABBGGRR).
void begin_rendering(VkCommandBuffer commands, const TargetView& target, std::uint32_t rgba);

class OffscreenTarget {
  public:
    OffscreenTarget(Device& device, int width, int height, VkFormat format);

    TargetView view() const { return {image_.view(), image_.width(), image_.height()}; }
    // Before drawing, and after it: the picture can then be copied.
    void begin(VkCommandBuffer commands) const;
    void end(VkCommandBuffer commands) const;
    // Records the copy of the picture into a buffer of width x height x 4 bytes, readable by the host.
    void copy_to(VkCommandBuffer commands, const Buffer& buffer) const;

  private:
    Image image_;
};

// Four bytes a pixel in `format` to RGB.
std::vector<std::uint8_t> to_rgb(const std::uint8_t* pixels, int width, int height, VkFormat format);

}  // namespace convlens::render

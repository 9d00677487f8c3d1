// The pictures that a window shows in turn.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "app/render/device.h"
#include "app/render/target.h"

namespace convlens::render {

class Swapchain {
  public:
    Swapchain(Device& device, VkSurfaceKHR surface);
    ~Swapchain();
    Swapchain(const Swapchain&) = delete;
    Swapchain& operator=(const Swapchain&) = delete;

    VkFormat format() const { return format_.format; }
    int width() const { return width_; }
    int height() const { return height_; }

    // The next picture to draw on, or nothing: the window is minimised, or changes its size right now.
    // `acquired` is signalled when the picture is free. (width, height): of the window.
    std::optional<std::uint32_t> acquire(int width, int height, VkSemaphore acquired);
    TargetView view(std::uint32_t index) const { return {images_[index].view, width_, height_}; }
    VkSemaphore drawn(std::uint32_t index) const { return images_[index].drawn; }
    void begin(VkCommandBuffer commands, std::uint32_t index) const;
    void end(VkCommandBuffer commands, std::uint32_t index) const;
    void present(std::uint32_t index);

  private:
    struct Picture {
        VkImage image = VK_NULL_HANDLE;
        VkImageView view = VK_NULL_HANDLE;
        VkSemaphore drawn = VK_NULL_HANDLE;
    };
    bool rebuild(int width, int height);
    void make_pictures();
    void destroy_pictures() noexcept;

    Device& device_;
    VkSurfaceKHR surface_;
    VkSurfaceFormatKHR format_{};
    VkSwapchainKHR handle_ = VK_NULL_HANDLE;
    std::vector<Picture> images_;
    int width_ = 0, height_ = 0;
    int asked_width_ = 0, asked_height_ = 0;  // the window may ask for what the display does not give
    bool out_of_date_ = true;
};

}  // namespace convlens::render

#include "app/render/swapchain.h"

#include <algorithm>

namespace convlens::render {
namespace {

VkSurfaceFormatKHR choose_format(VkPhysicalDevice device, VkSurfaceKHR surface) {
    std::uint32_t count = 0;
    check(vkGetPhysicalDeviceSurfaceFormatsKHR(device, surface, &count, nullptr),
          "Asking for window formats");
    std::vector<VkSurfaceFormatKHR> formats(count);
    check(vkGetPhysicalDeviceSurfaceFormatsKHR(device, surface, &count, formats.data()),
          "Asking for window formats");
    for (const VkFormat wanted : {VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_R8G8B8A8_UNORM})
        for (const VkSurfaceFormatKHR& format : formats)
            if (format.format == wanted && format.colorSpace == VK_COLOR_SPACE_SRGB_NONLINEAR_KHR)
                return format;
    if (formats.empty()) throw_result(VK_ERROR_FORMAT_NOT_SUPPORTED, "Choosing a format for the window");
    return formats.front();
}

}  // namespace

Swapchain::Swapchain(Device& device, VkSurfaceKHR surface)
    : device_(device), surface_(surface), format_(choose_format(device.physical(), surface)) {}

Swapchain::~Swapchain() {
    device_.drain();
    destroy_pictures();
    if (handle_ != VK_NULL_HANDLE) vkDestroySwapchainKHR(device_.handle(), handle_, nullptr);
}

void Swapchain::destroy_pictures() noexcept {
    for (const Picture& picture : images_) {
        vkDestroyImageView(device_.handle(), picture.view, nullptr);
        vkDestroySemaphore(device_.handle(), picture.drawn, nullptr);
    }
    images_.clear();
}

bool Swapchain::rebuild(int width, int height) {
    VkSurfaceCapabilitiesKHR capabilities;
    check(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(device_.physical(), surface_, &capabilities),
          "Asking for the window's size");
    VkExtent2D extent = capabilities.currentExtent;
    if (extent.width == UINT32_MAX)
        extent = {std::clamp(static_cast<std::uint32_t>(std::max(width, 0)),
                             capabilities.minImageExtent.width, capabilities.maxImageExtent.width),
                  std::clamp(static_cast<std::uint32_t>(std::max(height, 0)),
                             capabilities.minImageExtent.height, capabilities.maxImageExtent.height)};
    if (extent.width == 0 || extent.height == 0) return false;
    // Until all of the new pictures are there: an error half-way must not leave a list that is too short.
    out_of_date_ = true;
    // Presentation has no timeline: an idle queue is the one proof that the old pictures are free.
    check(vkDeviceWaitIdle(device_.handle()), "Waiting for the window's pictures");
    destroy_pictures();
    std::uint32_t count = std::max(capabilities.minImageCount, 3u);
    if (capabilities.maxImageCount > 0) count = std::min(count, capabilities.maxImageCount);
    const VkSwapchainKHR old = handle_;
    VkCompositeAlphaFlagBitsKHR alpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR;
    if ((capabilities.supportedCompositeAlpha & alpha) == 0) alpha = VK_COMPOSITE_ALPHA_INHERIT_BIT_KHR;
    const VkSwapchainCreateInfoKHR info{.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
                                        .surface = surface_,
                                        .minImageCount = count,
                                        .imageFormat = format_.format,
                                        .imageColorSpace = format_.colorSpace,
                                        .imageExtent = extent,
                                        .imageArrayLayers = 1,
                                        .imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
                                        .imageSharingMode = VK_SHARING_MODE_EXCLUSIVE,
                                        .preTransform = capabilities.currentTransform,
                                        .compositeAlpha = alpha,
                                        .presentMode = VK_PRESENT_MODE_FIFO_KHR,
                                        .clipped = VK_TRUE,
                                        .oldSwapchain = old};
    handle_ = VK_NULL_HANDLE;
    const VkResult result = vkCreateSwapchainKHR(device_.handle(), &info, nullptr, &handle_);
    if (old != VK_NULL_HANDLE) vkDestroySwapchainKHR(device_.handle(), old, nullptr);
    check(result, "Making the window's pictures");
    width_ = static_cast<int>(extent.width);
    height_ = static_cast<int>(extent.height);
    asked_width_ = width;
    asked_height_ = height;
    make_pictures();
    out_of_date_ = false;
    return true;
}

void Swapchain::make_pictures() {
    std::uint32_t count = 0;
    check(vkGetSwapchainImagesKHR(device_.handle(), handle_, &count, nullptr), "Asking for the pictures");
    std::vector<VkImage> images(count);
    check(vkGetSwapchainImagesKHR(device_.handle(), handle_, &count, images.data()),
          "Asking for the pictures");
    for (const VkImage image : images) {
        Picture& picture = images_.emplace_back();
        picture.image = image;
        const VkImageViewCreateInfo view{.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                         .image = image,
                                         .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                         .format = format_.format,
                                         .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
        check(vkCreateImageView(device_.handle(), &view, nullptr, &picture.view), "Creating a view");
        const VkSemaphoreCreateInfo semaphore{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
        check(vkCreateSemaphore(device_.handle(), &semaphore, nullptr, &picture.drawn),
              "Creating a semaphore");
    }
}

std::optional<std::uint32_t> Swapchain::acquire(int width, int height, VkSemaphore acquired) {
    if (width <= 0 || height <= 0) return std::nullopt;
    // A window that is dragged changes faster than it is drawn: a second try, then the next refresh.
    for (int attempt = 0; attempt < 2; ++attempt) {
        if ((out_of_date_ || width != asked_width_ || height != asked_height_) && !rebuild(width, height))
            return std::nullopt;
        std::uint32_t index = 0;
        const VkResult result =
            vkAcquireNextImageKHR(device_.handle(), handle_, UINT64_MAX, acquired, VK_NULL_HANDLE, &index);
        if (result == VK_SUCCESS) return index;
        if (result == VK_SUBOPTIMAL_KHR) {
            out_of_date_ = true;  // this picture can still be drawn and shown
            return index;
        }
        if (result != VK_ERROR_OUT_OF_DATE_KHR) check(result, "Asking for the window's next picture");
        out_of_date_ = true;
    }
    return std::nullopt;
}

void Swapchain::begin(VkCommandBuffer commands, std::uint32_t index) const {
    transition(commands, images_[index].image,
               {VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT, VK_ACCESS_2_NONE, VK_IMAGE_LAYOUT_UNDEFINED},
               {VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
                VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT,
                VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL});
}

void Swapchain::end(VkCommandBuffer commands, std::uint32_t index) const {
    transition(commands, images_[index].image,
               {VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT, VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
                VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL},
               {VK_PIPELINE_STAGE_2_NONE, VK_ACCESS_2_NONE, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR});
}

void Swapchain::present(std::uint32_t index) {
    const VkPresentInfoKHR info{.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                                .waitSemaphoreCount = 1,
                                .pWaitSemaphores = &images_[index].drawn,
                                .swapchainCount = 1,
                                .pSwapchains = &handle_,
                                .pImageIndices = &index};
    const VkResult result = vkQueuePresentKHR(device_.queue(), &info);
    if (result == VK_ERROR_OUT_OF_DATE_KHR || result == VK_SUBOPTIMAL_KHR)
        out_of_date_ = true;
    else
        check(result, "Showing the window's picture");
}

}  // namespace convlens::render

#include "app/render/resources.h"

#include <algorithm>
#include <string>
#include <utility>

#include "convlens/error.h"

namespace convlens::render {
namespace {

VkDeviceMemory allocate(Device& device, const VkMemoryRequirements& needs, VkMemoryPropertyFlags required,
                        VkMemoryPropertyFlags preferred, bool addressed, const char* name) {
    const std::uint32_t type = device.memory_type(needs.memoryTypeBits, required, preferred);
    const VkMemoryAllocateFlagsInfo flags{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                          .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const VkMemoryAllocateInfo info{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .pNext = addressed ? &flags : nullptr,
                                    .allocationSize = needs.size,
                                    .memoryTypeIndex = type};
    VkDeviceMemory memory = VK_NULL_HANDLE;
    const std::string what =
        "Allocating " + std::to_string(needs.size) + " bytes on " + device.name() + " for '" + name + "'";
    check(vkAllocateMemory(device.handle(), &info, nullptr, &memory), what.c_str());
    device.set_name(VK_OBJECT_TYPE_DEVICE_MEMORY, reinterpret_cast<std::uint64_t>(memory), name);
    return memory;
}

}  // namespace

Buffer::Buffer(Device& device, const BufferSpec& spec) : device_(&device), bytes_(spec.bytes) {
    const VkBufferCreateInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                  .size = spec.bytes,
                                  .usage = spec.usage,
                                  .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
    try {
        check(vkCreateBuffer(device.handle(), &info, nullptr, &handle_), "Creating a buffer");
        device.set_name(VK_OBJECT_TYPE_BUFFER, reinterpret_cast<std::uint64_t>(handle_), spec.name);
        VkMemoryRequirements needs;
        vkGetBufferMemoryRequirements(device.handle(), handle_, &needs);
        const bool addressed = (spec.usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) != 0;
        const VkMemoryPropertyFlags mapped =
            VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        memory_ = allocate(device, needs, spec.mapped ? mapped : 0,
                           spec.cached ? VkMemoryPropertyFlags(VK_MEMORY_PROPERTY_HOST_CACHED_BIT)
                                       : VkMemoryPropertyFlags(VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT),
                           addressed, spec.name);
        check(vkBindBufferMemory(device.handle(), handle_, memory_, 0), "Binding a buffer's memory");
        if (spec.viewer) {
            counted_ = needs.size;
            device.viewer_bytes() += counted_;
        }
        if (spec.mapped) {
            void* data = nullptr;
            check(vkMapMemory(device.handle(), memory_, 0, VK_WHOLE_SIZE, 0, &data), "Mapping a buffer");
            mapped_ = static_cast<std::byte*>(data);
        }
        if (addressed) {
            const VkBufferDeviceAddressInfo address{.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                                    .buffer = handle_};
            address_ = vkGetBufferDeviceAddress(device.handle(), &address);
        }
    } catch (...) {
        reset();
        throw;
    }
}

void Buffer::swap(Buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    std::swap(counted_, other.counted_);
    std::swap(mapped_, other.mapped_);
    std::swap(address_, other.address_);
}

void Buffer::reset() noexcept {
    if (device_ == nullptr) return;
    if (handle_ != VK_NULL_HANDLE) vkDestroyBuffer(device_->handle(), handle_, nullptr);
    if (memory_ != VK_NULL_HANDLE) vkFreeMemory(device_->handle(), memory_, nullptr);
    device_->viewer_bytes() -= counted_;
    device_ = nullptr;
    handle_ = VK_NULL_HANDLE;
    memory_ = VK_NULL_HANDLE;
    bytes_ = counted_ = 0;
    mapped_ = nullptr;
    address_ = 0;
}

Image::Image(Device& device, const ImageSpec& spec)
    : device_(&device), width_(spec.width), height_(spec.height) {
    const VkImageCreateInfo info{
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = spec.format,
        .extent = {static_cast<std::uint32_t>(spec.width), static_cast<std::uint32_t>(spec.height), 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = spec.usage,
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
        .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED};
    try {
        check(vkCreateImage(device.handle(), &info, nullptr, &handle_), "Creating a picture on the GPU");
        device.set_name(VK_OBJECT_TYPE_IMAGE, reinterpret_cast<std::uint64_t>(handle_), spec.name);
        VkMemoryRequirements needs;
        vkGetImageMemoryRequirements(device.handle(), handle_, &needs);
        memory_ = allocate(device, needs, 0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, false, spec.name);
        check(vkBindImageMemory(device.handle(), handle_, memory_, 0), "Binding a picture's memory");
        counted_ = needs.size;
        device.viewer_bytes() += counted_;
        const VkImageViewCreateInfo view{.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                         .image = handle_,
                                         .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                         .format = spec.format,
                                         .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
        check(vkCreateImageView(device.handle(), &view, nullptr, &view_), "Creating a view of a picture");
    } catch (...) {
        reset();
        throw;
    }
}

void Image::swap(Image& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(memory_, other.memory_);
    std::swap(view_, other.view_);
    std::swap(width_, other.width_);
    std::swap(height_, other.height_);
    std::swap(counted_, other.counted_);
}

void Image::reset() noexcept {
    if (device_ == nullptr) return;
    if (view_ != VK_NULL_HANDLE) vkDestroyImageView(device_->handle(), view_, nullptr);
    if (handle_ != VK_NULL_HANDLE) vkDestroyImage(device_->handle(), handle_, nullptr);
    if (memory_ != VK_NULL_HANDLE) vkFreeMemory(device_->handle(), memory_, nullptr);
    device_->viewer_bytes() -= counted_;
    device_ = nullptr;
    handle_ = VK_NULL_HANDLE;
    memory_ = VK_NULL_HANDLE;
    view_ = VK_NULL_HANDLE;
    counted_ = 0;
}

void grow(Device& device, Buffer& buffer, const BufferSpec& spec) {
    if (buffer && buffer.bytes() >= spec.bytes) return;
    BufferSpec larger = spec;
    larger.bytes = std::max<VkDeviceSize>(spec.bytes + spec.bytes / 2, 64 * 1024);
    Buffer fresh(device, larger);
    if (buffer) device.defer(std::make_shared<Buffer>(std::move(buffer)));
    buffer = std::move(fresh);
}

void transition(VkCommandBuffer commands, VkImage image, const ImageUse& before, const ImageUse& after) {
    const VkImageMemoryBarrier2 barrier{.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
                                        .srcStageMask = before.stage,
                                        .srcAccessMask = before.access,
                                        .dstStageMask = after.stage,
                                        .dstAccessMask = after.access,
                                        .oldLayout = before.layout,
                                        .newLayout = after.layout,
                                        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                        .image = image,
                                        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    const VkDependencyInfo info{.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                .imageMemoryBarrierCount = 1,
                                .pImageMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &info);
}

void clear_image(VkCommandBuffer commands, VkImage image, std::uint32_t rgba) {
    VkClearColorValue color{};
    for (int c = 0; c < 4; ++c) color.float32[c] = static_cast<float>(rgba >> (8 * c) & 255u) / 255.0f;
    const VkImageSubresourceRange range{VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    vkCmdClearColorImage(commands, image, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &range);
}

}  // namespace convlens::render

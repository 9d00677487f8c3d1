#include "app/render/resources.h"

#include <algorithm>
#include <string>
#include <utility>

#include "convlens/error.h"

namespace convlens::render {
namespace {

struct MemoryWish {
    VkMemoryPropertyFlags required = 0, preferred = 0;
    bool addressed = false;
    VkBuffer exported = VK_NULL_HANDLE;  // the one buffer that an exported allocation is for
    const char* name = "";
};

VkDeviceMemory allocate_memory(Device& device, const VkMemoryRequirements& needs, const MemoryWish& wish) {
    const std::uint32_t type = device.memory_type(needs.memoryTypeBits, wish.required, wish.preferred);
    const VkMemoryDedicatedAllocateInfo dedicated{.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                                  .buffer = wish.exported};
    const VkExportMemoryAllocateInfo for_export{.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                                .pNext = &dedicated,
                                                .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkMemoryAllocateFlagsInfo flags{
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
        .pNext = wish.exported != VK_NULL_HANDLE ? &for_export : nullptr,
        .flags = wish.addressed ? VkMemoryAllocateFlags(VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT) : 0};
    const VkMemoryAllocateInfo info{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .pNext = &flags,
                                    .allocationSize = needs.size,
                                    .memoryTypeIndex = type};
    VkDeviceMemory memory = VK_NULL_HANDLE;
    const std::string what = "Allocating " + std::to_string(needs.size) + " bytes on " + device.name() +
                             " for '" + wish.name + "'";
    check(vkAllocateMemory(device.handle(), &info, nullptr, &memory), what.c_str());
    device.set_name(VK_OBJECT_TYPE_DEVICE_MEMORY, reinterpret_cast<std::uint64_t>(memory), wish.name);
    return memory;
}

}  // namespace

void Buffer::allocate(const BufferSpec& spec) {
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device_->handle(), handle_, &needs);
    MemoryWish wish;
    wish.addressed = (spec.usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) != 0;
    wish.name = spec.name;
    if (spec.exported) {
        wish.required = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
        wish.exported = handle_;
    } else {
        if (spec.mapped)
            wish.required = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        wish.preferred =
            spec.cached ? VK_MEMORY_PROPERTY_HOST_CACHED_BIT : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    }
    memory_ = allocate_memory(*device_, needs, wish);
    allocated_ = needs.size;
    check(vkBindBufferMemory(device_->handle(), handle_, memory_, 0), "Binding a buffer's memory");
    if (spec.viewer) {
        counted_ = needs.size;
        device_->viewer_bytes() += counted_;
    }
    if (spec.mapped && !spec.exported) {
        void* data = nullptr;
        check(vkMapMemory(device_->handle(), memory_, 0, VK_WHOLE_SIZE, 0, &data), "Mapping a buffer");
        mapped_ = static_cast<std::byte*>(data);
    }
    if (wish.addressed) {
        const VkBufferDeviceAddressInfo address{.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                                .buffer = handle_};
        address_ = vkGetBufferDeviceAddress(device_->handle(), &address);
    }
}

Buffer::Buffer(Device& device, const BufferSpec& spec) : device_(&device), bytes_(spec.bytes) {
    const VkExternalMemoryBufferCreateInfo for_export{
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                  .pNext = spec.exported ? &for_export : nullptr,
                                  .size = spec.bytes,
                                  .usage = spec.usage,
                                  .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
    try {
        check(vkCreateBuffer(device.handle(), &info, nullptr, &handle_), "Creating a buffer");
        device.set_name(VK_OBJECT_TYPE_BUFFER, reinterpret_cast<std::uint64_t>(handle_), spec.name);
        allocate(spec);
    } catch (...) {
        reset();
        throw;
    }
}

int Buffer::export_fd() const {
    const VkMemoryGetFdInfoKHR info{.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                    .memory = memory_,
                                    .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    int fd = -1;
    check(vkGetMemoryFdKHR(device_->handle(), &info, &fd), "Exporting a buffer's memory");
    return fd;
}

void Buffer::swap(Buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    std::swap(allocated_, other.allocated_);
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
    bytes_ = allocated_ = counted_ = 0;
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
        memory_ = allocate_memory(device, needs,
                                  {.preferred = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, .name = spec.name});
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

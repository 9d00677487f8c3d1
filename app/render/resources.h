// Move-only owners of buffers and images with their memory. They must be destroyed before the device; hand
// them to Device::defer() when the GPU may still use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "app/render/device.h"

namespace convlens::render {

struct BufferSpec {
    VkDeviceSize bytes = 0;
    VkBufferUsageFlags usage = 0;  // with SHADER_DEVICE_ADDRESS: has an address
    bool mapped = true;            // host-visible and coherent
    bool cached = false;           // prefer memory that the processor reads well
    bool exported = false;         // device-local memory of its own that another API may import
    bool viewer = true;            // counted as the viewer's own memory
    const char* name = "buffer";
};

class Buffer {
  public:
    Buffer() = default;
    // Throws Error(runtime_failure) with the size when memory is exhausted.
    Buffer(Device& device, const BufferSpec& spec);
    ~Buffer() { reset(); }
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        Buffer(std::move(other)).swap(*this);
        return *this;
    }
    void swap(Buffer& other) noexcept;

    explicit operator bool() const { return handle_ != VK_NULL_HANDLE; }
    VkBuffer handle() const { return handle_; }
    VkDeviceSize bytes() const { return bytes_; }
    std::byte* mapped() const { return mapped_; }
    std::uint64_t address() const { return address_; }
    VkDeviceSize allocation_bytes() const { return allocated_; }
    int export_fd() const;  // of an exported one; the caller closes it

  private:
    void reset() noexcept;
    void allocate(const BufferSpec& spec);

    Device* device_ = nullptr;
    VkBuffer handle_ = VK_NULL_HANDLE;
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
    VkDeviceSize bytes_ = 0, allocated_ = 0, counted_ = 0;
    std::byte* mapped_ = nullptr;
    std::uint64_t address_ = 0;
};

struct ImageSpec {
    int width = 1, height = 1;
    VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    VkImageUsageFlags usage = 0;
    const char* name = "image";
};

class Image {
  public:
    Image() = default;
    Image(Device& device, const ImageSpec& spec);
    ~Image() { reset(); }
    Image(Image&& other) noexcept { swap(other); }
    Image& operator=(Image&& other) noexcept {
        Image(std::move(other)).swap(*this);
        return *this;
    }
    void swap(Image& other) noexcept;

    explicit operator bool() const { return handle_ != VK_NULL_HANDLE; }
    VkImage handle() const { return handle_; }
    VkImageView view() const { return view_; }
    int width() const { return width_; }
    int height() const { return height_; }

  private:
    void reset() noexcept;

    Device* device_ = nullptr;
    VkImage handle_ = VK_NULL_HANDLE;
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
    VkImageView view_ = VK_NULL_HANDLE;
    int width_ = 0, height_ = 0;
    VkDeviceSize counted_ = 0;
};

// A mapped buffer of at least `bytes`: keeps the present one if it is large enough, else replaces it and
// defers the old one's end.
void grow(Device& device, Buffer& buffer, const BufferSpec& spec);

// Barriers and copies that several passes use.
struct ImageUse {
    VkPipelineStageFlags2 stage = VK_PIPELINE_STAGE_2_NONE;
    VkAccessFlags2 access = VK_ACCESS_2_NONE;
    VkImageLayout layout = VK_IMAGE_LAYOUT_UNDEFINED;
};
void transition(VkCommandBuffer commands, VkImage image, const ImageUse& before, const ImageUse& after);
// The image is in VK_IMAGE_LAYOUT_GENERAL; rgba is 0xAABBGGRR.
void clear_image(VkCommandBuffer commands, VkImage image, std::uint32_t rgba);

// Between refreshes every texture is in this state: whoever writes it waits for its readers and earlier
// writers, and makes the result visible to readers and later writers.
inline constexpr ImageUse texture_idle{
    VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT | VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT |
        VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
    VK_ACCESS_2_SHADER_SAMPLED_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT |
        VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT,
    VK_IMAGE_LAYOUT_GENERAL};

}  // namespace convlens::render

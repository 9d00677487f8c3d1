// Pictures that draw lists can name. A number stays with its slot while the picture behind it is replaced.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "app/render/resources.h"

namespace convlens::render {

class DescriptorPool {  // sets of one sampled picture and of one picture to write
  public:
    explicit DescriptorPool(Device& device);
    ~DescriptorPool();
    DescriptorPool(const DescriptorPool&) = delete;
    DescriptorPool& operator=(const DescriptorPool&) = delete;

    VkDescriptorSetLayout sampled_layout() const { return sampled_; }
    VkDescriptorSetLayout storage_layout() const { return storage_; }
    // `nearest`: map pixels stay squares; otherwise linear.
    VkDescriptorSet make_sampled(VkImageView view, VkImageLayout layout, bool nearest);
    VkDescriptorSet make_storage(VkImageView view);
    void free(VkDescriptorSet set) noexcept;

  private:
    VkDescriptorSet allocate(VkDescriptorSetLayout layout);
    VkSampler sampler(VkFilter filter);

    Device& device_;
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    VkDescriptorSetLayout sampled_ = VK_NULL_HANDLE, storage_ = VK_NULL_HANDLE;
    VkSampler nearest_ = VK_NULL_HANDLE, linear_ = VK_NULL_HANDLE;
};

// A picture with its descriptor sets. Lives in VK_IMAGE_LAYOUT_GENERAL once it has contents.
struct Texture {
    Texture(Device& device, DescriptorPool& pool, int width, int height, bool nearest, bool writable,
            const char* name);
    ~Texture();
    Texture(const Texture&) = delete;
    Texture& operator=(const Texture&) = delete;

    Image image;
    VkDescriptorSet sampled = VK_NULL_HANDLE, storage = VK_NULL_HANDLE;
    bool has_contents = false;
    bool opaque = false;  // every pixel that is drawn has alpha 1

  private:
    DescriptorPool& pool_;
};

class TextureTable {
  public:
    // A new number (1 and up) or that of a slot that was removed.
    std::uint64_t add(std::shared_ptr<Texture> texture);
    void replace(std::uint64_t id, std::shared_ptr<Texture> texture);
    std::shared_ptr<Texture> find(std::uint64_t id) const;  // null when there is none
    void remove(std::uint64_t id);

  private:
    std::vector<std::shared_ptr<Texture>> textures_;
};

}  // namespace convlens::render

#include "app/render/textures.h"

#include <algorithm>

namespace convlens::render {
namespace {

constexpr std::uint32_t max_sets = 1024;

VkDescriptorSetLayout make_layout(VkDevice device, VkDescriptorType type, VkShaderStageFlags stages) {
    const VkDescriptorSetLayoutBinding binding{
        .binding = 0, .descriptorType = type, .descriptorCount = 1, .stageFlags = stages};
    const VkDescriptorSetLayoutCreateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                               .bindingCount = 1,
                                               .pBindings = &binding};
    VkDescriptorSetLayout layout = VK_NULL_HANDLE;
    check(vkCreateDescriptorSetLayout(device, &info, nullptr, &layout), "Creating a descriptor layout");
    return layout;
}

}  // namespace

DescriptorPool::DescriptorPool(Device& device) : device_(device) {
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, max_sets / 2},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, max_sets / 2}};
    const VkDescriptorPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                          .flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT,
                                          .maxSets = max_sets,
                                          .poolSizeCount = 2,
                                          .pPoolSizes = sizes};
    check(vkCreateDescriptorPool(device_.handle(), &info, nullptr, &pool_), "Creating a descriptor pool");
    sampled_ = make_layout(device_.handle(), VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                           VK_SHADER_STAGE_FRAGMENT_BIT);
    storage_ = make_layout(device_.handle(), VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, VK_SHADER_STAGE_COMPUTE_BIT);
    nearest_ = sampler(VK_FILTER_NEAREST);
    linear_ = sampler(VK_FILTER_LINEAR);
}

DescriptorPool::~DescriptorPool() {
    const VkDevice device = device_.handle();
    vkDestroySampler(device, nearest_, nullptr);
    vkDestroySampler(device, linear_, nullptr);
    vkDestroyDescriptorSetLayout(device, sampled_, nullptr);
    vkDestroyDescriptorSetLayout(device, storage_, nullptr);
    vkDestroyDescriptorPool(device, pool_, nullptr);
}

VkSampler DescriptorPool::sampler(VkFilter filter) {
    const VkSamplerCreateInfo info{.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                   .magFilter = filter,
                                   .minFilter = filter,
                                   .mipmapMode = VK_SAMPLER_MIPMAP_MODE_NEAREST,
                                   .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                   .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                   .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE};
    VkSampler result = VK_NULL_HANDLE;
    check(vkCreateSampler(device_.handle(), &info, nullptr, &result), "Creating a sampler");
    return result;
}

VkDescriptorSet DescriptorPool::allocate(VkDescriptorSetLayout layout) {
    const VkDescriptorSetAllocateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                           .descriptorPool = pool_,
                                           .descriptorSetCount = 1,
                                           .pSetLayouts = &layout};
    VkDescriptorSet set = VK_NULL_HANDLE;
    check(vkAllocateDescriptorSets(device_.handle(), &info, &set), "Allocating a descriptor set");
    return set;
}

VkDescriptorSet DescriptorPool::make_sampled(VkImageView view, VkImageLayout layout, bool nearest) {
    const VkDescriptorSet set = allocate(sampled_);
    const VkDescriptorImageInfo image{
        .sampler = nearest ? nearest_ : linear_, .imageView = view, .imageLayout = layout};
    const VkWriteDescriptorSet write{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                     .dstSet = set,
                                     .descriptorCount = 1,
                                     .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                     .pImageInfo = &image};
    vkUpdateDescriptorSets(device_.handle(), 1, &write, 0, nullptr);
    return set;
}

VkDescriptorSet DescriptorPool::make_storage(VkImageView view) {
    const VkDescriptorSet set = allocate(storage_);
    const VkDescriptorImageInfo image{.imageView = view, .imageLayout = VK_IMAGE_LAYOUT_GENERAL};
    const VkWriteDescriptorSet write{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                     .dstSet = set,
                                     .descriptorCount = 1,
                                     .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                     .pImageInfo = &image};
    vkUpdateDescriptorSets(device_.handle(), 1, &write, 0, nullptr);
    return set;
}

void DescriptorPool::free(VkDescriptorSet set) noexcept {
    if (set != VK_NULL_HANDLE) (void)vkFreeDescriptorSets(device_.handle(), pool_, 1, &set);
}

Texture::Texture(Device& device, DescriptorPool& pool, int width, int height, bool nearest, bool writable,
                 const char* name)
    : image(device, {.width = width,
                     .height = height,
                     .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                              VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                              (writable ? VkImageUsageFlags(VK_IMAGE_USAGE_STORAGE_BIT) : 0u),
                     .name = name}),
      pool_(pool) {
    sampled = pool.make_sampled(image.view(), VK_IMAGE_LAYOUT_GENERAL, nearest);
    if (writable) storage = pool.make_storage(image.view());
}

Texture::~Texture() {
    pool_.free(sampled);
    pool_.free(storage);
}

std::uint64_t TextureTable::add(std::shared_ptr<Texture> texture) {
    const auto hole = std::find(textures_.begin(), textures_.end(), nullptr);
    if (hole != textures_.end()) {
        *hole = std::move(texture);
        return static_cast<std::uint64_t>(hole - textures_.begin()) + 1;
    }
    textures_.push_back(std::move(texture));
    return textures_.size();
}

void TextureTable::replace(std::uint64_t id, std::shared_ptr<Texture> texture) {
    if (id >= 1 && id <= textures_.size()) textures_[id - 1] = std::move(texture);
}

std::shared_ptr<Texture> TextureTable::find(std::uint64_t id) const {
    return id >= 1 && id <= textures_.size() ? textures_[id - 1] : nullptr;
}

void TextureTable::remove(std::uint64_t id) { replace(id, nullptr); }

}  // namespace convlens::render

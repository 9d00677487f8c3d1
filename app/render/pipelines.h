// Owners of the small Vulkan objects that passes are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "app/render/device.h"

namespace convlens::render {

class PipelineLayout {
  public:
    PipelineLayout(Device& device, std::initializer_list<VkDescriptorSetLayout> sets,
                   VkShaderStageFlags push_stages, std::uint32_t push_bytes);
    ~PipelineLayout();
    PipelineLayout(const PipelineLayout&) = delete;
    PipelineLayout& operator=(const PipelineLayout&) = delete;
    VkPipelineLayout handle() const { return handle_; }

  private:
    Device& device_;
    VkPipelineLayout handle_ = VK_NULL_HANDLE;
};

class ShaderModule {
  public:
    ShaderModule(Device& device, std::span<const std::uint32_t> code);
    ~ShaderModule();
    ShaderModule(const ShaderModule&) = delete;
    ShaderModule& operator=(const ShaderModule&) = delete;
    VkShaderModule handle() const { return handle_; }

  private:
    Device& device_;
    VkShaderModule handle_ = VK_NULL_HANDLE;
};

}  // namespace convlens::render

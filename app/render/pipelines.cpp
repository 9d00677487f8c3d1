#include "app/render/pipelines.h"

namespace convlens::render {

PipelineLayout::PipelineLayout(Device& device, std::initializer_list<VkDescriptorSetLayout> sets,
                               VkShaderStageFlags push_stages, std::uint32_t push_bytes)
    : device_(device) {
    const VkPushConstantRange range{.stageFlags = push_stages, .offset = 0, .size = push_bytes};
    const VkPipelineLayoutCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                          .setLayoutCount = static_cast<std::uint32_t>(sets.size()),
                                          .pSetLayouts = sets.begin(),
                                          .pushConstantRangeCount = 1,
                                          .pPushConstantRanges = &range};
    check(vkCreatePipelineLayout(device.handle(), &info, nullptr, &handle_), "Creating a pipeline layout");
}

PipelineLayout::~PipelineLayout() { vkDestroyPipelineLayout(device_.handle(), handle_, nullptr); }

ShaderModule::ShaderModule(Device& device, std::span<const std::uint32_t> code) : device_(device) {
    const VkShaderModuleCreateInfo info{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                        .codeSize = code.size_bytes(),
                                        .pCode = code.data()};
    check(vkCreateShaderModule(device.handle(), &info, nullptr, &handle_), "Loading a shader");
}

ShaderModule::~ShaderModule() { vkDestroyShaderModule(device_.handle(), handle_, nullptr); }

}  // namespace convlens::render

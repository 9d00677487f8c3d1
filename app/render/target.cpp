#include "app/render/target.h"

namespace convlens::render {

void begin_rendering(VkCommandBuffer commands, const TargetView& target, std::uint32_t rgba) {
    VkRenderingAttachmentInfo attachment{.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                         .imageView = target.view,
                                         .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                         .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                         .storeOp = VK_ATTACHMENT_STORE_OP_STORE};
    for (int c = 0; c < 4; ++c)
        attachment.clearValue.color.float32[c] = static_cast<float>(rgba >> (8 * c) & 255u) / 255.0f;
    const VkRenderingInfo info{
        .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
        .renderArea = {{0, 0},
                       {static_cast<std::uint32_t>(target.width), static_cast<std::uint32_t>(target.height)}},
        .layerCount = 1,
        .colorAttachmentCount = 1,
        .pColorAttachments = &attachment};
    vkCmdBeginRendering(commands, &info);
}

OffscreenTarget::OffscreenTarget(Device& device, int width, int height, VkFormat format)
    : image_(device, {.width = width,
                      .height = height,
                      .format = format,
                      .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
                      .name = "off-screen target"}) {}

void OffscreenTarget::begin(VkCommandBuffer commands) const {
    transition(commands, image_.handle(),
               {VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
                VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT, VK_IMAGE_LAYOUT_UNDEFINED},
               {VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
                VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT,
                VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL});
}

void OffscreenTarget::end(VkCommandBuffer commands) const {
    transition(
        commands, image_.handle(),
        {VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT, VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
         VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL},
        {VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_READ_BIT, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL});
}

void OffscreenTarget::copy_to(VkCommandBuffer commands, const Buffer& buffer) const {
    const VkBufferImageCopy region{.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                   .imageExtent = {static_cast<std::uint32_t>(image_.width()),
                                                   static_cast<std::uint32_t>(image_.height()), 1}};
    vkCmdCopyImageToBuffer(commands, image_.handle(), VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, buffer.handle(),
                           1, &region);
    const VkMemoryBarrier2 barrier{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                   .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                   .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                   .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                   .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT};
    const VkDependencyInfo info{
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &info);
}

std::vector<std::uint8_t> to_rgb(const std::uint8_t* pixels, int width, int height, VkFormat format) {
    const bool swap = format == VK_FORMAT_B8G8R8A8_UNORM || format == VK_FORMAT_B8G8R8A8_SRGB;
    const std::size_t count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    std::vector<std::uint8_t> rgb(count * 3);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t* in = pixels + 4 * i;
        rgb[3 * i] = in[swap ? 2 : 0];
        rgb[3 * i + 1] = in[1];
        rgb[3 * i + 2] = in[swap ? 0 : 2];
    }
    return rgb;
}

}  // namespace convlens::render

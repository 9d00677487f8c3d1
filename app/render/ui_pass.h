// Draws ImGui's draw lists. Each stretch of triangles goes to the cheapest pipeline that gives the same
// picture: pixels covered, not vertices, decide the cost of software Vulkan.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "app/render/pipelines.h"
#include "app/render/textures.h"

struct ImDrawData;

namespace convlens::render {

struct ClearRect {  // in pixels of the target
    int x = 0, y = 0, width = 0, height = 0;
    std::uint32_t rgba = 0;  // 0xAABBGGRR
};

enum class UiPipeline : std::uint8_t {
    textured,  // vertex colour x picture, blended
    flat,      // vertex colour, blended
    solid,     // vertex colour, opaque
    picture,   // picture as it is, opaque
};
inline constexpr std::size_t ui_pipeline_count = 4;

struct DrawItem {
    UiPipeline pipeline = UiPipeline::textured;
    std::shared_ptr<Texture> texture;  // kept while the list may be drawn again
    VkRect2D scissor{};
    std::uint32_t first_index = 0, index_count = 0;
    std::int32_t vertex_offset = 0;
};

// What one refresh draws; the vertices lie in the buffers of the frame.
struct DrawList {
    std::vector<DrawItem> items;
    std::vector<ClearRect> clears;
    VkBuffer vertices = VK_NULL_HANDLE, indices = VK_NULL_HANDLE;
    float scale[2] = {1, 1}, offset[2] = {0, 0};
    std::uint64_t uploaded_bytes = 0;
};

class UiPass {
  public:
    UiPass(Device& device, DescriptorPool& pool, VkFormat format);
    ~UiPass();
    UiPass(const UiPass&) = delete;
    UiPass& operator=(const UiPass&) = delete;

    // Copies vertices into the buffers (grown as needed) and cuts the lists into items for a target of this
    // size. Items whose picture is unknown are left out.
    DrawList prepare(const ImDrawData& data, const TextureTable& textures, int width, int height,
                     Buffer& vertices, Buffer& indices);
    // Inside dynamic rendering on a target of this size.
    void record(VkCommandBuffer commands, const DrawList& list, int width, int height) const;

  private:
    VkPipeline make(const ShaderModule& vertex, const ShaderModule& fragment, VkFormat format,
                    bool blend) const;

    Device& device_;
    PipelineLayout layout_;
    std::array<VkPipeline, ui_pipeline_count> pipelines_{};
};

}  // namespace convlens::render

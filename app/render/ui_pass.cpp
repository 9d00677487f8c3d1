#include "app/render/ui_pass.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace convlens::render {
namespace {

constexpr std::uint32_t vertex_code[] =
#include "ui_vert.inc"
    ;
constexpr std::uint32_t textured_code[] =
#include "ui_textured_frag.inc"
    ;
constexpr std::uint32_t flat_code[] =
#include "ui_flat_frag.inc"
    ;
constexpr std::uint32_t picture_code[] =
#include "ui_picture_frag.inc"
    ;

struct Push {
    float scale[2], offset[2];
};

// Below this many pixels a change of pipeline costs more than the pixels save.
constexpr float split_area = 4096;

float area_of(const ImVec2& a, const ImVec2& b, const ImVec2& c) {
    return 0.5f * std::fabs((b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y));
}

// Cuts one command of the font picture into items: stretches of large triangles that show only its white
// pixel need no sampling, and no blending where they are opaque.
class FontCommandCutter {
  public:
    FontCommandCutter(const ImDrawVert* vertices, const ImDrawIdx* indices, ImVec2 white)
        : vertices_(vertices), indices_(indices), white_(white) {}

    void cut(const DrawItem& whole, std::uint32_t first, std::uint32_t count, std::vector<DrawItem>& items) {
        std::uint32_t pending = 0, at = 0;  // triangles from `pending` on are not yet in an item
        while (at + 3 <= count) {
            const std::uint32_t end = flat_stretch(first, at, count);
            if (end > at && area_ >= split_area) {
                push(whole, UiPipeline::textured, pending, at, items);
                push(whole, opaque_ ? UiPipeline::solid : UiPipeline::flat, at, end, items);
                pending = end;
            }
            at = std::max(end, at + 3);
        }
        push(whole, UiPipeline::textured, pending, count, items);
    }

  private:
    // The end of the flat triangles that start at `at`; measures them.
    std::uint32_t flat_stretch(std::uint32_t first, std::uint32_t at, std::uint32_t count) {
        area_ = 0;
        opaque_ = true;
        for (; at + 3 <= count; at += 3) {
            const ImDrawIdx* corner = indices_ + first + at;
            const ImDrawVert &a = vertices_[corner[0]], &b = vertices_[corner[1]], &c = vertices_[corner[2]];
            if (!is_white(a) || !is_white(b) || !is_white(c)) break;
            opaque_ = opaque_ && ((a.col & b.col & c.col) >> IM_COL32_A_SHIFT) == 255;
            area_ += area_of(a.pos, b.pos, c.pos);
        }
        return at;
    }
    bool is_white(const ImDrawVert& v) const { return v.uv.x == white_.x && v.uv.y == white_.y; }
    static void push(const DrawItem& whole, UiPipeline pipeline, std::uint32_t begin, std::uint32_t end,
                     std::vector<DrawItem>& items) {
        if (begin >= end) return;
        DrawItem item = whole;
        item.pipeline = pipeline;
        item.first_index += begin;
        item.index_count = end - begin;
        items.push_back(std::move(item));
    }

    const ImDrawVert* vertices_;
    const ImDrawIdx* indices_;
    ImVec2 white_;
    float area_ = 0;
    bool opaque_ = true;
};

// Vertex colours change nothing: opaque white throughout.
bool leaves_picture(const ImDrawVert* vertices, const ImDrawIdx* indices, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
        if (vertices[indices[i]].col != IM_COL32_WHITE) return false;
    return true;
}

// The clip rectangle of a command in pixels of the target; false when nothing is left.
bool scissor_of(const ImDrawCmd& command, const ImDrawData& data, int width, int height, VkRect2D& result) {
    const ImVec2 origin = data.DisplayPos, scale = data.FramebufferScale;
    const auto clip = [](float v, int limit) {
        return !(v > 0) ? 0 : v >= static_cast<float>(limit) ? limit : static_cast<int>(v);
    };
    const int x0 = clip((command.ClipRect.x - origin.x) * scale.x, width);
    const int y0 = clip((command.ClipRect.y - origin.y) * scale.y, height);
    const int x1 = clip((command.ClipRect.z - origin.x) * scale.x, width);
    const int y1 = clip((command.ClipRect.w - origin.y) * scale.y, height);
    if (x1 <= x0 || y1 <= y0) return false;
    result = {{x0, y0}, {static_cast<std::uint32_t>(x1 - x0), static_cast<std::uint32_t>(y1 - y0)}};
    return true;
}

}  // namespace

UiPass::UiPass(Device& device, DescriptorPool& pool, VkFormat format)
    : device_(device), layout_(device, {pool.sampled_layout()}, VK_SHADER_STAGE_VERTEX_BIT, sizeof(Push)) {
    const ShaderModule vertex(device, vertex_code), textured(device, textured_code), flat(device, flat_code),
        picture(device, picture_code);
    const auto at = [](UiPipeline p) { return static_cast<std::size_t>(p); };
    pipelines_[at(UiPipeline::textured)] = make(vertex, textured, format, true);
    pipelines_[at(UiPipeline::flat)] = make(vertex, flat, format, true);
    pipelines_[at(UiPipeline::solid)] = make(vertex, flat, format, false);
    pipelines_[at(UiPipeline::picture)] = make(vertex, picture, format, false);
}

UiPass::~UiPass() {
    for (const VkPipeline pipeline : pipelines_) vkDestroyPipeline(device_.handle(), pipeline, nullptr);
}

VkPipeline UiPass::make(const ShaderModule& vertex, const ShaderModule& fragment, VkFormat format,
                        bool blend) const {
    const VkPipelineShaderStageCreateInfo stages[] = {
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_VERTEX_BIT,
         .module = vertex.handle(),
         .pName = "main"},
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
         .module = fragment.handle(),
         .pName = "main"}};
    const VkVertexInputBindingDescription binding{.binding = 0, .stride = sizeof(ImDrawVert)};
    const VkVertexInputAttributeDescription attributes[] = {
        {0, 0, VK_FORMAT_R32G32_SFLOAT, offsetof(ImDrawVert, pos)},
        {1, 0, VK_FORMAT_R32G32_SFLOAT, offsetof(ImDrawVert, uv)},
        {2, 0, VK_FORMAT_R8G8B8A8_UNORM, offsetof(ImDrawVert, col)}};
    const VkPipelineVertexInputStateCreateInfo input{
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
        .vertexBindingDescriptionCount = 1,
        .pVertexBindingDescriptions = &binding,
        .vertexAttributeDescriptionCount = 3,
        .pVertexAttributeDescriptions = attributes};
    const VkPipelineInputAssemblyStateCreateInfo assembly{
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
    const VkPipelineViewportStateCreateInfo viewport{
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
        .viewportCount = 1,
        .scissorCount = 1};
    const VkPipelineRasterizationStateCreateInfo raster{
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .polygonMode = VK_POLYGON_MODE_FILL,
        .cullMode = VK_CULL_MODE_NONE,
        .lineWidth = 1};
    const VkPipelineMultisampleStateCreateInfo samples{
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    const VkPipelineColorBlendAttachmentState attachment{
        .blendEnable = blend ? VK_TRUE : VK_FALSE,
        .srcColorBlendFactor = VK_BLEND_FACTOR_SRC_ALPHA,
        .dstColorBlendFactor = VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA,
        .colorBlendOp = VK_BLEND_OP_ADD,
        .srcAlphaBlendFactor = VK_BLEND_FACTOR_ONE,
        .dstAlphaBlendFactor = VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA,
        .alphaBlendOp = VK_BLEND_OP_ADD,
        .colorWriteMask = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT | VK_COLOR_COMPONENT_B_BIT |
                          VK_COLOR_COMPONENT_A_BIT};
    const VkPipelineColorBlendStateCreateInfo blending{
        .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
        .attachmentCount = 1,
        .pAttachments = &attachment};
    const VkDynamicState dynamic[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
    const VkPipelineDynamicStateCreateInfo state{
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
        .dynamicStateCount = 2,
        .pDynamicStates = dynamic};
    const VkPipelineRenderingCreateInfo rendering{.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                  .colorAttachmentCount = 1,
                                                  .pColorAttachmentFormats = &format};
    const VkGraphicsPipelineCreateInfo info{.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                            .pNext = &rendering,
                                            .stageCount = 2,
                                            .pStages = stages,
                                            .pVertexInputState = &input,
                                            .pInputAssemblyState = &assembly,
                                            .pViewportState = &viewport,
                                            .pRasterizationState = &raster,
                                            .pMultisampleState = &samples,
                                            .pColorBlendState = &blending,
                                            .pDynamicState = &state,
                                            .layout = layout_.handle()};
    VkPipeline pipeline = VK_NULL_HANDLE;
    check(vkCreateGraphicsPipelines(device_.handle(), VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
          "Creating a drawing pipeline");
    return pipeline;
}

DrawList UiPass::prepare(const ImDrawData& data, const TextureTable& textures, int width, int height,
                         Buffer& vertices, Buffer& indices) {
    DrawList list;
    if (data.TotalVtxCount <= 0 || data.TotalIdxCount <= 0) return list;
    const std::size_t vertex_bytes = static_cast<std::size_t>(data.TotalVtxCount) * sizeof(ImDrawVert);
    const std::size_t index_bytes = static_cast<std::size_t>(data.TotalIdxCount) * sizeof(ImDrawIdx);
    grow(device_, vertices,
         {.bytes = vertex_bytes, .usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, .name = "ui vertices"});
    grow(device_, indices,
         {.bytes = index_bytes, .usage = VK_BUFFER_USAGE_INDEX_BUFFER_BIT, .name = "ui indices"});
    list.vertices = vertices.handle();
    list.indices = indices.handle();
    list.uploaded_bytes = vertex_bytes + index_bytes;
    list.scale[0] = 2.0f / std::max(data.DisplaySize.x, 1.0f);
    list.scale[1] = 2.0f / std::max(data.DisplaySize.y, 1.0f);
    list.offset[0] = -1.0f - data.DisplayPos.x * list.scale[0];
    list.offset[1] = -1.0f - data.DisplayPos.y * list.scale[1];

    const ImFontAtlas* fonts = ImGui::GetIO().Fonts;
    std::int32_t first_vertex = 0;
    std::uint32_t first_index = 0;
    for (int n = 0; n < data.CmdListsCount; ++n) {
        const ImDrawList& source = *data.CmdLists[n];
        std::memcpy(vertices.mapped() + static_cast<std::size_t>(first_vertex) * sizeof(ImDrawVert),
                    source.VtxBuffer.Data, static_cast<std::size_t>(source.VtxBuffer.size_in_bytes()));
        std::memcpy(indices.mapped() + static_cast<std::size_t>(first_index) * sizeof(ImDrawIdx),
                    source.IdxBuffer.Data, static_cast<std::size_t>(source.IdxBuffer.size_in_bytes()));
        for (const ImDrawCmd& command : source.CmdBuffer) {
            if (command.UserCallback != nullptr) {
                if (command.UserCallback != ImDrawCallback_ResetRenderState)
                    command.UserCallback(&source, &command);
                continue;
            }
            DrawItem item;
            item.texture = textures.find(reinterpret_cast<std::uintptr_t>(command.TextureId));
            if (item.texture == nullptr || !item.texture->has_contents || command.ElemCount == 0) continue;
            if (!scissor_of(command, data, width, height, item.scissor)) continue;
            item.first_index = first_index + command.IdxOffset;
            item.index_count = command.ElemCount;
            item.vertex_offset = first_vertex + static_cast<std::int32_t>(command.VtxOffset);
            const ImDrawVert* corner = source.VtxBuffer.Data + command.VtxOffset;
            const ImDrawIdx* index = source.IdxBuffer.Data + command.IdxOffset;
            if (command.TextureId == fonts->TexID) {
                FontCommandCutter(corner, index, fonts->TexUvWhitePixel)
                    .cut(item, 0, command.ElemCount, list.items);
                continue;
            }
            if (item.texture->opaque && leaves_picture(corner, index, command.ElemCount))
                item.pipeline = UiPipeline::picture;
            list.items.push_back(std::move(item));
        }
        first_vertex += source.VtxBuffer.Size;
        first_index += static_cast<std::uint32_t>(source.IdxBuffer.Size);
    }
    return list;
}

void UiPass::record(VkCommandBuffer commands, const DrawList& list, int width, int height) const {
    for (const ClearRect& rect : list.clears) {
        const int x0 = std::clamp(rect.x, 0, width), x1 = std::clamp(rect.x + rect.width, 0, width);
        const int y0 = std::clamp(rect.y, 0, height), y1 = std::clamp(rect.y + rect.height, 0, height);
        if (x1 <= x0 || y1 <= y0) continue;
        VkClearAttachment clear{.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .colorAttachment = 0};
        for (int c = 0; c < 4; ++c)
            clear.clearValue.color.float32[c] = static_cast<float>(rect.rgba >> (8 * c) & 255u) / 255.0f;
        const VkClearRect area{
            .rect = {{x0, y0}, {static_cast<std::uint32_t>(x1 - x0), static_cast<std::uint32_t>(y1 - y0)}},
            .layerCount = 1};
        vkCmdClearAttachments(commands, 1, &clear, 1, &area);
    }
    if (list.items.empty()) return;
    const VkViewport viewport{0, 0, static_cast<float>(width), static_cast<float>(height), 0, 1};
    vkCmdSetViewport(commands, 0, 1, &viewport);
    const VkDeviceSize zero = 0;
    vkCmdBindVertexBuffers(commands, 0, 1, &list.vertices, &zero);
    vkCmdBindIndexBuffer(commands, list.indices, 0,
                         sizeof(ImDrawIdx) == 2 ? VK_INDEX_TYPE_UINT16 : VK_INDEX_TYPE_UINT32);
    Push push;
    std::memcpy(push.scale, list.scale, sizeof push.scale);
    std::memcpy(push.offset, list.offset, sizeof push.offset);
    vkCmdPushConstants(commands, layout_.handle(), VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof push, &push);
    VkPipeline bound = VK_NULL_HANDLE;
    VkDescriptorSet bound_set = VK_NULL_HANDLE;
    for (const DrawItem& item : list.items) {
        const VkPipeline pipeline = pipelines_[static_cast<std::size_t>(item.pipeline)];
        if (pipeline != bound) vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
        if (item.texture->sampled != bound_set)
            vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, layout_.handle(), 0, 1,
                                    &item.texture->sampled, 0, nullptr);
        bound = pipeline;
        bound_set = item.texture->sampled;
        VkRect2D scissor = item.scissor;
        vkCmdSetScissor(commands, 0, 1, &scissor);
        vkCmdDrawIndexed(commands, item.index_count, 1, item.first_index, item.vertex_offset, 0);
    }
}

}  // namespace convlens::render

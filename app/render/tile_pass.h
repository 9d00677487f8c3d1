// Fills tiles of atlases by compute shaders, from tensors in the arena.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "app/render/arena_memory.h"
#include "app/render/atlas_tile.h"
#include "app/render/pipelines.h"
#include "app/render/textures.h"

namespace convlens::render {

// One call of Canvas::fill.
struct TileFill {
    std::shared_ptr<Texture> atlas;
    std::vector<AtlasTile> tiles;
    bool clear = false;
    std::uint32_t clear_rgba = 0;
};

struct TileFigures {
    std::uint64_t uploaded_bytes = 0;  // tile descriptions
    std::uint64_t copied_bytes = 0;    // tensors copied for display (staged arena)
    double fetch_ms = 0;               // of them, the processor's wait for copies from another API's memory
    bool reads_external = false;       // memory of another API: its timeline must have come to this pass
    std::uint64_t dispatches = 0;
};

class TilePass {
  public:
    TilePass(Device& device, DescriptorPool& pool, std::shared_ptr<ArenaBook> book);
    ~TilePass();
    TilePass(const TilePass&) = delete;
    TilePass& operator=(const TilePass&) = delete;

    // Outside rendering, in the order of the calls. Tiles whose memory no arena block holds become
    // transparent. `tiles` is the frame's own buffer, grown as needed.
    TileFigures record(VkCommandBuffer commands, std::span<const TileFill> fills, Buffer& tiles);

  private:
    struct Work;  // what one refresh uploads
    void add(const TileFill& fill, Work& work) const;
    void copy_staged(VkCommandBuffer commands, const Work& work, TileFigures& figures) const;
    void fetch_mirrors(const Work& work, TileFigures& figures) const;
    // Blocks of another API from it, or back to it.
    void pass_blocks(VkCommandBuffer commands, const Work& work, bool acquire) const;
    VkPipeline pipeline(std::uint32_t kind, std::uint32_t color_map, bool use_view);

    Device& device_;
    std::shared_ptr<ArenaBook> book_;
    Buffer nothing_;  // behind the view of tiles that read nothing
    ValueViews no_values_;
    PipelineLayout layout_;
    ShaderModule shader_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, VkPipeline> pipelines_;
};

}  // namespace convlens::render

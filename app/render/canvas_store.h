// The pictures behind Canvas: atlases by name, uploaded pictures by slot, the fonts. What is asked for
// between two refreshes is kept and recorded before the window is drawn.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/render/textures.h"
#include "app/render/tile_pass.h"

namespace convlens::render {

class CanvasStore {
  public:
    CanvasStore(Device& device, DescriptorPool& pool, std::shared_ptr<ArenaBook> book);

    std::uint64_t atlas(const char* slot, int width, int height);
    int atlas_width(const char* slot) const;
    int atlas_height(const char* slot) const;
    void fill(const char* slot, std::span<const AtlasTile> tiles, bool clear, std::uint32_t clear_rgba);
    std::uint64_t picture(const char* slot, std::uint64_t key, int width, int height,
                          const std::uint8_t* rgb);
    // Four bytes a pixel; returns the number of the font picture, which stays the same.
    std::uint64_t fonts(int width, int height, const std::uint8_t* rgba);

    // Records everything that is pending; `staging` and `tiles` are the frame's own buffers.
    TileFigures record(VkCommandBuffer commands, Buffer& staging, Buffer& tiles);
    bool has_pending() const { return !starts_.empty() || !uploads_.empty() || !fills_.empty(); }
    const TextureTable& textures() const { return textures_; }

  private:
    struct Atlas {
        std::uint64_t id = 0;
        std::shared_ptr<Texture> texture;
    };
    struct Picture {
        std::uint64_t id = 0, key = 0, used = 0;  // `used`: the refresh that last asked for it
        int width = 0, height = 0;                // as given by the caller
        std::shared_ptr<Texture> texture;
    };
    struct Start {  // an atlas without contents yet; grown ones take over what the old one showed
        std::shared_ptr<Texture> texture, old;
    };
    struct Upload {
        std::shared_ptr<Texture> texture;
        std::vector<std::uint8_t> rgba;
    };

    void start_atlases(VkCommandBuffer commands);
    std::uint64_t upload(VkCommandBuffer commands, Buffer& staging);
    void evict_pictures();
    int limit(int size) const;

    Device& device_;
    DescriptorPool& pool_;
    TilePass tile_pass_;
    TextureTable textures_;
    std::map<std::string, Atlas, std::less<>> atlases_;
    std::map<std::string, Picture, std::less<>> pictures_;
    std::uint64_t font_id_ = 0, refresh_ = 0;
    std::vector<Start> starts_;
    std::vector<Upload> uploads_;
    std::vector<TileFill> fills_;
};

}  // namespace convlens::render

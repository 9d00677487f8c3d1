// What the panels need of the renderer, without a Vulkan type: pictures made from tensors and from bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "app/render/atlas_tile.h"

namespace convlens::render {

class Canvas {
  public:
    virtual ~Canvas() = default;
    // An atlas of at least this size (grown, never shrunk), cleared to transparent when made. `slot` names
    // it: "wall", "strip". Returns what ImGui::Image takes (an ImTextureID as an integer).
    virtual std::uint64_t atlas(const char* slot, int width, int height) = 0;
    // Size of the atlas picture (for texture coordinates).
    virtual int atlas_width(const char* slot) const = 0;
    virtual int atlas_height(const char* slot) const = 0;
    // Fills tiles of the atlas in this refresh, before the window is drawn. clear_rgba (0xAABBGGRR) first
    // fills the whole picture when `clear`.
    virtual void fill(const char* slot, std::span<const AtlasTile> tiles, bool clear,
                      std::uint32_t clear_rgba) = 0;
    // A picture from 8-bit RGB bytes, uploaded once; `key` changes when the bytes do.
    virtual std::uint64_t picture(const char* slot, std::uint64_t key, int width, int height,
                                  const std::uint8_t* rgb) = 0;
    // A rectangle of the window cleared to a colour before anything of ImGui is drawn (cheap on software
    // Vulkan).
    virtual void clear_rect(float x, float y, float w, float h, std::uint32_t rgba) = 0;
};

}  // namespace convlens::render

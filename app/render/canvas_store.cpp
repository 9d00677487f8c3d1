#include "app/render/canvas_store.h"

#include <algorithm>
#include <cstring>

namespace convlens::render {
namespace {

// Pictures are kept until there are more than this; those of the present refresh always stay.
constexpr std::size_t kept_pictures = 64;
constexpr int atlas_step = 64;

// Three bytes a pixel to four. Wider or higher pictures than the device takes are thinned out.
std::vector<std::uint8_t> to_rgba(const std::uint8_t* rgb, int width, int height, int out_width,
                                  int out_height) {
    std::vector<std::uint8_t> rgba(static_cast<std::size_t>(out_width) * out_height * 4);
    std::uint8_t* out = rgba.data();
    for (int y = 0; y < out_height; ++y) {
        const std::int64_t row = std::int64_t{y} * height / out_height;
        for (int x = 0; x < out_width; ++x, out += 4) {
            const std::int64_t column = out_width == width ? x : std::int64_t{x} * width / out_width;
            const std::uint8_t* in = rgb + (row * width + column) * 3;
            out[0] = in[0];
            out[1] = in[1];
            out[2] = in[2];
            out[3] = 255;
        }
    }
    return rgba;
}

// Every pixel of the tile gets a colour with alpha 1: the centres of its outer pixels lie on the map.
bool covers_its_rectangle(const AtlasTile& tile) {
    const auto inside = [](float source, float source_size, int dst_size, int size) {
        const float half = 0.5f * source_size / static_cast<float>(std::max(dst_size, 1));
        return source + half >= 0 && source + source_size - half < static_cast<float>(size);
    };
    return tile.kind != TileKind::overlay && tile.address != 0 &&
           inside(tile.source_x, tile.source_w, tile.dst_w, tile.width) &&
           inside(tile.source_y, tile.source_h, tile.dst_h, tile.height);
}

}  // namespace

CanvasStore::CanvasStore(Device& device, DescriptorPool& pool, std::shared_ptr<ArenaBook> book)
    : device_(device), pool_(pool), tile_pass_(device, pool, std::move(book)) {}

int CanvasStore::limit(int size) const {
    return std::clamp(size, 1, static_cast<int>(device_.limits().maxImageDimension2D));
}

std::uint64_t CanvasStore::atlas(const char* slot, int width, int height) {
    width = limit(width);
    height = limit(height);
    Atlas& atlas = atlases_[slot];
    const int old_width = atlas.texture ? atlas.texture->image.width() : 0;
    const int old_height = atlas.texture ? atlas.texture->image.height() : 0;
    if (width <= old_width && height <= old_height) return atlas.id;
    const auto round = [this](int size) { return limit((size + atlas_step - 1) / atlas_step * atlas_step); };
    auto fresh = std::make_shared<Texture>(device_, pool_, std::max(round(width), old_width),
                                           std::max(round(height), old_height), true, true, slot);
    fresh->has_contents = true;
    starts_.push_back({fresh, atlas.texture});
    // Fills that were asked for before the growth go to the new picture.
    for (TileFill& fill : fills_)
        if (fill.atlas == atlas.texture) fill.atlas = fresh;
    if (atlas.texture) device_.defer(atlas.texture);
    atlas.texture = fresh;
    if (atlas.id == 0)
        atlas.id = textures_.add(fresh);
    else
        textures_.replace(atlas.id, fresh);
    return atlas.id;
}

int CanvasStore::atlas_width(const char* slot) const {
    const auto found = atlases_.find(std::string_view(slot));
    return found == atlases_.end() || !found->second.texture ? 0 : found->second.texture->image.width();
}

int CanvasStore::atlas_height(const char* slot) const {
    const auto found = atlases_.find(std::string_view(slot));
    return found == atlases_.end() || !found->second.texture ? 0 : found->second.texture->image.height();
}

void CanvasStore::fill(const char* slot, std::span<const AtlasTile> tiles, bool clear,
                       std::uint32_t clear_rgba) {
    const auto found = atlases_.find(std::string_view(slot));
    if (found == atlases_.end() || !found->second.texture) return;
    Texture& texture = *found->second.texture;
    if (clear) {
        texture.opaque = clear_rgba >> 24 == 255;
        // What the clear hides need not be coloured.
        std::erase_if(fills_, [&](const TileFill& f) { return f.atlas.get() == &texture; });
    }
    for (const AtlasTile& tile : tiles)
        if (!covers_its_rectangle(tile)) texture.opaque = false;
    fills_.push_back({found->second.texture, {tiles.begin(), tiles.end()}, clear, clear_rgba});
}

std::uint64_t CanvasStore::picture(const char* slot, std::uint64_t key, int width, int height,
                                   const std::uint8_t* rgb) {
    Picture& picture = pictures_[slot];
    picture.used = refresh_;
    if (picture.texture && picture.key == key && picture.width == width && picture.height == height)
        return picture.id;
    const bool valid = rgb != nullptr && width > 0 && height > 0;
    const int out_width = valid ? limit(width) : 1, out_height = valid ? limit(height) : 1;
    if (!picture.texture || picture.texture->image.width() != out_width ||
        picture.texture->image.height() != out_height) {
        auto fresh = std::make_shared<Texture>(device_, pool_, out_width, out_height, true, false, slot);
        if (picture.texture) device_.defer(picture.texture);
        picture.texture = fresh;
        if (picture.id == 0)
            picture.id = textures_.add(fresh);
        else
            textures_.replace(picture.id, fresh);
    }
    picture.key = key;
    picture.width = width;
    picture.height = height;
    picture.texture->opaque = valid;
    std::erase_if(uploads_, [&](const Upload& u) { return u.texture == picture.texture; });
    uploads_.push_back({picture.texture, valid ? to_rgba(rgb, width, height, out_width, out_height)
                                               : std::vector<std::uint8_t>(4, 0)});
    picture.texture->has_contents = true;
    return picture.id;
}

std::uint64_t CanvasStore::fonts(int width, int height, const std::uint8_t* rgba) {
    auto fresh =
        std::make_shared<Texture>(device_, pool_, limit(width), limit(height), false, false, "fonts");
    if (font_id_ == 0)
        font_id_ = textures_.add(fresh);
    else {
        device_.defer(textures_.find(font_id_));
        textures_.replace(font_id_, fresh);
    }
    const std::size_t bytes = static_cast<std::size_t>(fresh->image.width()) * fresh->image.height() * 4;
    uploads_.push_back({fresh, std::vector<std::uint8_t>(rgba, rgba + bytes)});
    fresh->has_contents = true;
    return font_id_;
}

void CanvasStore::start_atlases(VkCommandBuffer commands) {
    const ImageUse written{VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
                           VK_IMAGE_LAYOUT_GENERAL};
    for (const Start& start : starts_) {
        const VkImage image = start.texture->image.handle();
        transition(commands, image, {}, written);
        clear_image(commands, image, 0);
        if (start.old) {
            transition(commands, image, written, written);
            const VkImage old = start.old->image.handle();
            transition(commands, old, texture_idle,
                       {VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_READ_BIT,
                        VK_IMAGE_LAYOUT_GENERAL});
            const VkImageCopy region{.srcSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                     .dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                     .extent = {static_cast<std::uint32_t>(start.old->image.width()),
                                                static_cast<std::uint32_t>(start.old->image.height()), 1}};
            vkCmdCopyImage(commands, old, VK_IMAGE_LAYOUT_GENERAL, image, VK_IMAGE_LAYOUT_GENERAL, 1,
                           &region);
        }
        transition(commands, image, written, texture_idle);
    }
    starts_.clear();
}

std::uint64_t CanvasStore::upload(VkCommandBuffer commands, Buffer& staging) {
    std::uint64_t total = 0;
    for (const Upload& upload : uploads_) total += upload.rgba.size();
    if (total == 0) return 0;
    grow(device_, staging,
         {.bytes = total, .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT, .name = "picture upload"});
    std::uint64_t at = 0;
    for (const Upload& upload : uploads_) {
        std::memcpy(staging.mapped() + at, upload.rgba.data(), upload.rgba.size());
        const Image& image = upload.texture->image;
        const ImageUse written{VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
                               VK_IMAGE_LAYOUT_GENERAL};
        // All of the picture is replaced: what it held need not be kept.
        transition(commands, image.handle(),
                   {texture_idle.stage, texture_idle.access, VK_IMAGE_LAYOUT_UNDEFINED}, written);
        const VkBufferImageCopy region{.bufferOffset = at,
                                       .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                       .imageExtent = {static_cast<std::uint32_t>(image.width()),
                                                       static_cast<std::uint32_t>(image.height()), 1}};
        vkCmdCopyBufferToImage(commands, staging.handle(), image.handle(), VK_IMAGE_LAYOUT_GENERAL, 1,
                               &region);
        transition(commands, image.handle(), written, texture_idle);
        at += upload.rgba.size();
    }
    uploads_.clear();
    return total;
}

void CanvasStore::evict_pictures() {
    while (pictures_.size() > kept_pictures) {
        const auto oldest = std::min_element(pictures_.begin(), pictures_.end(),
                                             [](auto& a, auto& b) { return a.second.used < b.second.used; });
        if (oldest->second.used >= refresh_) return;
        device_.defer(oldest->second.texture);
        textures_.remove(oldest->second.id);
        pictures_.erase(oldest);
    }
}

TileFigures CanvasStore::record(VkCommandBuffer commands, Buffer& staging, Buffer& tiles) {
    evict_pictures();
    ++refresh_;
    start_atlases(commands);
    const std::uint64_t uploaded = upload(commands, staging);
    // The fills may throw for want of memory: they are not tried again then.
    const std::vector<TileFill> fills = std::move(fills_);
    fills_.clear();
    TileFigures figures = tile_pass_.record(commands, fills, tiles);
    figures.uploaded_bytes += uploaded;
    return figures;
}

}  // namespace convlens::render

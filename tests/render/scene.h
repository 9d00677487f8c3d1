// A renderer off-screen with a context of ImGui, and draw lists made by hand.
#pragma once

#include <gtest/gtest.h>
#include <imgui.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/render/renderer.h"
#include "convlens/error.h"

namespace convlens::render::test {

inline constexpr std::uint32_t ground_rgb = 0x14171c;

class Scene {
  public:
    explicit Scene(RendererOptions options) {
        context_ = ImGui::CreateContext();
        ImGui::GetIO().IniFilename = nullptr;
        renderer_ = Renderer::create(options);
        renderer_->upload_fonts();
    }
    ~Scene() {
        renderer_.reset();
        ImGui::DestroyContext(context_);
    }
    Scene(const Scene&) = delete;
    Scene& operator=(const Scene&) = delete;

    Renderer& renderer() { return *renderer_; }

    // One refresh whose background draw list `paint` fills.
    std::function<void()> refresh(const std::function<void(ImDrawList&)>& paint = {},
                                  std::uint64_t written = 0) {
        open_ = renderer_->begin_refresh();
        ImGui::NewFrame();
        ImDrawList& list = *ImGui::GetBackgroundDrawList();
        list.Flags = ImDrawListFlags_AllowVtxOffset;  // no anti-aliasing: exact pixels
        if (paint) paint(list);
        ImGui::Render();
        return renderer_->end_refresh(ImGui::GetDrawData(), written);
    }
    bool open() const { return open_; }

    // 0xRRGGBB
    std::uint32_t pixel(int x, int y) {
        const std::size_t at = 3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                                    static_cast<std::size_t>(x));
        return std::uint32_t{pixels_[at]} << 16 | std::uint32_t{pixels_[at + 1]} << 8 | pixels_[at + 2];
    }
    void read() {
        pixels_ = renderer_->read_pixels();
        width_ = renderer_->width();
        ASSERT_EQ(pixels_.size(), 3u * static_cast<std::size_t>(renderer_->width()) *
                                      static_cast<std::size_t>(renderer_->height()));
    }
    const std::vector<std::uint8_t>& pixels() const { return pixels_; }

    void expect_no_messages() {
        EXPECT_EQ(renderer_->figures().validation_messages, 0u);
        for (const std::string& text : renderer_->validation_texts()) ADD_FAILURE() << text;
    }

  private:
    ImGuiContext* context_ = nullptr;
    std::unique_ptr<Renderer> renderer_;
    std::vector<std::uint8_t> pixels_;
    int width_ = 0;
    bool open_ = true;
};

inline RendererOptions checked(int width, int height) {
    RendererOptions options;
    options.width = width;
    options.height = height;
    options.validation = true;
    return options;
}

inline ImTextureID texture(std::uint64_t id) {
    return reinterpret_cast<ImTextureID>(static_cast<std::uintptr_t>(id));
}

// 0xAABBGGRR to 0xRRGGBB
inline std::uint32_t rgb(std::uint32_t abgr) {
    return (abgr & 0xff) << 16 | (abgr & 0xff00) | (abgr >> 16 & 0xff);
}

}  // namespace convlens::render::test

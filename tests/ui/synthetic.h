// Networks and snapshots made up for tests of the window: seeded maps, channels-last, no engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/engine/snapshot.h"
#include "app/render/canvas.h"

namespace convlens::ui::test {

struct LayerSpec {
    std::string name, op, category, summary, algorithm;
    Dims dims;  // of its output, with batch
    bool signed_values = true;
    int rows = 1;  // of its algorithm table
};

// 50-odd blocks as in a network for photos; one layer; many layers.
std::vector<LayerSpec> photo_layers();
std::vector<LayerSpec> many_layers(int count);

// Where tensors lie: returns memory for `floats` values and the address that shaders use.
struct Memory {
    float* data = nullptr;
    std::uint64_t address = 0;
};
using Allocate = std::function<Memory(std::size_t floats)>;

class SyntheticNetwork {
  public:
    SyntheticNetwork(std::string name, std::vector<LayerSpec> layers, Allocate allocate = {});
    // A fresh copy with statistics of the selected layer; change it before it is shared.
    std::shared_ptr<engine::Snapshot> snapshot(int layer, std::int64_t map, std::uint64_t pass = 1) const;
    float* tensor(int index) { return data_[static_cast<std::size_t>(index)].data; }
    const engine::NetworkInfo& info() const { return *info_; }

  private:
    std::shared_ptr<engine::NetworkInfo> info_;
    std::vector<Memory> data_;
    std::vector<std::vector<float>> owned_;
};

// A canvas that draws nothing and checks what it is asked for.
class NullCanvas : public render::Canvas {
  public:
    std::uint64_t atlas(const char* slot, int width, int height) override;
    int atlas_width(const char*) const override { return width_; }
    int atlas_height(const char*) const override { return height_; }
    void fill(const char* slot, std::span<const render::AtlasTile> tiles, bool clear,
              std::uint32_t rgba) override;
    std::uint64_t picture(const char* slot, std::uint64_t key, int width, int height,
                          const std::uint8_t* rgb) override;
    void clear_rect(float x, float y, float w, float h, std::uint32_t rgba) override;

    int fills(const std::string& slot) const;
    std::vector<render::AtlasTile> last_tiles(const std::string& slot) const;

  private:
    struct Fill {
        std::string slot;
        std::vector<render::AtlasTile> tiles;
    };
    std::vector<Fill> fills_;
    int width_ = 1, height_ = 1;
};

}  // namespace convlens::ui::test

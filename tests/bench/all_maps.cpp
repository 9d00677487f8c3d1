// all_maps MODEL [REFRESHES]: how long the GPU that draws takes to colour every map of a network, each at its
// own size.
//
// A benchmark, not a test: prints the medians of Vulkan's own timestamps. The network runs on the first CUDA
// device, where there is one, in memory shared with Vulkan, else on the processor.
#include <imgui.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "app/engine/engine.h"
#include "app/interop/interop.h"
#include "app/measure/tensor_maps.h"
#include "app/render/renderer.h"

namespace convlens {
namespace {

constexpr int atlas_side = 4096;

// The tiles of one atlas.
struct Page {
    std::string slot;
    std::vector<render::AtlasTile> tiles;
};

// Rows of tiles, one shelf after the other; a new page where one is full.
class Shelves {
  public:
    std::vector<Page> pages;
    void add(render::AtlasTile tile) {
        if (pages.empty()) open();
        if (x_ + tile.dst_w > atlas_side) {
            x_ = 0;
            y_ += shelf_;
            shelf_ = 0;
        }
        if (y_ + tile.dst_h > atlas_side) open();
        tile.dst_x = x_;
        tile.dst_y = y_;
        x_ += tile.dst_w;
        shelf_ = std::max(shelf_, tile.dst_h);
        pages.back().tiles.push_back(tile);
    }

  private:
    void open() {
        pages.push_back({"page " + std::to_string(pages.size()), {}});
        x_ = y_ = shelf_ = 0;
    }
    int x_ = 0, y_ = 0, shelf_ = 0;
};

Shelves all_maps(const engine::Snapshot& snapshot) {
    Shelves shelves;
    for (const auto& layer : snapshot.network->layers) {
        if (layer.outputs.empty()) continue;
        const auto tensor = static_cast<std::size_t>(layer.outputs[0]);
        if (snapshot.address[tensor] == 0) continue;
        const measure::TensorMaps maps(snapshot.network->tensors[tensor].desc);
        for (std::int64_t map = 0; map < maps.count; ++map) {
            render::AtlasTile tile;
            tile.address =
                snapshot.address[tensor] + static_cast<std::uint64_t>(maps.offset(map)) * sizeof(float);
            tile.stride_x = maps.stride_x;
            tile.stride_y = maps.stride_y;
            tile.width = static_cast<std::int32_t>(maps.width);
            tile.height = static_cast<std::int32_t>(maps.height);
            tile.source_w = static_cast<float>(maps.width);
            tile.source_h = static_cast<float>(maps.height);
            tile.dst_w = tile.width;
            tile.dst_h = tile.height;
            tile.lo = -3;
            tile.hi = 3;
            shelves.add(tile);
        }
    }
    return shelves;
}

double median(std::vector<double> values) {
    if (values.empty()) return -1;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

int run(const std::string& model, int refreshes) {
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    const auto devices = cuda_devices();
    std::shared_ptr<Context> context;
    std::shared_ptr<interop::Compute> compute;
    render::RendererOptions drawing;
    drawing.width = drawing.height = 64;
    if (!devices.empty()) {
        drawing.wanted_devices = {interop::identity_of(devices.front())};
        context = std::make_shared<Context>(
            ContextOptions{.backend = Backend::cuda, .device = devices.front().number});
        compute = interop::compute_of(context, devices.front());
    } else {
        context = std::make_shared<Context>();
    }
    const auto renderer = render::Renderer::create(drawing);
    renderer->upload_fonts();
    interop::Interop link(*renderer, compute, interop::Request::automatic);
    engine::EngineOptions options;
    options.context = context;
    options.allocator = link.arena();
    options.stepped = true;
    std::vector<double> atlas_ms;
    std::size_t tiles = 0, pages = 0;
    double pixels = 0;
    {
        engine::Engine engine(options);
        engine.open_model(model);
        engine.open_input("pattern:noise");
        if (!engine.run_passes(2)) {
            for (const auto& message : engine.take_messages())
                std::fprintf(stderr, "%s\n", message.text.c_str());
            return 1;
        }
        for (int i = 0; i < refreshes; ++i) {
            const engine::SnapshotPtr snapshot = engine.begin_read();
            const Shelves shelves = all_maps(*snapshot);
            renderer->begin_refresh();
            for (const Page& page : shelves.pages) {
                renderer->atlas(page.slot.c_str(), atlas_side, atlas_side);
                renderer->fill(page.slot.c_str(), page.tiles, false, 0);
            }
            ImGui::NewFrame();
            ImGui::Render();
            const auto finished = renderer->end_refresh(ImGui::GetDrawData(), snapshot->written);
            finished();
            engine.end_read(interop::Interop::reader(snapshot->memory, *renderer, finished));
            if (renderer->figures().gpu_atlas_ms >= 0) atlas_ms.push_back(renderer->figures().gpu_atlas_ms);
            tiles = 0;
            pages = shelves.pages.size();
            pixels = 0;
            for (const Page& page : shelves.pages) {
                tiles += page.tiles.size();
                for (const auto& tile : page.tiles) pixels += static_cast<double>(tile.dst_w) * tile.dst_h;
            }
        }
    }
    std::printf(
        "%s, network on %s, %s: %zu maps, %.1f million pixels in %zu atlases coloured in %.3f ms (median of "
        "%zu)\n",
        renderer->device_text().c_str(), context->device_text().c_str(),
        interop::to_string(link.arena()->mode()), tiles, pixels * 1e-6, pages, median(atlas_ms),
        atlas_ms.size());
    return 0;
}

}  // namespace
}  // namespace convlens

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "all_maps MODEL [REFRESHES]\n");
        return 2;
    }
    try {
        return convlens::run(argv[1], argc > 2 ? std::max(1, std::atoi(argv[2])) : 60);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "all_maps: %s\n", error.what());
        return 1;
    }
}

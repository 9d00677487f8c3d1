// Pictures of the window over made-up networks, to look at while working on a panel:
//   ui_preview FOLDER [NAME...]    writes FOLDER/NAME.png for all or the named scenes.
#include <imgui.h>
#include <stb_image_write.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <string>

#include "app/render/renderer.h"
#include "app/ui/ui.h"
#include "tests/ui/synthetic.h"

namespace {

using namespace convlens;
using namespace convlens::ui;
using namespace convlens::ui::test;

struct Preview {
    std::string name;
    int width = 1600, height = 900;
    float scale = 1;
    std::string network = "photo";
    int layer = 14;
    std::int64_t map = 17;
    void (*change)(commands::ViewState&, engine::Snapshot&) = nullptr;
    float mouse_x = -1, mouse_y = -1;
    bool click = false;
};

void run(const Preview& preview, const std::string& folder) {
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    render::RendererOptions options;
    options.width = preview.width;
    options.height = preview.height;
    options.validation = true;
    auto renderer = render::Renderer::create(options);
    auto allocator = renderer->arena_allocator();
    std::vector<network::Block> blocks;
    const Allocate allocate = [&](std::size_t floats) {
        blocks.push_back(
            allocator->allocate(std::max<std::size_t>(1, floats) * sizeof(float), "activations"));
        return Memory{reinterpret_cast<float*>(blocks.back().data), blocks.back().device_address};
    };
    std::vector<LayerSpec> layers = photo_layers();
    if (preview.network == "many") layers = many_layers(180);
    if (preview.network == "one") layers.resize(1);
    SyntheticNetwork network(preview.network == "photo" ? "efficientnet-lite0"
                                                        : "a model with a rather long file name that goes on",
                             layers, allocate);
    if (preview.network == "nan") {
        float* data = network.tensor(preview.layer + 1);
        const TensorDesc& desc = network.info().tensors[static_cast<std::size_t>(preview.layer + 1)].desc;
        for (std::int64_t i = 0; i < desc.elements(); i += 7)
            if (i % desc.dims[1] % 5 == 0) data[i] = std::numeric_limits<float>::quiet_NaN();
        for (std::int64_t i = 0; i < desc.elements(); i += 11)
            if (i % desc.dims[1] % 7 == 1) data[i] = std::numeric_limits<float>::infinity();
    }
    std::shared_ptr<engine::Snapshot> snapshot = preview.network == "none"
                                                     ? std::make_shared<engine::Snapshot>()
                                                     : network.snapshot(preview.layer, preview.map);
    commands::ViewState view;
    view.layer = preview.layer;
    view.map = preview.map;
    if (preview.change) preview.change(view, *snapshot);
    Ui ui(preview.scale);
    renderer->upload_fonts();
    UiInput input;
    input.snapshot = snapshot;
    input.models = {"assets/models/efficientnet-lite0.onnx", "assets/models/face-finder.onnx"};
    input.pictures = {"assets/photos/chelsea.jpg", "pattern:checker"};
    input.figures.fps = 59.7;
    input.figures.draw_ms = 4.2;
    input.figures.viewer_bytes = 31 << 20;
    std::vector<engine::Message> messages;
    if (view.favourites.size() == 1)
        messages = {{engine::Message::Kind::error, view.favourites[0]},
                    {engine::Message::Kind::info, "measured 7 algorithms of block2.dw.conv"}};
    input.messages = &messages;
    double draw_ms = 1e9;
    for (int refresh = 0; refresh < 12; ++refresh) {
        renderer->begin_refresh();
        if (preview.mouse_x >= 0) ImGui::GetIO().MousePos = {preview.mouse_x, preview.mouse_y};
        ImGui::GetIO().MouseDown[0] = preview.click && refresh == 3;
        ImGui::NewFrame();
        const auto begin = std::chrono::steady_clock::now();
        ui.draw(input, view, *renderer);
        draw_ms = std::min(
            draw_ms,
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
        ImGui::Render();
        renderer->end_refresh(ImGui::GetDrawData());
    }
    const std::vector<std::uint8_t> pixels = renderer->read_pixels();
    stbi_write_png((folder + "/" + preview.name + ".png").c_str(), renderer->width(), renderer->height(), 3,
                   pixels.data(), renderer->width() * 3);
    const render::RefreshFigures figures = renderer->figures();
    std::printf("%-12s layout %.2f ms, window %.1f ms, atlas %.1f ms, validation messages %llu",
                preview.name.c_str(), draw_ms, figures.gpu_window_ms, figures.gpu_atlas_ms,
                static_cast<unsigned long long>(figures.validation_messages));
    for (const std::string& text : ui.clipped_texts()) std::printf(" | clipped: %s", text.c_str());
    std::printf("\n");
    for (const network::Block& block : blocks) allocator->release(block);
    renderer.reset();
    ImGui::DestroyContext();
}

const std::vector<Preview> previews = {
    {"main"},
    {"medium", 1280, 720},
    {"small", 800, 600},
    {"tiny", 200, 100},
    {"wide", 2560, 700},
    {"scale2", 1600, 900, 2},
    {"scale2big", 2880, 1620, 2},
    {"hover", 1600, 900, 1, "photo", 14, 17, nullptr, 620, 420},
    {"rowtip", 1600, 900, 1, "photo", 14, 17, nullptr, 1300, 300},
    {"timetip", 1600, 900, 1, "photo", 14, 17, nullptr, 300, 830},
    {"memtip", 1600, 900, 1, "photo", 14, 17, nullptr, 880, 870},
    {"chooser", 1600, 900, 1, "photo", 14, 17, nullptr, 180, 20, true},
    {"ranges", 1600, 900, 1, "photo", 14, 17, nullptr, 870, 211, true},
    {"statistics", 1600, 900, 1, "photo", 14, -1,
     [](commands::ViewState& v, engine::Snapshot&) { v.right_tab = commands::RightTab::statistics; }},
    {"table", 1600, 900, 1, "photo", 30, 3,
     [](commands::ViewState& v, engine::Snapshot&) {
         v.foot_view = commands::FootView::table;
         v.table_sort_column = 5;
         v.table_sort_descending = true;
         v.foot_height = 300;
     }},
    {"relu", 1600, 900, 1, "photo", 13, 3},
    {"maps1280", 1600, 900, 1, "photo", 67, 100},
    {"pooled", 1600, 900, 1, "photo", 69, 700},
    {"vector", 1600, 900, 1, "photo", 70, 285},
    {"zoomed", 1600, 900, 1, "photo", 14, 17,
     [](commands::ViewState& v, engine::Snapshot&) {
         v.wall_zoom = 12;
         v.wall_x = -100;
         v.wall_y = -60;
         v.probe = commands::Probe{19, 20, 20};
     }},
    {"deep", 1600, 900, 1, "photo", 50, 17,
     [](commands::ViewState& v, engine::Snapshot&) {
         v.wall_zoom = 30;
         v.wall_x = -400;
         v.wall_y = -200;
     }},
    {"permap", 1600, 900, 1, "photo", 14, 17,
     [](commands::ViewState& v, engine::Snapshot&) { v.range = commands::RangePolicy::map; }},
    {"many", 1600, 900, 1, "many", 90, 2},
    {"one", 1600, 900, 1, "one", 0, -1},
    {"nan", 1600, 900, 1, "nan", 14, 16},
    {"none", 1600, 900, 1, "none", 0, -1},
    {"help", 1600, 900, 1, "photo", 14, 17,
     [](commands::ViewState& v, engine::Snapshot&) { v.help_open = true; }},
    {"toast", 1600, 900, 1, "photo", 14, 17,
     [](commands::ViewState& v, engine::Snapshot&) {
         v.favourites = {
             "broken.onnx: node \"conv3\" (Conv): the weight has 5 axes; 2-dimensional convolutions need 4. "
             "The program keeps the model it had."};
     }},
    {"measuring", 1600, 900, 1, "photo", 14, 17,
     [](commands::ViewState&, engine::Snapshot& s) {
         s.measuring = true;
         s.measure_progress = 0.4;
         s.paused = true;
     }},
    {"stale", 1600, 900, 1, "photo", 14, 17,
     [](commands::ViewState&, engine::Snapshot& s) {
         for (std::size_t i = 1; i < s.host.size(); ++i) {
             s.host[i] = nullptr;
             s.address[i] = 0;
         }
         s.statistics_layer = 3;
     }},
    {"faces", 1600, 900, 1, "photo", 14, 17,
     [](commands::ViewState&, engine::Snapshot& s) {
         s.outputs.top.clear();
         s.outputs.heat_map = engine::HeatMap{15, 4, "face", 12, 12, 4};
         s.outputs.boxes = {
             {120, 60, 220, 190, 0.993, {{150, 110}, {190, 112}, {170, 135}, {155, 160}, {186, 161}}}};
     }},
    {"picture", 1600, 900, 1, "photo", 14, 17,
     [](commands::ViewState&, engine::Snapshot& s) {
         s.outputs.top.clear();
         s.outputs.picture = engine::PictureOutput{0};
     }},
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: ui_preview FOLDER [NAME...]\n");
        return 2;
    }
    const std::set<std::string> wanted(argv + 2, argv + argc);
    for (const Preview& preview : previews)
        if (wanted.empty() || wanted.count(preview.name)) run(preview, argv[1]);
    return 0;
}

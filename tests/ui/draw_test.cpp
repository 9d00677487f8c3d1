// The whole window over made-up networks: Dear ImGui's core, a canvas that draws nothing, no Vulkan.
#include <gtest/gtest.h>
#include <imgui.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "app/commands/registry.h"
#include "app/ui/ui.h"
#include "tests/ui/synthetic.h"

namespace convlens::ui::test {
namespace {

// A window without a screen. One refresh is one call of `refresh`.
class Window {
  public:
    Window(float width, float height, float scale = 1) {
        context_ = ImGui::CreateContext();
        ImGuiIO& io = ImGui::GetIO();
        io.IniFilename = nullptr;
        io.DisplaySize = {width, height};
        io.DeltaTime = 0.05f;
        for (int key = 0; key < ImGuiKey_COUNT; ++key) io.KeyMap[key] = key;
        ui = std::make_unique<Ui>(scale);
        io.Fonts->SetTexID(reinterpret_cast<ImTextureID>(1));
        input.messages = &messages;
        input.figures.fps = 59.7;
        input.models = {"assets/models/efficientnet-lite0.onnx", "models/with blanks.onnx"};
        input.pictures = {"assets/photos/chelsea.jpg"};
    }
    ~Window() {
        ui.reset();
        ImGui::DestroyContext(context_);
    }
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    std::vector<std::string> refresh() {
        ImGui::NewFrame();
        auto lines = ui->draw(input, view, canvas);
        ImGui::Render();
        return lines;
    }
    void move(float x, float y) { ImGui::GetIO().MousePos = {x, y}; }
    std::vector<std::string> click(float x, float y) {
        move(x, y);
        refresh();
        ImGui::GetIO().MouseDown[0] = true;
        std::vector<std::string> lines = refresh();
        ImGui::GetIO().MouseDown[0] = false;
        for (std::string& line : refresh()) lines.push_back(std::move(line));
        // The next click is no double click.
        for (int i = 0; i < 10; ++i) refresh();
        return lines;
    }
    std::vector<std::string> press(int key) {
        ImGui::GetIO().KeysDown[key] = true;
        auto lines = refresh();
        ImGui::GetIO().KeysDown[key] = false;
        refresh();
        return lines;
    }
    std::vector<std::string> type(const char* letters) {
        ImGui::GetIO().AddInputCharactersUTF8(letters);
        return refresh();
    }
    // All vertices of the last refresh, as bytes.
    static std::string vertices() {
        std::string bytes;
        const ImDrawData* data = ImGui::GetDrawData();
        for (int i = 0; i < data->CmdListsCount; ++i)
            bytes.append(reinterpret_cast<const char*>(data->CmdLists[i]->VtxBuffer.Data),
                         static_cast<std::size_t>(data->CmdLists[i]->VtxBuffer.Size) * sizeof(ImDrawVert));
        return bytes;
    }

    std::unique_ptr<Ui> ui;
    UiInput input;
    commands::ViewState view;
    NullCanvas canvas;
    std::vector<engine::Message> messages;

  private:
    ImGuiContext* context_;
};

const SyntheticNetwork& photo() {
    static const SyntheticNetwork network("efficientnet-lite0", photo_layers());
    return network;
}

bool has(const std::vector<std::string>& lines, const std::string& line) {
    return std::find(lines.begin(), lines.end(), line) != lines.end();
}

std::string all_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += "[" + line + "]";
    return text;
}

TEST(Draw, NothingIsClippedAtTheSizesThatMatter) {
    struct Size {
        float w, h, scale;
    };
    for (const Size& size : {Size{1600, 900, 1}, Size{1280, 720, 1}, Size{1920, 1080, 1}, Size{3200, 1800, 2},
                             Size{800, 600, 1}, Size{200, 100, 1}, Size{2560, 700, 1.5f}}) {
        Window window(size.w, size.h, size.scale);
        for (const int layer : {0, 14, 13, 67, 69, 70}) {
            window.input.snapshot = photo().snapshot(layer, layer % 3 - 1);
            window.view.layer = layer;
            window.view.map = layer % 3 - 1;
            for (int variant = 0; variant < 8; ++variant) {
                window.view.right_tab = static_cast<commands::RightTab>(variant % 2);
                window.view.foot_view = static_cast<commands::FootView>(variant / 2 % 2);
                window.view.help_open = variant / 4 == 1;
                window.refresh();
                EXPECT_TRUE(window.ui->clipped_texts().empty())
                    << size.w << "x" << size.h << " layer " << layer << " variant " << variant << ": "
                    << all_of(window.ui->clipped_texts());
            }
        }
    }
}

TEST(Draw, AnySizeAnySnapshotAnyMouse) {
    std::mt19937 random(11);
    const SyntheticNetwork one("one", {photo_layers()[0]}), many("many", many_layers(180)),
        odd("odd", {{"", "Reshape", "transform", "", "", {1, 2, 3, 4, 5}},
                    {"a", "Loop", "other", "", "", {6}},
                    {"b", "Conv", "convolution", "", "direct", {1, 1, 1, 1}, true, 40}});
    auto empty = std::make_shared<engine::Snapshot>();
    Window window(1600, 900);
    for (int i = 0; i < 400; ++i) {
        ImGuiIO& io = ImGui::GetIO();
        io.DisplaySize = {static_cast<float>(1 + random() % 2000), static_cast<float>(1 + random() % 1200)};
        if (i % 50 == 49) {
            window.ui->set_scale(1 + static_cast<float>(random() % 3) * 0.5f);
            io.Fonts->SetTexID(reinterpret_cast<ImTextureID>(1));
        }
        const SyntheticNetwork* networks[] = {&photo(), &one, &many, &odd};
        const SyntheticNetwork& network = *networks[random() % 4];
        window.view.layer = static_cast<int>(random() % 200) - 5;
        window.view.map = static_cast<std::int64_t>(random() % 300) - 2;
        std::shared_ptr<engine::Snapshot> snapshot =
            i % 9 == 0 ? std::make_shared<engine::Snapshot>(*empty)
                       : network.snapshot(static_cast<int>(random() % network.info().layers.size()),
                                          window.view.map < 0 ? -1 : 0, static_cast<std::uint64_t>(i));
        if (random() % 4 == 0)
            for (std::size_t t = 0; t < snapshot->host.size(); ++t)
                if (random() % 2) {
                    snapshot->host[t] = nullptr;
                    snapshot->address[t] = 0;
                }
        if (random() % 5 == 0) snapshot->times.reset();
        if (random() % 5 == 0) snapshot->frame.reset();
        if (random() % 5 == 0) snapshot->layer_statistics.clear();
        if (random() % 5 == 0)
            snapshot->outputs.heat_map =
                engine::HeatMap{static_cast<int>(random() % 6), 0, "face", 12, 12, 2};
        if (random() % 5 == 0)
            snapshot->outputs.picture = engine::PictureOutput{static_cast<int>(random() % 6)};
        snapshot->measuring = random() % 3 == 0;
        snapshot->paused = random() % 3 == 0;
        if (random() % 10 == 0)
            window.messages.push_back({static_cast<engine::Message::Kind>(random() % 3),
                                       std::string(random() % 300, 'x') + " and more"});
        window.input.snapshot = snapshot;
        window.input.now_ms += 700;
        window.view.wall_zoom = static_cast<double>(random() % 40);
        window.view.wall_x = static_cast<double>(random() % 2000) - 1000;
        window.view.range = static_cast<commands::RangePolicy>(random() % 4);
        window.view.right_tab = static_cast<commands::RightTab>(random() % 2);
        window.view.foot_view = static_cast<commands::FootView>(random() % 2);
        window.view.table_sort_column = static_cast<int>(random() % 20);
        window.view.help_open = random() % 6 == 0;
        window.view.foot_height = static_cast<float>(random() % 600);
        if (random() % 3 == 0)
            window.view.probe = commands::Probe{static_cast<std::int64_t>(random() % 50),
                                                static_cast<std::int64_t>(random() % 50),
                                                static_cast<std::int64_t>(random() % 50)};
        window.move(static_cast<float>(random() % 2000), static_cast<float>(random() % 1200));
        io.MouseDown[0] = random() % 2;
        io.MouseWheel = static_cast<float>(random() % 5) - 2;
        for (const std::string& line : window.refresh()) {
            const auto words = commands::split_line(line);
            ASSERT_FALSE(words.empty());
            ASSERT_NE(commands::find_command(words[0]), nullptr) << line;
        }
    }
}

TEST(Draw, ClicksBecomeCommands) {
    Window window(1600, 900);
    window.input.snapshot = photo().snapshot(14, 17);
    window.view.layer = 14;
    window.view.map = 17;
    for (int i = 0; i < 4; ++i) window.refresh();
    // The third card of the strip; a row of the algorithm table (the second one runs not yet); the tabs.
    EXPECT_TRUE(has(window.click(220, 100), "layer 2")) << "card";
    EXPECT_TRUE(has(window.click(1280, 304), "algorithm block2.project.conv direct")) << "row";
    EXPECT_TRUE(has(window.click(1330, 218), "tab statistics"));
    EXPECT_TRUE(has(window.click(48, 383), "pause")) << "button";
    // Rows that don't apply take no clicks.
    EXPECT_TRUE(window.click(1280, 376).empty());
}

TEST(Draw, KeysBecomeCommands) {
    Window window(1600, 900);
    window.input.snapshot = photo().snapshot(14, 17);
    window.view.layer = 14;
    window.view.map = 17;
    window.refresh();
    EXPECT_TRUE(has(window.press(ImGuiKey_RightArrow), "layer 15"));
    EXPECT_TRUE(has(window.press(ImGuiKey_LeftArrow), "layer 13"));
    EXPECT_TRUE(has(window.press(ImGuiKey_DownArrow), "map 18"));
    EXPECT_TRUE(has(window.press(ImGuiKey_UpArrow), "map 16"));
    EXPECT_TRUE(has(window.press(ImGuiKey_Escape), "map none"));
    EXPECT_TRUE(has(window.press(ImGuiKey_Tab), "sides off"));
    EXPECT_TRUE(has(window.type(" "), "pause"));
    EXPECT_TRUE(has(window.type("m"), "mode lean"));
    EXPECT_TRUE(has(window.type("t"), "foot table"));
    EXPECT_TRUE(has(window.type("f"), "fit"));
    EXPECT_TRUE(has(window.type("?"), "help on"));
}

TEST(Draw, HoverShowsTheElementWhosePixelItIs) {
    Window window(1600, 900);
    window.view.layer = 12;
    window.input.snapshot = photo().snapshot(12, -1);
    window.refresh();
    const std::vector<render::AtlasTile> tiles = window.canvas.last_tiles("wall");
    const TensorDesc& desc = photo().info().tensors[13].desc;
    ASSERT_EQ(tiles.size(), 96u);
    // The pane begins where tile 0 begins: left pane, its inset; strip and header above.
    const float x0 = 248 + 12, y0 = 40 + 160 + 4 + 40;
    for (const std::size_t m : {std::size_t{0}, std::size_t{17}, std::size_t{95}}) {
        const render::AtlasTile& t = tiles[m];
        EXPECT_EQ(t.address,
                  window.input.snapshot->address[13] + m * static_cast<std::size_t>(desc.strides[1]) * 4);
        for (const auto& [px, py] :
             {std::pair{0, 0}, {t.dst_w / 3, t.dst_h / 2}, {t.dst_w - 1, t.dst_h - 1}}) {
            window.move(x0 + static_cast<float>(t.dst_x + px), y0 + static_cast<float>(t.dst_y + py));
            window.refresh();
            ASSERT_TRUE(window.view.probe.has_value());
            EXPECT_EQ(window.view.probe->channel, static_cast<std::int64_t>(m));
            // The rule of the atlas: floor(source + (pixel + 1/2) * source size / tile size).
            EXPECT_EQ(window.view.probe->column,
                      static_cast<std::int64_t>(t.source_x + (static_cast<float>(px) + 0.5f) * t.source_w /
                                                                 static_cast<float>(t.dst_w)));
            EXPECT_EQ(window.view.probe->row,
                      static_cast<std::int64_t>(t.source_y + (static_cast<float>(py) + 0.5f) * t.source_h /
                                                                 static_cast<float>(t.dst_h)));
        }
    }
    window.move(5, 5);
    window.refresh();
    EXPECT_FALSE(window.view.probe.has_value());
    // A pinned probe stays where the mouse is not.
    window.view.probe = commands::Probe{1, 2, 3};
    window.refresh();
    EXPECT_TRUE(window.view.probe.has_value());
}

TEST(Draw, MapsAreRedrawnOnlyWhenDataOrViewChange) {
    Window window(1600, 900);
    window.input.snapshot = photo().snapshot(12, -1, 5);
    window.view.layer = 12;
    for (int i = 0; i < 3; ++i) window.refresh();
    const int wall = window.canvas.fills("wall"), strip = window.canvas.fills("strip");
    EXPECT_EQ(wall, 1);
    for (int i = 0; i < 10; ++i) window.refresh();
    EXPECT_EQ(window.canvas.fills("wall"), wall);
    EXPECT_EQ(window.canvas.fills("strip"), strip);
    window.input.snapshot = photo().snapshot(12, -1, 6);
    window.refresh();
    EXPECT_EQ(window.canvas.fills("wall"), wall + 1);
    EXPECT_EQ(window.canvas.fills("strip"), strip + 1);
    window.view.wall_zoom = 2;
    window.refresh();
    EXPECT_EQ(window.canvas.fills("wall"), wall + 2);
    // A pass redraws a few cards, not all.
    EXPECT_LE(window.canvas.last_tiles("strip").size(), 6u);
}

TEST(Draw, PassesWithTheSameValuesLeaveTheWallAsItIs) {
    Window window(1600, 900);
    const auto show = [&](int layer, std::uint64_t pass, std::uint64_t values) {
        auto snapshot =
            std::make_shared<engine::Snapshot>(*photo().snapshot(layer, -1, static_cast<int>(pass)));
        snapshot->values = values;
        // The arenas take turns: the same values lie elsewhere.
        for (auto& address : snapshot->address)
            if (address != 0) address += pass % 2 * (std::uint64_t{1} << 30);
        window.input.snapshot = snapshot;
        window.view.layer = layer;
        window.refresh();
        return window.canvas.fills("wall");
    };
    const int first = show(12, 5, 1);
    EXPECT_EQ(show(12, 6, 1), first);
    EXPECT_EQ(show(12, 7, 1), first);
    EXPECT_EQ(show(12, 8, 2), first + 1) << "other values";
    EXPECT_EQ(show(13, 9, 2), first + 2) << "another layer";
    EXPECT_EQ(show(13, 10, 2), first + 2);
}

TEST(Draw, APausedStripIsBroughtUpToTheLastPass) {
    Window window(1600, 900);
    window.input.snapshot = photo().snapshot(12, -1, 5);
    window.view.layer = 12;
    window.refresh();
    const auto last = photo().snapshot(12, -1, 6);
    last->paused = true;
    window.input.snapshot = last;
    int refreshes = 0;
    do window.refresh();
    while (window.ui->wants_refresh() && ++refreshes < 50);
    EXPECT_GT(refreshes, 1);
    EXPECT_LT(refreshes, 10);
    const int fills = window.canvas.fills("strip");
    window.refresh();
    EXPECT_EQ(window.canvas.fills("strip"), fills);
}

TEST(Draw, FixedFiguresHideEveryTimeRateAndSize) {
    const auto bytes = [](double factor) {
        Window window(1600, 900);
        const auto snapshot = photo().snapshot(14, 17);
        auto times = std::make_shared<measure::PassTimes>(*snapshot->times);
        for (auto& q : times->layer_ms) q.median *= factor;
        times->total_ms.median *= factor;
        times->contended = factor > 1;
        snapshot->times = times;
        auto network = std::make_shared<engine::NetworkInfo>(*snapshot->network);
        network->memory.peak_bytes =
            static_cast<std::size_t>(static_cast<double>(network->memory.peak_bytes) * factor);
        network->device_text += factor > 1 ? " another" : "";
        for (auto& layer : network->layers) {
            layer.workspace_bytes = static_cast<std::size_t>(factor * 1000);
            for (auto& row : layer.rows)
                if (row.median_ms) row.median_ms = *row.median_ms * factor;
        }
        snapshot->network = network;
        window.input.snapshot = snapshot;
        window.input.figures.fps = 10 * factor;
        window.view.layer = 14;
        window.view.map = 17;
        window.view.fixed_figures = true;
        std::string all;
        for (const auto foot : {commands::FootView::charts, commands::FootView::table}) {
            window.view.foot_view = foot;
            window.refresh();
            window.refresh();
            all += Window::vertices();
        }
        return all;
    };
    EXPECT_TRUE(bytes(1) == bytes(3));
}

}  // namespace
}  // namespace convlens::ui::test

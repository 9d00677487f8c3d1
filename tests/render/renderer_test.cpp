// The renderer's life: fences, resizes, missing drivers and displays, the window under Xvfb.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <optional>
#include <thread>

#include "app/render/vulkan.h"
#include "tests/render/scene.h"

namespace convlens::render::test {
namespace {

// A variable of the environment for the length of a scope.
class Variable {
  public:
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* old = std::getenv(name)) old_ = old;
        if (value != nullptr)
            setenv(name, value, 1);
        else
            unsetenv(name);
    }
    ~Variable() {
        if (old_)
            setenv(name_, old_->c_str(), 1);
        else
            unsetenv(name_);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    const char* name_;
    std::optional<std::string> old_;
};

std::string refusal(const RendererOptions& options) {
    try {
        Renderer::create(options);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::not_supported);
        return error.what();
    }
    return {};
}

TEST(Renderer, SaysWhatItRunsOn) {
    Scene scene(checked(64, 64));
    EXPECT_NE(scene.renderer().device_text().find(", Vulkan 1."), std::string::npos);
    EXPECT_NE(std::string(scene.renderer().arena_allocator()->name()).find("memory shared with "),
              std::string::npos);
    EXPECT_GT(scene.renderer().memory_bytes(), 0u);
    EXPECT_EQ(scene.renderer().content_scale(), 1.0f);
    EXPECT_FALSE(scene.renderer().is_minimised());
    EXPECT_TRUE(scene.renderer().take_dropped_files().empty());
    scene.renderer().wait_events(10);  // off-screen: returns at once
    scene.renderer().wake();
}

TEST(Renderer, NoDriverIsOneClearSentence) {
    const Variable files("VK_ICD_FILENAMES", "/nonexistent"), drivers("VK_DRIVER_FILES", "/nonexistent");
    const std::string text = refusal({});
    EXPECT_NE(text.find("mesa-vulkan-drivers"), std::string::npos) << text;
}

TEST(Renderer, UnknownDeviceNumberListsTheDevices) {
    RendererOptions options;
    options.device = 1000;
    EXPECT_NE(refusal(options).find("0: "), std::string::npos);
}

TEST(Renderer, NoDisplayIsOneClearSentence) {
    const Variable display("DISPLAY", nullptr), wayland("WAYLAND_DISPLAY", nullptr);
    RendererOptions options;
    options.window = true;
    EXPECT_NE(refusal(options).find("--headless"), std::string::npos);
}

TEST(Renderer, ResultsBecomeErrorsWithARemedy) {
    for (const VkResult result : {VK_ERROR_DEVICE_LOST, VK_ERROR_OUT_OF_DEVICE_MEMORY}) {
        try {
            check(result, "Testing");
            FAIL();
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::runtime_failure);
            EXPECT_NE(std::string(error.what()).find(result_text(result)), std::string::npos);
            EXPECT_NE(std::string(error.what()).find(";"), std::string::npos);
        }
    }
    check(VK_SUBOPTIMAL_KHR, "Testing");
}

TEST(Renderer, TooLargeBlocksAreRefusedAndAllGoesOn) {
    Scene scene(checked(64, 64));
    const auto allocator = scene.renderer().arena_allocator();
    EXPECT_THROW(allocator->allocate(allocator->largest_block() + 1, "too large"), Error);
    EXPECT_THROW(allocator->allocate(~std::size_t{0}, "overflow"), Error);
    const network::Block block = allocator->allocate(1, "small");
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data) % 256, 0u);
    EXPECT_NE(block.device_address, 0u);
    allocator->release(block);
    allocator->release(block);  // once too often
    allocator->release({});
    scene.refresh();
    scene.expect_no_messages();
}

TEST(Renderer, AllocatorAndFencesOutliveTheRenderer) {
    std::function<void()> fence;
    std::shared_ptr<network::Allocator> allocator;
    network::Block block;
    {
        Scene scene(checked(64, 64));
        allocator = scene.renderer().arena_allocator();
        block = allocator->allocate(1000, "kept");
        fence = scene.refresh();
    }
    fence();
    block.data[999] = std::byte{1};
    allocator->release(block);
}

TEST(Renderer, FencesReturnOnAnyThreadAcrossResizes) {
    Scene scene(checked(640, 360));
    std::atomic<int> returned{0};
    std::vector<std::thread> waiters;
    for (int i = 0; i < 60; ++i) {
        const auto fence = scene.refresh([&](ImDrawList& list) {
            list.AddRectFilled(ImVec2(0, 0), ImVec2(1000, 1000), IM_COL32(i, 2 * i, 3 * i, 255));
        });
        if (i % 6 == 0)
            waiters.emplace_back([fence, &returned] {
                fence();
                fence();
                ++returned;
            });
        scene.renderer().resize(200 + 37 * (i % 7), 100 + 29 * (i % 11));
    }
    for (std::thread& waiter : waiters) waiter.join();
    EXPECT_EQ(returned, 10);
    scene.expect_no_messages();
}

TEST(Renderer, ResizeStormsKeepThePictureRight) {
    Scene scene(checked(300, 200));
    const std::uint64_t memory = [&] {
        for (int i = 0; i < 4; ++i)
            scene.refresh([](ImDrawList& list) { list.AddText(ImVec2(2, 2), IM_COL32_WHITE, "text"); });
        return scene.renderer().memory_bytes();
    }();
    for (int i = 0; i < 100; ++i) {
        const int width = 1 + 97 * i % 701, height = 1 + 61 * i % 503;
        scene.renderer().resize(width, height);
        ASSERT_EQ(scene.renderer().width(), width);
        scene.refresh([&](ImDrawList& list) {
            list.AddRectFilled(ImVec2(0, 0), ImVec2(static_cast<float>(width), static_cast<float>(height)),
                               IM_COL32(0, 90, 180, 255));
        });
        if (i % 10 == 0) {
            scene.read();
            ASSERT_EQ(scene.pixel(0, 0), 0x005ab4u);
            ASSERT_EQ(scene.pixel(width - 1, height - 1), 0x005ab4u);
        }
    }
    scene.renderer().resize(-5, 1 << 30);
    EXPECT_EQ(scene.renderer().width(), 1);
    EXPECT_LE(scene.renderer().height(), 1 << 16);
    scene.renderer().resize(300, 200);
    for (int i = 0; i < 4; ++i) scene.refresh();
    EXPECT_LE(scene.renderer().memory_bytes(), memory + (1u << 16)) << "replaced targets are freed";
    scene.expect_no_messages();
}

TEST(Renderer, PicturesBeforeTheFirstRefreshAndAfterAResize) {
    Scene scene(checked(40, 30));
    scene.read();
    EXPECT_EQ(scene.pixel(20, 20), ground_rgb);
    scene.refresh();
    scene.renderer().resize(50, 20);
    scene.read();
    EXPECT_EQ(scene.pixel(49, 19), ground_rgb);
    scene.expect_no_messages();
}

TEST(Renderer, FontsCanBeRebuilt) {
    Scene scene(checked(100, 40));
    for (const float size : {13.0f, 26.0f, 9.0f}) {
        ImFontConfig config;
        config.SizePixels = size;
        ImGui::GetIO().Fonts->Clear();
        ImGui::GetIO().Fonts->AddFontDefault(&config);
        scene.renderer().upload_fonts();
        scene.refresh([](ImDrawList& list) { list.AddText(ImVec2(2, 2), IM_COL32_WHITE, "88888"); });
        scene.read();
        bool any = false;
        for (int x = 0; x < 60; ++x) any = any || scene.pixel(x, 8) != ground_rgb;
        EXPECT_TRUE(any) << size;
    }
    scene.expect_no_messages();
}

TEST(Renderer, TwoRenderersAtOnceAndMany) {
    Scene first(checked(32, 32));
    ImGuiContext* context = ImGui::GetCurrentContext();
    for (int i = 0; i < 5; ++i) {
        Scene second(checked(16, 16));
        second.refresh();
        second.read();
        EXPECT_EQ(second.pixel(3, 3), ground_rgb);
        second.expect_no_messages();
        ImGui::SetCurrentContext(context);
    }
    ImGui::SetCurrentContext(context);
    first.refresh();
    first.read();
    EXPECT_EQ(first.pixel(3, 3), ground_rgb);
    first.expect_no_messages();
}

TEST(Renderer, TimesAreMeasured) {
    Scene scene(checked(400, 300));
    const auto block = scene.renderer().arena_allocator()->allocate(4096 * 4, "test");
    AtlasTile tile;
    tile.address = block.device_address;
    tile.width = tile.height = 64;
    tile.stride_y = 64;
    tile.source_w = tile.source_h = 64;
    tile.dst_w = tile.dst_h = 256;
    for (int i = 0; i < 6; ++i) {
        scene.renderer().atlas("wall", 256, 256);
        scene.renderer().fill("wall", {&tile, 1}, false, 0);
        scene.refresh([](ImDrawList& list) { list.AddText(ImVec2(2, 2), IM_COL32_WHITE, "text"); });
    }
    const RefreshFigures figures = scene.renderer().figures();
    EXPECT_GT(figures.cpu_ms, 0);
    EXPECT_GE(figures.gpu_window_ms, 0);
    EXPECT_GE(figures.gpu_atlas_ms, 0);
    EXPECT_LT(figures.gpu_window_ms, 5000);
    EXPECT_LT(figures.gpu_atlas_ms, 5000);
    scene.renderer().arena_allocator()->release(block);
}

// An X server of its own, without a window manager.
class XServer {
  public:
    XServer() {
        int fds[2];
        if (pipe(fds) != 0) return;
        pid_ = fork();
        if (pid_ == 0) {
            const int null = open("/dev/null", O_WRONLY);
            dup2(null, 2);
            close(fds[0]);
            const std::string number = std::to_string(fds[1]);
            execlp("Xvfb", "Xvfb", "-displayfd", number.c_str(), "-screen", "0", "1024x768x24", "-nolisten",
                   "tcp", static_cast<char*>(nullptr));
            _exit(127);
        }
        close(fds[1]);
        char digit = 0;
        while (read(fds[0], &digit, 1) == 1 && digit != '\n') display_ += digit;
        close(fds[0]);
    }
    ~XServer() {
        if (pid_ <= 0) return;
        kill(pid_, SIGTERM);
        waitpid(pid_, nullptr, 0);
    }
    XServer(const XServer&) = delete;
    XServer& operator=(const XServer&) = delete;
    // ":N"; empty when there is no X server.
    std::string display() const { return display_.empty() ? "" : ":" + display_; }

  private:
    pid_t pid_ = -1;
    std::string display_;
};

TEST(Window, OpensDrawsResizesAndCloses) {
    const XServer server;
    if (server.display().empty()) GTEST_SKIP() << "no X server: install xvfb";
    const Variable display("DISPLAY", server.display().c_str());
    RendererOptions options = checked(640, 360);
    options.window = true;
    Scene scene(options);
    const auto draw = [&] {
        return scene.refresh([&](ImDrawList& list) {
            list.AddRectFilled(ImVec2(0, 0), ImVec2(5000, 5000), IM_COL32(0, 90, 180, 255));
            list.AddText(ImVec2(20, 20), IM_COL32_WHITE, "window");
        });
    };
    std::function<void()> fence;
    for (int i = 0; i < 5; ++i) fence = draw();
    EXPECT_TRUE(scene.open());
    EXPECT_EQ(scene.renderer().width(), 640);
    scene.read();
    EXPECT_EQ(scene.pixel(600, 300), 0x005ab4u);
    const struct { int width, height; } sizes[] = {{200, 100}, {900, 700}, {333, 217}, {10, 10}, {640, 360}};
    for (const auto& size : sizes) {
        scene.renderer().resize(size.width, size.height);
        for (int i = 0; i < 6; ++i) draw();
        EXPECT_EQ(scene.renderer().width(), std::max(size.width, 200));
        EXPECT_EQ(scene.renderer().height(), std::max(size.height, 100));
        scene.read();
        EXPECT_EQ(scene.pixel(scene.renderer().width() - 1, scene.renderer().height() - 1), 0x005ab4u);
    }
    // Another thread ends the wait for events.
    auto waker = std::async(std::launch::async, [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        scene.renderer().wake();
    });
    scene.renderer().wait_events(20);
    waker.get();
    fence();
    scene.expect_no_messages();
}

TEST(Window, AnotherWindowAfterTheFirst) {
    const XServer server;
    if (server.display().empty()) GTEST_SKIP() << "no X server: install xvfb";
    const Variable display("DISPLAY", server.display().c_str());
    for (int i = 0; i < 2; ++i) {
        RendererOptions options = checked(320, 200);
        options.window = true;
        Scene scene(options);
        scene.refresh();
        scene.refresh();
        scene.expect_no_messages();
    }
}

}  // namespace
}  // namespace convlens::render::test

#include "app/render/renderer.h"

#include <imgui.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "app/render/canvas_store.h"
#include "app/render/frame.h"
#include "app/render/swapchain.h"
#include "app/render/target.h"
#include "app/render/ui_pass.h"
#include "app/render/window.h"
#include "convlens/error.h"

namespace convlens::render {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int frames_in_flight = 2;
constexpr std::uint32_t ground = 0xff1c1714u;  // what no clear rectangle covers
constexpr VkFormat offscreen_format = VK_FORMAT_B8G8R8A8_UNORM;
// A refresh of an off-screen target takes this long for animations: pictures do not depend on the machine.
constexpr float offscreen_step = 1.0f / 60.0f;

class VulkanRenderer final : public Renderer {
  public:
    explicit VulkanRenderer(const RendererOptions& options) : width_(options.width), height_(options.height) {
        std::vector<const char*> extensions;
        if (options.window) {
            window_ = std::make_unique<Window>(options.title, options.width, options.height);
            extensions = window_->instance_extensions();
        }
        instance_ = std::make_shared<Instance>(extensions, options.validation, options.verbose);
        if (window_) window_->make_surface(instance_);
        device_ = std::make_shared<Device>(instance_, window_ ? window_->surface() : VK_NULL_HANDLE,
                                           options.device, options.wanted_devices);
        book_ = std::make_shared<ArenaBook>(device_);
        for (const bool staged : {false, true}) arenas_[staged] = arena_memory(device_, book_, staged);
        sharing_ = make_sharing(device_, book_);
        pool_ = std::make_unique<DescriptorPool>(*device_);
        store_ = std::make_unique<CanvasStore>(*device_, *pool_, book_);
        if (window_) swapchain_ = std::make_unique<Swapchain>(*device_, window_->surface());
        ui_ = std::make_unique<UiPass>(*device_, *pool_, format());
        for (auto& frame : frames_) frame = std::make_unique<Frame>(*device_);
        if (window_)
            window_->framebuffer_size(width_, height_);
        else
            resize(options.width, options.height);
    }

    ~VulkanRenderer() override {
        if (device_) device_->drain();
        last_ = {};
        if (device_) device_->drain();
    }

    std::string device_text() const override { return device_->text(); }
    std::shared_ptr<network::Allocator> arena_allocator(bool staged) override { return arenas_[staged]; }
    const DeviceIdentity& identity() const override { return device_->identity(); }
    std::shared_ptr<Sharing> sharing() override { return sharing_; }
    std::pair<std::uint64_t, std::uint64_t> memory_budget() const override {
        return device_->memory_budget();
    }
    std::uint64_t memory_bytes() const override { return device_->viewer_bytes().load(); }

    std::uint64_t atlas(const char* slot, int width, int height) override {
        return store_->atlas(slot, width, height);
    }
    int atlas_width(const char* slot) const override { return store_->atlas_width(slot); }
    int atlas_height(const char* slot) const override { return store_->atlas_height(slot); }
    void fill(const char* slot, std::span<const AtlasTile> tiles, bool clear,
              std::uint32_t clear_rgba) override {
        store_->fill(slot, tiles, clear, clear_rgba);
    }
    std::uint64_t picture(const char* slot, std::uint64_t key, int width, int height,
                          const std::uint8_t* rgb) override {
        return store_->picture(slot, key, width, height, rgb);
    }
    void clear_rect(float x, float y, float w, float h, std::uint32_t rgba) override;

    void upload_fonts() override;
    bool begin_refresh() override;
    std::function<void()> end_refresh(const ImDrawData* draw_data, std::uint64_t written) override;
    std::uint64_t last_read() const override { return last_read_; }
    void resize(int width, int height) override;
    int width() const override { return width_; }
    int height() const override { return height_; }
    float content_scale() const override { return window_ ? window_->content_scale() : 1.0f; }
    std::vector<std::uint8_t> read_pixels() override;
    RefreshFigures figures() const override;
    std::vector<std::string> validation_texts() const override { return instance_->log().kept(); }
    std::vector<std::string> take_dropped_files() override {
        return window_ ? window_->take_dropped_files() : std::vector<std::string>{};
    }
    void wait_events(double seconds) override {
        if (window_) window_->wait_events(seconds);
    }
    void wake() override {
        if (window_) Window::wake();
    }
    bool is_minimised() const override { return window_ && window_->is_minimised(); }

  private:
    VkFormat format() const { return swapchain_ ? swapchain_->format() : offscreen_format; }
    Frame& frame() { return *frames_[refresh_ % frames_in_flight]; }
    void draw(VkCommandBuffer commands, const TargetView& target) {
        begin_rendering(commands, target, ground);
        ui_->record(commands, last_, target.width, target.height);
        vkCmdEndRendering(commands);
    }
    bool record_atlases(VkCommandBuffer commands);  // true: they read memory of another API
    void record_window(VkCommandBuffer commands, const ImDrawData* data,
                       std::optional<std::uint32_t> picture);
    // Presents a picture that could not be drawn, so that the window stays usable after an error.
    void give_back(std::uint32_t picture);
    // Runs `record` alone and waits for it.
    void run_now(const std::function<void(VkCommandBuffer)>& record);

    // Destroyed from the last to the first.
    std::shared_ptr<Instance> instance_;
    std::unique_ptr<Window> window_;
    std::shared_ptr<Device> device_;
    std::shared_ptr<ArenaBook> book_;
    std::array<std::shared_ptr<network::Allocator>, 2> arenas_;  // plain, staged
    std::shared_ptr<Sharing> sharing_;
    std::unique_ptr<DescriptorPool> pool_;
    std::unique_ptr<CanvasStore> store_;
    std::unique_ptr<Swapchain> swapchain_;
    std::unique_ptr<OffscreenTarget> target_;
    std::unique_ptr<UiPass> ui_;
    std::array<std::unique_ptr<Frame>, frames_in_flight> frames_;

    int width_, height_;
    std::uint64_t last_read_ = 0;
    std::uint64_t refresh_ = 0;
    bool frame_waited_ = false;
    std::vector<ClearRect> clears_;
    DrawList last_;  // of the last refresh, for pictures of the window
    RefreshFigures figures_;
};

void VulkanRenderer::clear_rect(float x, float y, float w, float h, std::uint32_t rgba) {
    const ImGuiIO& io = ImGui::GetIO();
    const auto pixel = [](float v, float scale) {
        return static_cast<int>(std::lround(std::clamp(v * scale, -32768.0f, 32768.0f)));
    };
    if (!(w > 0) || !(h > 0) || std::isnan(x) || std::isnan(y)) return;
    const float sx = io.DisplayFramebufferScale.x, sy = io.DisplayFramebufferScale.y;
    const int x0 = pixel(x, sx), y0 = pixel(y, sy);
    clears_.push_back({x0, y0, pixel(x + w, sx) - x0, pixel(y + h, sy) - y0, rgba});
}

void VulkanRenderer::upload_fonts() {
    ImGuiIO& io = ImGui::GetIO();
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    io.Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
    const int limit = static_cast<int>(device_->limits().maxImageDimension2D);
    if (pixels == nullptr || width > limit || height > limit)
        throw Error(Status::runtime_failure, "The font picture is larger than " + device_->name() +
                                                 " takes; use a smaller font scale");
    const std::uint64_t id = store_->fonts(width, height, pixels);
    io.Fonts->SetTexID(reinterpret_cast<ImTextureID>(static_cast<std::uintptr_t>(id)));
    io.Fonts->ClearTexData();
}

bool VulkanRenderer::begin_refresh() {
    bool open = true;
    ImGuiIO& io = ImGui::GetIO();
    if (window_) {
        open = window_->begin_refresh();
        int width = 0, height = 0;
        window_->framebuffer_size(width, height);
        if (width > 0 && height > 0) {
            width_ = width;
            height_ = height;
        }
    } else {
        io.DisplaySize = ImVec2(static_cast<float>(width_), static_cast<float>(height_));
        io.DisplayFramebufferScale = ImVec2(1, 1);
        io.DeltaTime = offscreen_step;
    }
    io.BackendRendererName = "convlens";
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
    if (io.Fonts->TexID == ImTextureID{}) upload_fonts();
    if (!frame_waited_) {
        const FrameTimes times = frame().wait();
        if (times.window_ms >= 0) figures_.gpu_window_ms = times.window_ms;
        if (times.atlas_ms >= 0) figures_.gpu_atlas_ms = times.atlas_ms;
        frame_waited_ = true;
    }
    device_->collect();
    clears_.clear();
    return open;
}

bool VulkanRenderer::record_atlases(VkCommandBuffer commands) {
    const bool any = store_->has_pending();
    if (any) frame().stamp(Frame::atlas_begin);
    const TileFigures figures = store_->record(commands, frame().staging, frame().tiles);
    if (any) frame().stamp(Frame::atlas_end);
    figures_.upload_bytes += figures.uploaded_bytes;
    figures_.copied_bytes += figures.copied_bytes;
    figures_.fetch_ms += figures.fetch_ms;
    return figures.reads_external;
}

void VulkanRenderer::record_window(VkCommandBuffer commands, const ImDrawData* data,
                                   std::optional<std::uint32_t> picture) {
    const TargetView view = swapchain_ ? swapchain_->view(*picture) : target_->view();
    last_ = data != nullptr ? ui_->prepare(*data, store_->textures(), view.width, view.height,
                                           frame().vertices, frame().indices)
                            : DrawList{};
    last_.clears = std::move(clears_);
    clears_.clear();
    figures_.upload_bytes += last_.uploaded_bytes;
    frame().stamp(Frame::window_begin);
    if (swapchain_)
        swapchain_->begin(commands, *picture);
    else
        target_->begin(commands);
    draw(commands, view);
    if (swapchain_)
        swapchain_->end(commands, *picture);
    else
        target_->end(commands);
    frame().stamp(Frame::window_end);
}

void VulkanRenderer::give_back(std::uint32_t picture) {
    const VkCommandBuffer commands = frame().begin();
    swapchain_->begin(commands, picture);
    swapchain_->end(commands, picture);
    frame().end();
    frame().value = device_->submit(commands, {frame().acquired, swapchain_->drawn(picture)});
    swapchain_->present(picture);
    ++refresh_;
    frame_waited_ = false;
}

std::function<void()> VulkanRenderer::end_refresh(const ImDrawData* draw_data, std::uint64_t written) {
    const Clock::time_point start = Clock::now();
    if (!frame_waited_) (void)frame().wait();
    figures_.upload_bytes = figures_.copied_bytes = 0;
    figures_.fetch_ms = 0;
    last_read_ = 0;
    book_->begin_recording();
    // The block of an arena that was found while recording stays until this refresh is done.
    const std::unique_ptr<ArenaBook, void (*)(ArenaBook*)> recording(
        book_.get(), [](ArenaBook* book) { book->end_recording(); });
    const VkCommandBuffer commands = frame().begin();
    const bool external = record_atlases(commands);
    std::optional<std::uint32_t> picture;
    if (swapchain_ && !window_->is_minimised())
        picture = swapchain_->acquire(width_, height_, frame().acquired);
    try {
        if (!swapchain_ || picture) record_window(commands, draw_data, picture);
    } catch (...) {
        if (picture) give_back(*picture);
        throw;
    }
    frame().end();
    SubmitSemaphores semaphores;
    if (picture) semaphores = {frame().acquired, swapchain_->drawn(*picture)};
    semaphores.reads_external = external;
    semaphores.written = written;
    const std::uint64_t value = frame().value = device_->submit(commands, semaphores);
    if (external) last_read_ = device_->read().last();
    if (picture) swapchain_->present(*picture);
    ++refresh_;
    frame_waited_ = false;
    figures_.cpu_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    // A lost device reads nothing any more: its fence returns too, and the next refresh reports the loss.
    return [device = device_, value] { (void)device->timeline().wait(value); };
}

void VulkanRenderer::resize(int width, int height) {
    if (window_) {
        window_->set_size(width, height);
        return;
    }
    const int limit = static_cast<int>(
        std::min(device_->limits().maxImageDimension2D, device_->limits().maxFramebufferWidth));
    width = std::clamp(width, 1, limit);
    height = std::clamp(height, 1, limit);
    if (target_ && target_->view().width == width && target_->view().height == height) return;
    auto fresh = std::make_unique<OffscreenTarget>(*device_, width, height, format());
    if (target_) device_->defer(std::shared_ptr<OffscreenTarget>(std::move(target_)));
    target_ = std::move(fresh);
    width_ = width;
    height_ = height;
    last_ = {};
}

void VulkanRenderer::run_now(const std::function<void(VkCommandBuffer)>& record) {
    Frame once(*device_);
    const VkCommandBuffer commands = once.begin();
    record(commands);
    once.end();
    device_->wait(device_->submit(commands));
}

std::vector<std::uint8_t> VulkanRenderer::read_pixels() {
    const int width = width_, height = height_;
    Buffer pixels(*device_,
                  {.bytes = static_cast<VkDeviceSize>(width) * static_cast<VkDeviceSize>(height) * 4,
                   .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                   .cached = true,
                   .name = "picture of the window"});
    // A picture that was presented belongs to the display: the same list is drawn once more off-screen.
    std::unique_ptr<OffscreenTarget> again;
    if (swapchain_ || refresh_ == 0 || last_.items.empty())
        again = std::make_unique<OffscreenTarget>(*device_, width, height, format());
    run_now([&](VkCommandBuffer commands) {
        const OffscreenTarget& source = again ? *again : *target_;
        if (again) {
            again->begin(commands);
            draw(commands, again->view());
            again->end(commands);
        }
        source.copy_to(commands, pixels);
    });
    return to_rgb(reinterpret_cast<const std::uint8_t*>(pixels.mapped()), width, height, format());
}

RefreshFigures VulkanRenderer::figures() const {
    RefreshFigures figures = figures_;
    figures.validation_messages = instance_->log().count();
    return figures;
}

}  // namespace

std::unique_ptr<Renderer> Renderer::create(const RendererOptions& options) {
    return std::make_unique<VulkanRenderer>(options);
}

}  // namespace convlens::render
